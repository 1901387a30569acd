"""Reads the rows of a record (docs/format.md) and computes the values of its launches."""
import json
import statistics
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .binary import Error

# Name of a unit in the record → its name in this package, and the factor of its values.
UNITS = {"time": ("second", 1e-9), "bytes": ("byte", 1.0), "count": ("integer", 1.0)}


class Arm(NamedTuple):
    """One arm of a record: one of the things that it compares."""

    name: str
    values: List[float]  # One value for each launch (process), in the order of execution.
    loops: int  # The largest number of loops of one slice.
    inner_loops: int
    unit: str = "second"  # Unit of the values: second, byte or integer.


class _Rule:
    """Rule that makes one value of the slices of a launch, the same as in the program (docs/format.md, "Rows in slices")."""

    def __init__(self, header: Dict[str, Any], headline: Optional[str]) -> None:
        plan = header["plan"]
        workers = plan.get("workers") or {}
        self.columns: Dict[str, int] = {name: place for place, name in enumerate(header["columns"])}
        self.arms: List[Dict[str, Any]] = plan["arms"]
        self.headline = headline or workers.get("headline", "wall")
        policy = plan.get("policy", {})
        estimand = policy.get("estimand")
        self.is_low = estimand == "floor" or estimand != "mean" and policy.get("process_value", "low") == "low"
        self.is_delta, self.is_empty_loop_off = workers.get("delta", False), workers.get("subtract_empty_loop", False)

    def cell(self, row: List[Any], name: str) -> Any:
        return row[self.columns[name]] if name in self.columns else None

    def unit(self, arm: int) -> Tuple[str, float]:
        return UNITS["bytes" if self.headline == "memory" else self.arms[arm].get("unit", "time")]

    def slice(self, row: List[Any], arm: int, loops: int) -> Optional[float]:
        """The measured value of a slice for one loop, in the unit of the record. None if there is none."""
        own = self.cell(row, "value")
        if own is not None or self.headline == "tracemalloc":
            return own
        if self.headline == "memory":
            peak_kib = self.cell(row, "maxrss_kib")
            return None if peak_kib is None else peak_kib * 1024.0
        time_ns = self.cell(row, "cpu_ns" if self.headline == "cpu" else "wall_ns")
        if self.headline == "clean" and time_ns is not None:
            time_ns = max(0, time_ns - (self.cell(row, "stalled_ns") or 0))
        if time_ns is None:
            return None
        empty_ps = self.cell(row, "empty_loop_ps") if self.is_empty_loop_off else None
        return (time_ns / loops - (empty_ps or 0) / 1e3) / _inner_loops(self.arms[arm])

    def value(self, slices: List[Tuple[int, float]]) -> Optional[float]:
        """The value of a launch, from the loops and the value of each of its slices."""
        if not self.is_delta:
            return self._of([value for _, value in slices]) if slices else None
        numbers = sorted({loops for loops, _ in slices})
        if len(numbers) < 2:
            return None
        few, many = numbers[0], numbers[-1]  # The slope excludes any cost that does not grow with the loops.
        total = {loops: self._of([value for n, value in slices if n == loops]) * loops for loops in (few, many)}
        return (total[many] - total[few]) / (many - few)

    def _of(self, values: List[float]) -> float:
        return statistics.fmean(sorted(values)[: -(-len(values) // 5)] if self.is_low else values)


def _inner_loops(arm: Dict[str, Any]) -> int:
    return arm.get("inner_loops") or 1


def read_arms(path: str, headline: Optional[str] = None) -> List[Arm]:
    """The arms of a record, in its order. Raises `Error` if the file is not a record, or of a later version.

    `headline` replaces the value that the record compares: `clean`, `wall`, `cpu` or `memory`.
    """
    with open(path, encoding="utf-8") as lines:
        header = _parse(path, 1, lines.readline())
        if not isinstance(header, dict) or header.get("format") != "stillwell" or header.get("version") != 1:
            raise Error("%s is not a record that this version of stillwell reads; update the Python package" % path)
        rule = _Rule(header, headline)
        # Each block has one launch of each arm, and each slice of a launch has a row.
        launches: Dict[Tuple[int, int], List[Tuple[int, float]]] = {}
        for number, line in enumerate(lines, 2):
            if not line.endswith("\n"):  # A kill has cut the line. The format allows that only at the end.
                break
            row = _parse(path, number, line)
            if isinstance(row, list):
                _add(row, rule, launches)
    return [_arm(index, rule, launches) for index in range(len(rule.arms))]


def _parse(path: str, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise Error("%s, line %d: not a record of stillwell (%s)" % (path, number, error)) from None


def _add(row: List[Any], rule: _Rule, launches: Dict[Tuple[int, int], List[Tuple[int, float]]]) -> None:
    arm, block = rule.cell(row, "arm"), rule.cell(row, "block")
    if block is None or rule.cell(row, "timed_out"):  # A warm-up, or a run that was killed at its time limit.
        return
    loops = rule.cell(row, "loops") or 1
    value = rule.slice(row, arm, loops)
    if value is not None:
        launches.setdefault((arm, block), []).append((loops, value))


def _arm(index: int, rule: _Rule, launches: Dict[Tuple[int, int], List[Tuple[int, float]]]) -> Arm:
    plan, (unit, scale) = rule.arms[index], rule.unit(index)
    own = [slices for (arm, _), slices in launches.items() if arm == index]
    values = [value * scale for value in map(rule.value, own) if value is not None]
    loops = max([loops for slices in own for loops, _ in slices], default=1)
    return Arm(plan.get("name") or plan.get("command") or str(index + 1), values, loops, _inner_loops(plan), unit)


class Values:
    """The statistics of the values of a benchmark."""

    def _at_least(self, n_values: int) -> Sequence[float]:
        """The values. Raises an error if there are fewer than `n_values`."""
        raise NotImplementedError

    def mean(self) -> float:
        return statistics.fmean(self._at_least(1))

    def median(self) -> float:
        return statistics.median(self._at_least(1))

    def stdev(self) -> float:
        """Standard deviation (n - 1). Raises an error for a single value."""
        return statistics.stdev(self._at_least(2))

    def median_abs_dev(self) -> float:
        """Median absolute deviation from the median, not scaled."""
        middle = self.median()
        return statistics.median(abs(value - middle) for value in self._at_least(1))


class Benchmark(Values):
    """A measured benchmark. It has one value for each launch, because launches are the units that vary independently.

    The value of a launch is the mean of its slices, in seconds per loop; with `--estimand floor` it is the mean of the lowest fifth of
    them. Verdicts rest on these values. With `--track-memory` and `--tracemalloc` the value is in bytes, not divided by the loops.
    """

    def __init__(self, name: str, arm: Arm, record: str, text: str = "", metadata: Optional[Dict[str, Any]] = None) -> None:
        self.name, self.record, self._arm, self._text = name, record, arm, text
        self._metadata = dict(metadata or {}, name=name)

    def get_name(self) -> str:
        return self.name

    def get_values(self) -> Tuple[float, ...]:
        """The value of each launch, in `unit`, in the order of execution."""
        return tuple(self._arm.values)

    def get_metadata(self) -> Dict[str, Any]:
        """The metadata from the script. The record has the facts of the machine."""
        return dict(self._metadata)

    def get_nvalue(self) -> int:
        return len(self._arm.values)

    get_nrun = get_nvalue

    def get_loops(self) -> int:
        return self._arm.loops

    def get_inner_loops(self) -> int:
        return self._arm.inner_loops

    def get_total_loops(self) -> int:
        return self._arm.loops * self._arm.inner_loops

    @property
    def unit(self) -> str:
        """Unit of the values: `second`, `byte` or `integer`."""
        return self._arm.unit

    def get_unit(self) -> str:
        return self.unit

    def _at_least(self, n_values: int) -> Sequence[float]:
        if len(self._arm.values) < n_values:
            raise Error("%s has %d values; this takes at least %d" % (self.name, len(self._arm.values), n_values))
        return self._arm.values

    def __repr__(self) -> str:
        return self._text.rstrip() or "<Benchmark %r with %d launches>" % (self.name, self.get_nvalue())
