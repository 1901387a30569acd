"""The command line of a `Runner`, with the options of pyperf ("Runner CLI" in its documentation)."""
import argparse
import os
from typing import Any, Callable, Dict, List, Optional

from ..benchmarks import python_has_jit
from ..options import FLAGS, VERBS, add_threads_and_pythons, at_least, loops
from . import _hooks

# Variables that processes inherit without --copy-env. STILLWELL is the program; with PYTHONPATH, processes find this package.
INHERITED = ("PATH", "HOME", "TEMP", "PYTHONPATH", "PYTHON_CPU_COUNT", "PYTHON_GIL", "STILLWELL")
INHERITED_PREFIXES = ("PYPERF_",)
LOCALE = (
    "LANG", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY",
    "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME")
# Processes and values of a benchmark, without and with a JIT.
DEFAULTS, DEFAULTS_JIT = {"processes": 20, "values": 3}, {"processes": 6, "values": 10}
MIN_TIME_S = 0.1


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options to the parser of a script."""
    add = parser.add_argument
    how_long = parser.add_mutually_exclusive_group()
    for name in ("rigorous", "fast", "debug-single-value"):
        how_long.add_argument("--" + name, action="store_true", help=FLAGS[name])
    add("-p", "--processes", type=at_least(1, int), help="processes of each benchmark")
    add("-n", "--values", type=at_least(1, int), help="values of each process")
    add("-w", "--warmups", type=at_least(0, int), help="values of each process that come before and do not count")
    add("-l", "--loops", type=at_least(0, loops), help="loops of one value; 0 finds it out; 2^8 is understood")
    add("--min-time", type=at_least(1e-9, float), help="least duration of a value in seconds")
    add("--timeout", type=at_least(0, float), help="most seconds for a measurement")
    add("-o", "--output", metavar="FILE", help="write the results to a new file")
    add("--append", metavar="FILE", help="add the results to a file")
    add("--pipe", type=int, metavar="FD", help="write each result to this open file")
    of_output = {"-v": ("verbose", "show how each result was measured"), "-q": ("quiet", "print nothing but results and errors")}
    for short, (name, text) in {**of_output, **VERBS}.items():
        add(short, "--" + name, action="store_true", help=text)
    add("--affinity", metavar="CPUS", help="CPUs for the processes, for example 2 or 0-3,6")
    add("--inherit-environ", metavar="VARS", type=_names, help="further variables for the processes, separated by commas")
    add("--copy-env", action="store_true", help="processes inherit all variables")
    add("--no-locale", action="store_true", help="processes do not inherit the locale")
    add_threads_and_pythons(parser)
    memory = parser.add_mutually_exclusive_group()
    memory.add_argument("--track-memory", action="store_true", help="measure the peak memory of the processes")
    memory.add_argument("--tracemalloc", action="store_true", help="measure the peak of Python's allocations")
    add("--profile", metavar="FILE", help="add a cProfile of the benchmark to a file")
    text = "run a hook around each measurement; repeatable; there are %s" % ", ".join(_hooks.get_hook_names())
    add("--hook", action="append", metavar="HOOK", help=text)
    for name in ("worker", "calibrate-loops", "recalibrate-loops", "calibrate-warmups", "recalibrate-warmups"):
        add("--" + name, action="store_true", help=argparse.SUPPRESS)
    add("--worker-task", type=int, metavar="NUMBER", help=argparse.SUPPRESS)


def _names(text: str) -> List[str]:
    return [name for name in text.replace(" ", ",").split(",") if name]


def complete(args: argparse.Namespace) -> Dict[str, Any]:
    """Fills in the numbers that were not given, which scripts may read. Returns those that were given, after --fast or --rigorous.

    The number of processes is pyperf's in any case: pyperformance compares only files with equally many values.
    """
    given = {name: getattr(args, name) for name in ("processes", "values", "warmups", "loops", "min_time")}
    given["loops"] = given["loops"] or None
    args.loops = args.loops or 0
    defaults = DEFAULTS_JIT if python_has_jit() else DEFAULTS
    for name, value in defaults.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.fast:
        args.processes, args.values = max(args.processes // 2, 3), max(args.values * 2 // 3, 2)
    elif args.rigorous:
        args.processes *= 2
    if args.warmups is None:
        args.warmups = 1
    if args.min_time is None:
        args.min_time = MIN_TIME_S
    if args.debug_single_value:
        args.processes, args.values, args.warmups, args.loops = 1, 1, 0, 1
    given["processes"] = args.processes
    given["values"] = args.values if given["values"] is not None else None
    return given


def to_words(args: argparse.Namespace, given: Dict[str, Any]) -> List[str]:
    """The words for `stillwell bench`. What was not given is left to Stillwell, but the number of processes."""
    words = []
    if args.debug_single_value:
        words.append("--debug-single-value")
    else:
        # `complete` has applied --fast and --rigorous to the number of processes.
        for name in ("processes", "values", "warmups", "loops", "min_time"):
            if given[name] is not None:
                # The processes of pyperf are the runs of Stillwell.
                words += ["--" + {"processes": "runs"}.get(name, name).replace("_", "-"), _text(given[name])]
    words += ["--" + name.replace("_", "-") for name in ("track_memory", "tracemalloc") if getattr(args, name)]
    return words + _limits(args)


def to_run_words(args: argparse.Namespace, given: Dict[str, Any]) -> List[str]:
    """The words for `stillwell run`, which measures commands: each run has one loop."""
    words = []
    if args.debug_single_value:
        words += ["--runs", "1", "--warmup", "0"]
    else:
        words += ["--runs", str(args.processes * args.values * (given["loops"] or 1))]
    if given["warmups"] is not None and not args.debug_single_value:
        words += ["--warmup", str(given["warmups"])]
    return words + _limits(args)


def _limits(args: argparse.Namespace) -> List[str]:
    words = []
    for name in ("timeout", "affinity"):
        if getattr(args, name) is not None:
            words += ["--" + name, _text(getattr(args, name))]
    return words


def _text(value: Any) -> str:
    return "%.15g" % value if isinstance(value, float) else str(value)


def environment(args: argparse.Namespace) -> Dict[str, str]:
    """The variables of the processes."""
    if args.copy_env:
        chosen = dict(os.environ)
    else:
        names = set(INHERITED) | set(LOCALE) | set(args.inherit_environ or ())
        chosen = {name: value for name, value in os.environ.items() if name in names or name.startswith(INHERITED_PREFIXES)}
    return {name: value for name, value in chosen.items() if not (args.no_locale and name in LOCALE)}


def hook_of_profile(path: Optional[str]) -> List[Callable[[], Any]]:
    return [lambda: _hooks.Profile(path)] if path else []
