#!/usr/bin/env python3
"""Checks that real pyperf reads our files and reports the same about them as about the originals.

    pip install pyperf==2.10.0
    experiments/pyperf_agrees.py ORIGINAL WRITTEN [ORIGINAL WRITTEN ...]

ORIGINAL is a file of pyperf, WRITTEN is Stillwell's conversion of it. The reports must be equal to the last character.
Numbers may differ in the last bit, because the doubles of seconds and nanoseconds differ.
"""

import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pyperf

REPORTS = [["show"], ["stats"], ["check"], ["metadata"], ["dump"], ["hist"]]


def report(words, path):
    """pyperf's report of a file. The report contains the file's name, so both files get the same name."""
    with tempfile.TemporaryDirectory() as directory:
        copy = shutil.copy(path, pathlib.Path(directory, "results.json"))
        done = subprocess.run([sys.executable, "-m", "pyperf", *words, copy], capture_output=True, text=True)
    assert done.returncode == 0, f"pyperf {' '.join(words)} {path}: {done.stderr}"
    return done.stdout


def same(one, two):
    return len(one) == len(two) and all(math.isclose(a, b, rel_tol=4e-16) for a, b in zip(one, two))


def check(original, written):
    for words in REPORTS:
        assert report(words, original) == report(words, written), f"pyperf {words[0]}: {written} differs from {original}"
    before, after = pyperf.BenchmarkSuite.load(original), pyperf.BenchmarkSuite.load(written)
    assert before.get_benchmark_names() == after.get_benchmark_names()
    for one, two in zip(before, after):
        assert one.get_nrun() == two.get_nrun()
        for run, copy in zip(one.get_runs(), two.get_runs()):
            assert run.get_metadata().keys() == copy.get_metadata().keys(), one.get_name()
            assert same(run.values, copy.values), one.get_name()
            assert [loops for loops, _ in run.warmups] == [loops for loops, _ in copy.warmups]
            assert same([value for _, value in run.warmups], [value for _, value in copy.warmups])
    compared = subprocess.run(
        [sys.executable, "-m", "pyperf", "compare_to", original, written], capture_output=True, text=True
    )
    assert compared.returncode == 0, compared.stderr
    print(f"pyperf agrees: {written}, {len(before)} benchmarks")


def main():
    paths = sys.argv[1:]
    if not paths or len(paths) % 2:
        sys.exit(__doc__)
    for original, written in zip(paths[::2], paths[1::2]):
        check(original, written)


if __name__ == "__main__":
    main()
