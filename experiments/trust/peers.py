"""The tools of the experiment: how each compares two commands, and its rule for a difference."""

import dataclasses
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import common
import usual_tests
from usual_tests import Rule

Command = list[str]
Measured = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Peer:
    """A tool. `measure` makes n runs of each of two commands; "a" and "b" have the seconds of all runs."""
    version: str
    measure: Callable[[Command, Command, int], Measured]
    rule: Rule


def told(*argv: str) -> str:
    """The output of a program. A failure ends the experiment with the reason."""
    environment = os.environ | {"LC_ALL": "C"}
    ran = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if ran.returncode:
        sys.exit(f"{' '.join(argv)}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def rounded(times: list[float]) -> list[float]:
    return [round(time, 9) for time in times]


def wall_of(record: common.Record, arm: int) -> list[float]:
    return [row["wall_ns"] / 1e9 for row in record.runs if row["arm"] == arm]


def stillwell_compare(first: Command, second: Command, budget_s: float) -> Measured:
    """Stillwell. It ends when the verdict is certain or the budget is spent."""
    pathlib.Path("ours.swell").unlink(missing_ok=True)
    shown = json.loads(told(common.STILLWELL, "run", "--style", "none", "--json", "-o", "ours.swell", "-N",
                            "--budget", f"{budget_s:.3f}s", " ".join(first), " ".join(second)))
    record, judgement = common.Record("ours.swell"), shown["judgements"][0]
    # On a busy machine the budget may end before there are enough pairs for a test.
    evidence = shown["analysis"]["comparisons"][0]["evidence"]
    return {"a": wall_of(record, 0), "b": wall_of(record, 1), "verdict": judgement["verdict"],
            "interval": judgement["interval"], "p": evidence.get("p"), "statistic": evidence.get("statistic")}


def newest_hyperfine() -> str | None:
    """The newest version that is installed."""
    found = [version for version, path in common.hyperfines().items() if path]
    return max(found, key=lambda version: [*map(int, version.split("."))]) if found else None


def hyperfine_times(version: str, n_runs: int, *commands: str) -> list[list[float]]:
    """The seconds of the runs of each command, without a shell, hyperfine's best setting."""
    program = common.hyperfines()[version]
    assert program
    told(program, "-N", "--style", "none", "--warmup", "1", "--runs", str(n_runs), "--export-json", "theirs.json", *commands)
    return [common.times_of(result) for result in json.loads(pathlib.Path("theirs.json").read_text())["results"]]


def hyperfine() -> Peer | None:
    newest = newest_hyperfine()
    if not newest:
        return None

    def measure(first: Command, second: Command, n_runs: int) -> Measured:
        a, b = hyperfine_times(newest, n_runs, " ".join(first), " ".join(second))
        return {"a": rounded(a), "b": rounded(b)}

    return Peer(newest, measure, usual_tests.welch)


def pyperf() -> Peer | None:
    """pyperf with one worker and no calibration, for the most runs in the time. The error rate of `compare_to` is always 5 %."""
    found = importlib.util.find_spec("pyperf")
    # The folder experiments/pyperf looks like a package without a file.
    if not found or not found.origin:
        return None

    def side(command: Command, n_runs: int, path: str) -> list[float]:
        pathlib.Path(path).unlink(missing_ok=True)
        told(sys.executable, "-m", "pyperf", "command", "--quiet", "--processes", "1", "--loops", "1", "--warmups", "1",
             "--values", str(n_runs), "-o", path, "--", *command)
        benchmark = json.loads(pathlib.Path(path).read_text())["benchmarks"][0]
        return rounded([value for run in benchmark["runs"] for value in run.get("values", [])])

    def measure(first: Command, second: Command, n_runs: int) -> Measured:
        return {"a": side(first, n_runs, "a.json"), "b": side(second, n_runs, "b.json")}

    version = told(sys.executable, "-c", "import pyperf; print(pyperf.__version__)").strip()
    return Peer(version, measure, usual_tests.student)


def compare_to_says_different() -> bool:
    """pyperf's verdict on the last two files that it wrote."""
    return "Not significant" not in told(sys.executable, "-m", "pyperf", "compare_to", "a.json", "b.json", "-v")


def tim_program() -> str | None:
    return os.environ.get("TIM") or shutil.which("tim") or shutil.which("/tmp/tim/tim")


PRINTED = re.compile(r"\(?(-?[\d.]+) \+- ([\d.]+)\)?(e[+-]\d+)? ")


def tim_says(*options: str) -> list[tuple[float, float]]:
    """tim: milliseconds ± error of each command. Its overhead is neither measured nor subtracted."""
    program = tim_program()
    assert program
    found = [(float(value + (exponent or "")), float(error + (exponent or "")))
             for value, error, exponent in PRINTED.findall(told(program, "--ohead=0", *options))]
    assert found, "tim printed no value"
    return found


def tim_t0(command: Command) -> Measured:
    """tim with one command and the defaults of its newest version."""
    pathlib.Path("tim.tsv").unlink(missing_ok=True)
    value_ms, err_ms = tim_says("--warmup=1", "-k=1", "-n=6", "-m=4", "--save=tim.tsv", f"{' '.join(command)} >/dev/null")[0]
    times = [float(line.split("\t")[0]) for line in open("tim.tsv")]
    return {"a": rounded(times[1:]), "t0": 1e6 * value_ms, "err": 1e6 * err_ms}


def tim() -> Peer | None:
    """tim with k = 1 and m = 4, the defaults of its newest version. n follows from the time."""
    if not tim_program():
        return None

    def measure(first: Command, second: Command, n_runs: int) -> Measured:
        n = max(n_runs // 4, 3)
        pathlib.Path("tim.tsv").unlink(missing_ok=True)
        printed = tim_says("--warmup=1", "-k=1", "-m=4", f"-n={n}", "--save=tim.tsv", " ".join(first), " ".join(second))
        times = [float(line.split("\t")[0]) for line in open("tim.tsv")]
        # The warm-up of each side comes first.
        a, b = times[1:1 + 4 * n], times[2 + 4 * n:]
        assert len(a) == len(b) == 4 * n
        (ta, ea), (tb, eb) = printed
        found = usual_tests.Distance(usual_tests.difference_in_errors(tb - ta, math.hypot(ea, eb)), 2)
        return {"a": rounded(a), "b": rounded(b), "printed": printed, "verdict": found.verdict}

    return Peer("?", measure, lambda a, b, _: usual_tests.tim(a, b))


def perf_stat() -> Peer | None:
    """perf stat. Its table has the times of the runs, rounded to about a tenth of their error."""
    if not shutil.which("perf") or subprocess.run(["perf", "stat", "-o", "perf.txt", "true"]).returncode:
        return None

    def side(command: Command, n_runs: int) -> list[float]:
        told("perf", "stat", "-r", str(n_runs), "--table", "-o", "perf.txt", "--", *command)
        return [float(time) for time in re.findall(r"^\s+([\d.]+) \([+-]", pathlib.Path("perf.txt").read_text(), re.M)]

    def measure(first: Command, second: Command, n_runs: int) -> Measured:
        a, b = side(first, n_runs), side(second, n_runs)
        assert len(a) == len(b) == n_runs, "not a line for every run"
        return {"a": a, "b": b}

    return Peer(told("perf", "--version").split()[-1], measure, usual_tests.perf_stat)


def peers() -> dict[str, Peer | None]:
    """Maps each name to its peer, or to None if it is not installed."""
    return {"hyperfine": hyperfine(), "pyperf": pyperf(), "tim": tim(), "perf stat": perf_stat()}
