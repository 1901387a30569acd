"""Functions of all experiments: paths, the measurement of a process from outside, tables."""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = pathlib.Path(sys.argv[0]).resolve().parent
STILLWELL = os.environ.get("STILLWELL", str(ROOT / "target/release/stillwell"))
# HYPERFINE names other versions, separated by colons. experiments/results/README.md says how to install them.
HYPERFINE_VERSIONS = ["1.15", "1.20", "2.0"]


def begin(name, parser=None, keep=False, **sizes):
    """Reads the command line, makes an empty scratch directory and changes to it.

    `sizes` maps a name to (quick, normal, full). The result has the requested one. `parser` has further options.
    `keep` keeps the files in the directory, and gives tiny sizes a directory of their own.
    """
    parser = parser or argparse.ArgumentParser()
    parser.description = sys.modules["__main__"].__doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it works, no more")
    parser.add_argument("--full", action="store_true", help="the largest sizes")
    asked = parser.parse_args()
    if not os.access(STILLWELL, os.X_OK):
        sys.exit(f"{STILLWELL}: not there; run `make release`, or set STILLWELL to the program")
    scratch = ROOT / "target/experiments" / (f"{name}-quick" if keep and asked.quick else name)
    if not keep:
        shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(scratch)
    # The user's own records and builds must not influence the times and counts.
    os.environ["XDG_STATE_HOME"] = str(scratch / "state")
    os.environ["XDG_CACHE_HOME"] = str(scratch / "cache")
    build("measured.c", folder=ROOT / "experiments")
    which = 0 if asked.quick else 2 if asked.full else 1
    print(f"== {name}{' (quick)' if asked.quick else ''}: {machine()}", flush=True)
    return argparse.Namespace(**vars(asked), **{key: values[which] for key, values in sizes.items()})


def at(clock):
    """The next time that clocks show HH:MM, in seconds; never, if none is given."""
    if not clock:
        return math.inf
    now = datetime.datetime.now()
    found = datetime.datetime.combine(now.date(), datetime.time.fromisoformat(clock))
    return (found if found > now else found + datetime.timedelta(days=1)).timestamp()


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.machine())
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"Linux {platform.release()}, {model}, {os.cpu_count()} CPUs, load {load}"


def build(source, *options, folder=HERE):
    """Compiles a source file of the calling experiment into the scratch directory."""
    program = "./" + source.split(".")[0]
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", program, str(folder / source), *options], check=True)
    return program


def hyperfines():
    """Maps each requested version to its program, or to None if it is not installed."""
    programs = [*os.environ.get("HYPERFINE", "").split(":"), shutil.which("hyperfine"), "/usr/bin/hyperfine"]
    found = {}
    for program in filter(None, programs):
        try:
            version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()[1]
        except (OSError, IndexError):
            continue
        found.setdefault(".".join(version.split(".")[:2]), program)
    versions = [*HYPERFINE_VERSIONS, *sorted(set(found) - set(HYPERFINE_VERSIONS))]
    return {version: found.get(version) for version in versions}


def times_of(result):
    """Seconds of each run of one command in hyperfine's JSON. Schema 1 lists times, schema 2 measurements."""
    if "times" in result:
        return result["times"]
    return [run["time_wall_clock"]["value"] for run in result["measurements"]]


def measured(*argv, stdout="/dev/null", limit_s=0):
    """Runs a program. Returns wall seconds, CPU seconds and peak resident MiB; None if it exceeded its CPU time limit."""
    measure = ["./measured", str(limit_s), stdout, "stderr.txt", *argv]
    told = subprocess.run(measure, check=True, capture_output=True).stdout
    wall_ns, cpu_us, maxrss_kib, status = map(int, told.split())
    if limit_s and status == 128 + signal.SIGKILL:
        return None
    if status:
        sys.exit(f"{' '.join(argv)}: exit {status}\n{open('stderr.txt').read()}")
    return wall_ns / 1e9, cpu_us / 1e6, maxrss_kib / 1024


class Record:
    """The parts of a record that the experiments use (docs/format.md)."""

    def __init__(self, path):
        self.path = path
        with open(path) as lines:
            self.header = json.loads(next(lines))
            rest = [json.loads(line) for line in lines if line.endswith("\n")]
        rows = [line for line in rest if isinstance(line, list)]
        self.rows = [dict(zip(self.header["columns"], row)) for row in rows]
        self.runs = [row for row in self.rows if row["block"] is not None]
        self.events = [line for line in rest if isinstance(line, dict)]

    def event(self, name):
        return next(event for event in self.events if event["event"] == name)


def table(title, head, rows):
    """Prints rows of cells under a title. The first column is left-aligned, the others are right-aligned."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    print(f"\n{title}")
    for row in cells:
        first, *others = (cell.ljust(width) if column == 0 else cell.rjust(width)
                          for column, (cell, width) in enumerate(zip(row, widths)))
        print("  ".join([first, *others]).rstrip(), flush=True)


def goal(met, text):
    """Prints whether a goal of speed is met. Tiny sizes (--quick) prove nothing about speed."""
    decided = "      " if "--quick" in sys.argv else "met   " if met else "MISSED"
    print(f"{decided}  {text}", flush=True)


def check(holds, text, found=""):
    """Checks a condition that holds at any size, on any machine."""
    if not holds:
        sys.exit(f"FAILED  {text}: {found}")
