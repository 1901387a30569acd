"""The options of a script with a `Runner`, with the names of pyperf. `stillwell bench` gets them and knows their meaning."""
import argparse
import sys
from typing import Any, Callable, List, Sequence

FLAGS = {
    "rigorous": "spend longer to get a narrower interval",
    "fast": "a rough answer, quickly",
    "debug-single-value": "run each benchmark once, to see that it works",
    "track-memory": "measure memory instead of time",
    "tracemalloc": "measure Python's allocations instead of time",
}
SHORT_FLAGS = {
    "-v": ("verbose", "show each process"),
    "-q": ("quiet", "print nothing but errors"),
}
# Verbs of stillwell that print something of the record after the benchmark.
VERBS = {
    "-d": ("dump", "print the rows, too"),
    "-m": ("metadata", "print the metadata, too"),
    "-g": ("hist", "print the histogram, too"),
    "-t": ("stats", "print all statistics, too"),
}
# What `stillwell bench` would refuse in the names of its own options, the parser of a script refuses first.
EXCLUSIVE = (("rigorous", "fast"), ("debug-single-value",), ("track-memory", "tracemalloc"))
VALUES = {
    "processes": ("-p", "launches of each benchmark, each a fresh process"),
    "values": ("-n", "slices of each launch"),
    "warmups": ("-w", "slices of each launch that come before and do not count"),
    "loops": ("-l", "loops of one slice; 0 finds it out; 2^8 is understood"),
    "min-time": (None, "least duration of a slice in seconds"),
    "timeout": (None, "most seconds for a slice"),
    "affinity": (None, "CPUs for the workers, for example 2 or 0-3,6"),
    "inherit-environ": (None, "environment variables for the workers, separated by commas"),
}

# Options that Stillwell calls otherwise.
NAMES = {"processes": "runs"}


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Benchmark")
    for names in EXCLUSIVE:
        flags = parser.add_mutually_exclusive_group()
        for name in names:
            flags.add_argument("--" + name, action="store_true", help=FLAGS[name])
    flags = parser.add_mutually_exclusive_group()
    for short, (name, text) in SHORT_FLAGS.items():
        flags.add_argument(short, "--" + name, action="store_true", help=text)
    for short, (name, text) in VERBS.items():
        parser.add_argument(short, "--" + name, action="store_true", help=text)
    # Workers inherit the whole environment anyway. The option exists so that scripts that pass it still work.
    parser.add_argument("--copy-env", action="store_true", help=argparse.SUPPRESS)
    kinds = {"processes": at_least(1, int), "values": at_least(1, int), "warmups": at_least(0, int), "loops": at_least(0, loops),
             "min-time": at_least(0, float), "timeout": at_least(0, float)}
    for name, (short_name, text) in VALUES.items():
        parser.add_argument(*filter(None, [short_name]), "--" + name, type=kinds.get(name, str), help=text)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the results to a new file, as pyperf's JSON")
    parser.add_argument("--append", metavar="FILE", help="add the results to a file, as pyperf's JSON")
    add_threads_and_pythons(parser)
    parser.set_defaults(worker=False)
    return parser


def add_threads_and_pythons(parser: argparse.ArgumentParser) -> None:
    # Not --threads: `stillwell run --threads` and `bench --threads` say whether programs are told how many threads to make.
    text = "numbers of threads for bench_threads, separated by commas"
    parser.add_argument("--thread-counts", metavar="N,N,…", type=_counts, help=text)
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON", help="measure in this Python")
    parser.add_argument("--compare-to", metavar="PYTHON", help="compare with this Python, which is the reference")
    parser.add_argument("--python-names", metavar="REFERENCE:CHANGED", type=_python_names, help="names of the two for the output")


def _counts(text: str) -> List[int]:
    counts = [int(word) for word in text.split(",")]
    if min(counts) < 1:
        raise argparse.ArgumentTypeError("a number of threads is 1 or more, not %s" % min(counts))
    return counts


def for_threads(args: argparse.Namespace) -> List[str]:
    """The words for a session with threads. They need several CPUs, and slices that are long against the start of the threads."""
    words = [] if args.affinity is not None else ["--affinity", "all"]
    if args.min_time is None and not args.debug_single_value and not args.loops:
        words += ["--min-time", "0.02"]
    return words


def at_least(least: float, kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        value = kind(text)
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError("%s is not a number from %s on" % (text, least))
        return value

    parse.__name__ = kind.__name__  # argparse names it if the text is no number.
    return parse


def loops(text: str) -> int:
    """A number of loops, also as a power: `2^8`."""
    base, caret, exponent = text.partition("^")
    return int(base) ** int(exponent) if caret else int(base)


def _python_names(text: str) -> List[str]:
    names = text.split(":")
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError("%r is not REFERENCE:CHANGED" % text)
    return names


def to_words(args: argparse.Namespace) -> List[str]:
    """The words for `stillwell bench` with the options in `args`. An option that is not set keeps its default."""
    words = []
    left_out = _left_out(args)
    for name in list(FLAGS) + [name for name, _ in SHORT_FLAGS.values()]:
        if getattr(args, name.replace("-", "_")) and name not in left_out:
            words.append("--" + name)
    for name in VALUES:
        value = getattr(args, name.replace("-", "_"))
        if value is not None and (name, value) != ("loops", 0) and name not in left_out:
            words += ["--" + NAMES.get(name, name), "%.15g" % value if isinstance(value, float) else str(value)]
    if args.python_names is not None and args.compare_to is not None:
        for arm_name in args.python_names:
            words += ["--command-name", arm_name]
    return words + saved_to(args)


def _left_out(args: argparse.Namespace) -> Sequence[str]:
    """The options that another one decides: a single value needs no numbers, and a number of processes leaves nothing to --fast."""
    if args.debug_single_value:
        return ("processes", "values", "warmups", "loops", "min-time", "fast", "rigorous")
    return ("fast", "rigorous") if args.processes is not None else ()


def verbs(args: argparse.Namespace) -> List[str]:
    """The verbs that print each record."""
    return [name for name, _ in VERBS.values() if getattr(args, name)]


def to_run_words(args: argparse.Namespace) -> List[str]:
    """The words for `stillwell run`, which measures commands. Each run is a launch of one loop."""
    words = []
    if args.debug_single_value:
        words += ["--runs", "1", "--warmup", "0"]
    elif args.processes is not None or args.values is not None:
        words += ["--runs", str((args.processes or 20) * (args.values or 3))]
    if args.warmups is not None and not args.debug_single_value:
        words += ["--warmup", str(args.warmups)]
    if args.timeout is not None:
        words += ["--timeout", "%.15g" % args.timeout]
    if args.affinity is not None:
        words += ["--affinity", args.affinity]
    if args.quiet:
        words += ["--style", "none"]
    return words


def saved_to(args: argparse.Namespace) -> List[str]:
    # Each benchmark of a script has a call of its own, so every call appends. `parse_args` has checked that the file of -o is new.
    path = file_of(args)
    return ["--append", path] if path else []


def file_of(args: argparse.Namespace) -> str:
    """The file for the results. Empty if there is none."""
    return args.output or args.append or ""
