"""`compare` and `timeit` for a REPL, a notebook or a test. They measure functions and statements of this process in forks of it."""
import json
import os
from html import escape
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import binary, forks
from .benchmarks import of_function, statement
from .histogram import svg
from .options import NAMES
from .place import new_record_path
from .record import Arm, Benchmark, read_arms


class Judgement(NamedTuple):
    """The judgement of one arm against the reference."""

    name: str
    verdict: str  # faster, slower, same or undecided.
    ratio: Optional[float]  # Time of the arm ÷ time of the reference; above 1 is slower.
    interval: Optional[Tuple[float, float]]  # Interval of the ratio at level 1 - alpha.


class Comparison:
    """Compared arms. The first is the reference; `verdict`, `ratio` and `interval` are those of the second."""

    def __init__(self, record: str, text: str, arms: Sequence[Arm], judgements: Sequence[Judgement]) -> None:
        self.record, self.arms, self.judgements, self._text = record, list(arms), list(judgements), text

    @classmethod
    def read(cls, record: str) -> "Comparison":
        """The comparison in a record. Raises `Error` if the file has fewer than two arms, or is not a record."""
        text = binary.output_of(["show", record]).rstrip("\n")
        document = json.loads(binary.output_of(["show", "--json", record]))
        arms = read_arms(record)
        pairs = zip(document["analysis"]["comparisons"], document["judgements"])
        judgements = [_judgement(arms, comparison, judged) for comparison, judged in pairs]
        if not judgements:
            raise binary.Error("%s compares nothing: it has %d arm" % (record, len(arms)))
        return cls(record, text, arms, judgements)

    @property
    def verdict(self) -> str:
        return self.judgements[0].verdict

    @property
    def ratio(self) -> Optional[float]:
        return self.judgements[0].ratio

    @property
    def interval(self) -> Optional[Tuple[float, float]]:
        return self.judgements[0].interval

    def benchmarks(self) -> List[Benchmark]:
        """Each arm as a benchmark of its own."""
        return [Benchmark(arm.name, arm, self.record) for arm in self.arms]

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        """For a notebook: the text, and a histogram of the arms' launches."""
        histogram = svg([(arm.name, arm.values) for arm in self.arms], self.arms[0].unit)
        return '<pre style="line-height:1.2">%s</pre>%s' % (escape(self._text), histogram)


def _judgement(arms: Sequence[Arm], comparison: Dict[str, Any], judged: Dict[str, Any]) -> Judgement:
    interval = judged.get("interval")
    if interval is not None:
        ends = interval["lo"], interval["hi"]
        # Too few pairs leave an end open.
        ratio, between = interval["ratio"], None if None in ends else ends
    else:  # Without a test there may still be an estimate.
        estimate = comparison["evidence"].get("ratio") or {}
        ratio, between = estimate.get("ratio", estimate.get("value")), None
    return Judgement(arms[comparison["arm"]].name, judged["verdict"], ratio, between)


Code = Union[str, Callable[[], Any]]


def compare(
    reference: Code,
    candidate: Code,
    *more: Code,
    setup: Optional[Code] = None,
    names: Optional[Sequence[str]] = None,
    globals: Optional[Dict[str, Any]] = None,
    record: Optional[str] = None,
    **stillwell_options: Any
) -> Comparison:
    """Compares functions without arguments, coroutine functions, or statements. The first one is the reference.

        >>> stillwell.compare(lambda: d[5], lambda: d.get(5), budget="5s")
        >>> stillwell.compare("d[5]", "d.get(5)", setup="d = {5: 1}")

    For functions, `setup` is a function that each worker calls before its first measurement. For statements, it is a statement that runs
    before each slice. `globals` has the globals of the statements. `record` is the path of a new file for the measurements.
    Each other keyword is an option of `stillwell bench`: `budget="5s"` is `--budget 5s`, `fast=True` is `--fast`.
    Raises `Error` if stillwell is missing or fails, for example because a function raises.
    """
    codes = (reference, candidate) + more
    path = os.fspath(record) if record is not None else new_record_path()
    arms, call = _arms(codes, setup, names, globals)
    forks.measure(arms, _words(stillwell_options), path, call)
    return Comparison.read(path)


def timeit(
    stmt: Code = "pass",
    setup: Optional[Code] = None,
    teardown: str = "pass",
    globals: Optional[Dict[str, Any]] = None,
    name: Optional[str] = None,
    duplicate: Optional[int] = None,
    record: Optional[str] = None,
    **stillwell_options: Any
) -> Benchmark:
    """Measures one statement or function; see `compare`. The statement has the semantics of the standard timeit."""
    path = os.fspath(record) if record is not None else new_record_path()
    arms, call = _arms([stmt], setup, [name] if name is not None else None, globals, teardown, duplicate)
    forks.measure(arms, _words(stillwell_options), path, call)
    return Benchmark(arms[0][0], read_arms(path)[0], path, binary.output_of(["show", path]))


def _arms(
    codes: Sequence[Code],
    setup: Optional[Code],
    names: Optional[Sequence[str]],
    namespace: Optional[Dict[str, Any]],
    teardown: str = "pass",
    duplicate: Optional[int] = None,
) -> Tuple[List[forks.Arm], Optional[Callable[[], Any]]]:
    if isinstance(setup, str) and not all(isinstance(code, str) for code in codes):
        raise TypeError("setup is a text, which is for statements; for functions it must be a function")
    if names is not None and len(names) != len(codes):
        raise ValueError("there are %d names for %d arms" % (len(names), len(codes)))
    if names is not None and len(set(names)) != len(names):
        raise ValueError("two arms have one name: %r" % (names,))
    benchmarks: List[Tuple[Any, Optional[int]]] = []
    for code in codes:
        if isinstance(code, str):
            text = setup if isinstance(setup, str) else "pass"
            benchmarks.append((statement(text, code, teardown, duplicate, namespace), duplicate))
        else:
            benchmarks.append((of_function(code), None))
    chosen = _unique([name_of(code) for code in codes] if names is None else list(names))
    arms = [(name, benchmark, inner_loops) for name, (benchmark, inner_loops) in zip(chosen, benchmarks)]
    return arms, None if setup is None or isinstance(setup, str) else setup


def name_of(code: Code) -> str:
    return code.strip() or "pass" if isinstance(code, str) else getattr(code, "__name__", None) or repr(code)


def _unique(names: List[str]) -> List[str]:
    """The names, with a number for each one that exists already, such as that of a second lambda."""
    found: List[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = "%s %d" % (name, number)
        found.append(unique)
    return found


def _words(given: Dict[str, Any]) -> List[str]:
    """Keywords as options. True makes a flag, a list repeats the option, None and False omit it."""
    words = []
    for name, value in given.items():
        option = "--" + NAMES.get(name, name).replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words += [option, str(one)]
    return words
