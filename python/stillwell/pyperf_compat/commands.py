"""`python -m pyperf`: timeit and command measure, convert writes files; the program stillwell shows them."""
import argparse
import os
import sys
from typing import List, Optional, Sequence

from .. import binary
from . import convert, metadata as facts, pyperformance_suite
from .benchmark import Benchmark
from .report import VERSION
from .run import Run
from .runner import Runner
from .values import format_metadata

SHADOW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shadow")
# Commands with another name in Stillwell.
VERBS = {
    "show": "show", "stats": "stats", "hist": "hist", "check": "check", "dump": "dump", "metadata": "metadata", "slowest": "slowest",
    "compare_to": "compare", "system": "system"}
OWN = ("timeit", "command", "convert", "collect_metadata", "path", "pyperformance_suite")
USAGE = "usage: python -m pyperf {%s} …" % ",".join(sorted([*VERBS, *OWN]))


def main(words: Optional[Sequence[str]] = None) -> int:
    given = list(sys.argv[1:] if words is None else words)
    if not given or given[0] in ("-h", "--help"):
        print(USAGE + "\n\npath prints the folder that makes `import pyperf` this package, for PYTHONPATH.\n"
              "The verbs that read files are those of stillwell: `stillwell show --help` has their options.")
        return 0 if given else 2
    if given[0] in ("-V", "--version"):
        print("stillwell, with the interface of pyperf", VERSION)
        return 0
    name, rest = given[0], given[1:]
    if name == "path":
        print(SHADOW)
    elif name == "timeit":
        timeit(rest)
    elif name == "command":
        command(rest)
    elif name == "collect_metadata":
        collect_metadata(rest)
    elif name == "convert":
        convert.main(rest)
    elif name == "pyperformance_suite":
        pyperformance_suite.main(rest)
    elif name in VERBS:
        program = binary.find()
        os.execv(program, [program, VERBS[name]] + rest)
    else:
        print("%s\nthere is no command %r" % (USAGE, name), file=sys.stderr)
        return 2
    return 0


def timeit(words: List[str]) -> None:
    """`timeit [options] [-s SETUP] [--teardown CODE] STATEMENT…`."""

    def add_own(line: List[str], args: argparse.Namespace) -> None:
        line += ["--name", args.name]
        for option in ("setup", "teardown"):
            for text in getattr(args, option):
                line += ["--" + option, text]
        for option in ("inner_loops", "duplicate"):
            if getattr(args, option) is not None:
                line += ["--" + option.replace("_", "-"), str(getattr(args, option))]
        line += ["--"] + args.stmt

    parser = argparse.ArgumentParser(prog="python -m pyperf timeit")
    parser.add_argument("--name", default="timeit", help="name of the benchmark")
    parser.add_argument("-s", "--setup", action="append", default=[], help="code before the loops; repeatable")
    parser.add_argument("--teardown", action="append", default=[], help="code after the loops; repeatable")
    parser.add_argument("--inner-loops", type=int, help="how often the statement repeats itself")
    parser.add_argument("--duplicate", type=int, help="copies of the statement in the loop")
    parser.add_argument("stmt", nargs="+", help="statement; several are lines")
    runner = _runner("timeit", parser, add_own, words)
    args = runner.parse_args(words)
    parts = ["\n".join(lines) or "pass" for lines in (args.setup, args.teardown)]
    runner.timeit(args.name, "\n".join(args.stmt), parts[0], parts[1], args.inner_loops, args.duplicate)


def command(words: List[str]) -> None:
    """`command [options] PROGRAM ARGUMENTS…`."""
    parser = argparse.ArgumentParser(prog="python -m pyperf command")
    parser.add_argument("--name", default="command", help="name of the benchmark")
    parser.add_argument("program", help="the program")
    parser.add_argument("program_args", nargs=argparse.REMAINDER, help="its arguments")
    runner = _runner("command", parser, lambda line, args: None, words)
    args = runner.parse_args(words)
    runner.bench_command(args.name, [args.program] + args.program_args)


def _runner(name: str, parser: argparse.ArgumentParser, add_own: object, words: List[str]) -> Runner:
    show_name = any(word.split("=")[0] == "--name" for word in words) or name == "command"
    return Runner(_argparser=parser, program_args=["-m", "pyperf", name], add_cmdline_args=add_own, show_name=show_name)  # type: ignore[arg-type]


def collect_metadata(words: List[str]) -> None:
    """`collect_metadata [--affinity CPUS] [-o FILE]`."""
    parser = argparse.ArgumentParser(prog="python -m pyperf collect_metadata")
    parser.add_argument("--affinity", metavar="CPUS", help="stay on these CPUs")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the metadata to a new file, as a benchmark of the value 1")
    args = parser.parse_args(words)
    if args.affinity:
        os.sched_setaffinity(0, facts.parse_cpus(args.affinity))
    run = Run([1.0], metadata={"name": "metadata"})
    print("Metadata:")
    for key, value in sorted(run.get_metadata().items()):
        if key != "name":
            print("- %s: %s" % (key, format_metadata(key, value)))
    if args.output:
        Benchmark([run]).dump(args.output)
