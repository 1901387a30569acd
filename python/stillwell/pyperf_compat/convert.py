"""`python -m pyperf convert`: another file with some of the benchmarks, the runs or the metadata."""
import argparse
import sys
from typing import Any, Callable, Dict, List, Sequence

from .benchmark import Benchmark
from .run import Run
from .suite import BenchmarkSuite


def run_numbers(text: str) -> List[int]:
    """The places of runs in a list such as `1-3,7`. ValueError for another text."""
    places: List[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        start, end = int(first), int(last) if dash else int(first)
        if start < 1 or end < start:
            raise ValueError
        places.extend(range(start - 1, end))
    return places


def changes(text: str) -> Dict[str, Any]:
    """The entries of `KEY=VALUE,KEY=VALUE`. A whole number is a number."""
    found: Dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ValueError
        found[key.strip()] = int(value) if value.strip().isdigit() else value
    return found


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pyperf convert")
    add = parser.add_argument
    add("input", metavar="FILE", help="the file to read; - is standard input")
    to = parser.add_mutually_exclusive_group(required=True)
    to.add_argument("-o", "--output", metavar="FILE", help="write a new file")
    to.add_argument("--stdout", action="store_true", help="write to standard output")
    add("--indent", action="store_true", help="one value a line")
    add("--include-benchmark", action="append", metavar="NAME", help="only this benchmark; repeatable")
    add("--exclude-benchmark", action="append", metavar="NAME", help="without this benchmark; repeatable")
    add("--include-runs", type=run_numbers, metavar="RUNS", help="only these runs, for example 1-3,7")
    add("--exclude-runs", type=run_numbers, metavar="RUNS", help="without these runs")
    add("--remove-warmups", action="store_true", help="without the warm-ups")
    add("--add", metavar="FILE", help="add the runs of this file")
    add("--extract-metadata", metavar="KEY", help="make values of an entry of the metadata")
    add("--remove-all-metadata", action="store_true", help="keep only the names and the units")
    add("--update-metadata", type=changes, metavar="KEY=VALUE,…", help="set entries of the metadata")
    return parser


def main(words: Sequence[str]) -> None:
    parser = make_parser()
    args = parser.parse_args(words)
    suite = BenchmarkSuite.load(args.input)
    if args.add:
        suite.add_runs(BenchmarkSuite.load(args.add))
    suite = BenchmarkSuite([of_runs(one, args) for one in chosen(parser, suite, args)])
    for benchmark in suite:
        if args.extract_metadata:
            benchmark._extract_metadata(args.extract_metadata)
        if args.remove_all_metadata:
            benchmark._remove_all_metadata()
        if args.update_metadata:
            benchmark.update_metadata(args.update_metadata)
    suite.dump(sys.stdout if args.stdout else args.output, compact=not args.indent)


def chosen(parser: argparse.ArgumentParser, suite: BenchmarkSuite, args: argparse.Namespace) -> List[Benchmark]:
    known = suite.get_benchmark_names()
    for name in (args.include_benchmark or []) + (args.exclude_benchmark or []):
        if name not in known:
            parser.error("%s has no benchmark %r; it has %s" % (args.input, name, ", ".join(known)))
    names = [name for name in args.include_benchmark or known if name not in (args.exclude_benchmark or [])]
    if not names:
        parser.error("no benchmark of %s is left" % args.input)
    return [benchmark for benchmark in suite if benchmark.get_name() in names]


def of_runs(benchmark: Benchmark, args: argparse.Namespace) -> Benchmark:
    """The benchmark with the chosen runs."""
    is_chosen: Callable[[int], bool] = lambda place: (
        (args.include_runs is None or place in args.include_runs) and (args.exclude_runs is None or place not in args.exclude_runs))
    runs = [run for place, run in enumerate(benchmark.get_runs()) if is_chosen(place)]
    if args.remove_warmups:
        runs = [Run(run.values, metadata=run.get_metadata(), collect_metadata=False) for run in runs if run.values]
    if not runs:
        raise SystemExit("no run of the benchmark %r is left" % benchmark.get_name())
    return Benchmark(runs)
