"""The lines that a script prints for its benchmarks."""
import argparse
from typing import Any, Dict, List, Sequence

from . import values
from .benchmark import Benchmark

# The version of pyperf whose interface this is.
VERSION = "2.10.0"


def value_of(benchmark: Benchmark) -> str:
    """The mean and the standard deviation, or the only value."""
    n_values = benchmark.get_nvalue()
    if n_values == 0:
        return "<calibration: %s>" % values.number(int(benchmark.get_loops()), "loop")
    if n_values == 1:
        return benchmark.format_value(benchmark.get_values()[0])
    return "%s +- %s" % benchmark.format_values([benchmark.mean(), benchmark.stdev()])[:2]


def line(benchmark: Benchmark, show_name: bool) -> str:
    text = value_of(benchmark)
    if benchmark.get_nvalue() > 1:
        text = "Mean +- std dev: " + text
    return "%s: %s" % (benchmark.get_name(), text) if show_name else text


def result(benchmark: Benchmark, args: argparse.Namespace, show_name: bool) -> str:
    lines: List[str] = []
    if args.metadata:
        lines += ["Metadata:"] + metadata_lines(benchmark) + [""]
    if args.dump:
        lines += dump_lines(benchmark) + [""]
    if args.stats:
        lines += stats_lines(benchmark) + [""]
    return "\n".join(lines + [line(benchmark, show_name)])


def metadata_lines(benchmark: Benchmark) -> List[str]:
    return ["- %s: %s" % (name, values.format_metadata(name, value)) for name, value in sorted(benchmark.get_metadata().items())]


def dump_lines(benchmark: Benchmark) -> List[str]:
    lines = []
    for number, run in enumerate(benchmark.get_runs(), 1):
        lines.append("Run %d: %s" % (number, values.number(run.get_loops(), "loop")))
        lines += ["- warmup %d: %s" % (place, benchmark.format_value(value)) for place, (_, value) in enumerate(run.warmups, 1)]
        lines += ["- value %d: %s" % (place, benchmark.format_value(value)) for place, value in enumerate(run.values, 1)]
    return lines


def stats_lines(benchmark: Benchmark) -> List[str]:
    numbers = benchmark.get_values()
    rows = [("Runs", str(benchmark.get_nrun())), ("Values", str(len(numbers))), ("Minimum", benchmark.format_value(min(numbers)))]
    rows += [("%d %%" % p, benchmark.format_value(benchmark.percentile(p))) for p in (5, 25, 50, 75, 95)]
    rows += [("Maximum", benchmark.format_value(max(numbers))), ("Mean", benchmark.format_value(benchmark.mean()))]
    return ["%-8s %s" % (name + ":", text) for name, text in rows]


def comparison(found: Sequence[Benchmark], names: Sequence[str], effect: Dict[str, Any], show_name: bool) -> str:
    """The changed benchmark against the reference. `effect` is the session's verdict: two means alone would call every noise a difference."""
    reference, changed = found
    verdict = effect["verdict"]
    if effect["no_test"]:
        verdict = "no verdict (-v says why)"
    elif verdict in ("faster", "slower"):
        verdict = "%.2fx %s" % (max(effect["ratio"], 1 / effect["ratio"]), verdict)
    lines = ["%s: %s" % (name, value_of(one)) for name, one in zip(names, found)]
    name = "%s: " % changed.get_name() if show_name else ""
    text = "%sMean +- std dev: [%s] %s -> [%s] %s: %s" % (name, names[0], value_of(reference), names[1], value_of(changed), verdict)
    return "\n".join(lines + ["", text])
