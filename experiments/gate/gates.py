"""What the experiments of gates share: a CPU quota, one gate with what other tools say of its runs, the table."""

import contextlib
import csv
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import common

THRESHOLDS = (5, 10, 150)


@contextlib.contextmanager
def quota(percent):
    """A control group with so much of a CPU. Gives the file that takes its processes, or None without the right to make one."""
    group = next((path for path in map(pathlib.Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/cpu"))
                  if (path / "cgroup.procs").exists() and (path / "cgroup.controllers").exists() == (path.name == "cgroup")), None)
    try:
        group = group / f"stillwell-gate-{os.getpid()}"
        group.mkdir()
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{1000 * percent} 100000")
        else:
            (group / "cpu.cfs_quota_us").write_text(str(1000 * percent))
    except (OSError, TypeError) as error:
        print(f"skipped: no control group with a quota: {error}")
        yield None
        return
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def is_called(record):
    """Whether benchstat calls any benchmark of these runs different; None without benchstat."""
    benchstat = os.environ.get("BENCHSTAT") or shutil.which("benchstat")
    if benchstat is None:
        return None
    lines = {0: [], 1: []}
    for file in sorted(pathlib.Path(record).glob("*.swell")):
        header, *rows = (json.loads(line) for line in file.read_text().splitlines())
        at = {name: index for index, name in enumerate(header["columns"])}
        for row in rows:
            if isinstance(row, list) and row[at["block"]] is not None and row[at["value"]] is not None:
                lines[row[at["arm"]]].append(f"Benchmark{file.stem.split('-', 1)[1][9:]} 1 {row[at['value']]} ns/op\n")
    for arm, name in enumerate(("old.txt", "new.txt")):
        pathlib.Path(name).write_text("".join(lines[arm]))
    said = subprocess.run([benchstat, "-format", "csv", "old.txt", "new.txt"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True).stdout
    cells = [row for row in csv.reader(said.splitlines()) if len(row) > 5 and row[0] not in ("", "geomean")]
    assert cells, said
    return any(row[5] != "~" for row in cells)


def gate(stillwell, old, new, budget, number, procs, programs=()):
    """Runs a gate of this stillwell. Returns its exit code, its time, the largest ratio of the medians of its runs in percent, whether
    benchstat calls anything different, and the names of the benchmarks that it calls slower."""
    record = f"gate-{number}.suite"
    words = [stillwell, "gate", "--old", old, "--new", new, "--budget", budget, "--timeout", "120s",
             "--json", "gate.json", "-o", record, *programs]
    start = time.monotonic()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=procs and (lambda: procs.write_text(str(os.getpid()))))
    took = time.monotonic() - start
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    if not pathlib.Path(record).exists():
        # The builds are the same but for what is not loaded, such as the lines of the source: nothing is measured.
        return done.returncode, took, 0.0, False, []
    shown = subprocess.run([common.STILLWELL, "show", "--json", record], stdout=subprocess.PIPE, check=True)
    arms = json.loads(shown.stdout)["analysis"]["arms"]
    medians = [arm["wall"]["median"]["value"] for arm in arms]
    worst = max(new / old for old, new in zip(medians[::2], medians[1::2]))
    called = is_called(record)
    shutil.rmtree(record)
    effects = json.loads(pathlib.Path("gate.json").read_text())["conclusion"]["effects"]
    slower = [effect["name"].removesuffix(": head") for effect in effects if effect["verdict"] == "slower"]
    return done.returncode, took, 100 * (worst - 1), called, slower


def table(found):
    """A line for each condition and change."""
    rows = [["stillwell", "runner", "change", "gates", "red", "undecided", "time", *(f"medians above {limit} %" for limit in THRESHOLDS),
             "benchstat"]]
    for (name, condition, kind), runs in found.items():
        codes = [run[0] for run in runs]
        above = [sum(run[2] > limit for run in runs) for limit in THRESHOLDS]
        called = "-" if runs[0][3] is None else sum(run[3] for run in runs)
        took = statistics.median(run[1] for run in runs)
        rows.append([name, condition, kind, len(runs), codes.count(1), codes.count(3), f"{took:.1f} s", *above, called])
    widths = [max(len(str(row[at])) for row in rows) for at in range(len(rows[0]))]
    return "".join("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)
