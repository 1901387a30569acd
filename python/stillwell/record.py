"""Reads a record's rows (docs/format.md) into the values of its launches."""
import json
import statistics
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .binary import Error

Columns = Dict[str, int]


class Arm(NamedTuple):
    """One compared thing of a record."""

    name: str
    values: List[float]  # Seconds per loop, one for each launch (process), in the order of execution.
    loops: int  # Loops of one slice, at most.
    inner_loops: int


class _Launch:
    def __init__(self, arm: int) -> None:
        self.arm, self.wall_ns, self.loops = arm, 0, 0


def read_arms(path: str) -> List[Arm]:
    """The arms of a record, in its order. Raises `Error` if it is none, or of a later version."""
    with open(path, encoding="utf-8") as lines:
        header = _parse(path, 1, lines.readline())
        if not isinstance(header, dict) or header.get("format") != "stillwell" or header.get("version") != 1:
            raise Error("%s is not a record that this version of stillwell reads; update the Python package" % path)
        columns = {name: place for place, name in enumerate(header["columns"])}
        launches: Dict[Tuple[int, int], _Launch] = {}
        loops_max = [1] * len(header["plan"]["arms"])
        for number, line in enumerate(lines, 2):
            if not line.endswith("\n"):  # Torn by a kill; the format allows it at the end only.
                break
            row = _parse(path, number, line)
            if isinstance(row, list):
                _add(row, columns, launches, loops_max)
    return _arms(header["plan"]["arms"], launches.values(), loops_max)


def _parse(path: str, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise Error("%s, line %d: not a record of stillwell (%s)" % (path, number, error)) from None


def _add(row: List[Any], columns: Columns, launches: Dict[Tuple[int, int], _Launch], loops_max: List[int]) -> None:
    def cell(name: str) -> Any:
        return row[columns[name]] if name in columns else None

    if cell("block") is None or cell("timed_out") or cell("wall_ns") is None:  # A warm-up, or without a time.
        return
    loops = cell("loops") or 1
    # Each block has one launch of each arm, with a row for each of its slices.
    launch = launches.setdefault((cell("arm"), cell("block")), _Launch(cell("arm")))
    launch.wall_ns += cell("wall_ns")
    launch.loops += loops
    loops_max[launch.arm] = max(loops_max[launch.arm], loops)


def _arms(planned: List[Dict[str, Any]], launches: Any, loops_max: List[int]) -> List[Arm]:
    found = []
    for index, plan in enumerate(planned):
        inner_loops = plan.get("inner_loops") or 1
        values = [launch.wall_ns / launch.loops / inner_loops * 1e-9 for launch in launches if launch.arm == index]
        found.append(Arm(plan.get("name") or plan.get("command") or str(index + 1), values, loops_max[index], inner_loops))
    return found


class Benchmark:
    """A measured benchmark. Values are seconds per loop, one for each launch: launches are the units that vary independently."""

    def __init__(self, name: str, arm: Arm, record: str, text: str = "", metadata: Optional[Dict[str, Any]] = None) -> None:
        self.name, self.record, self._arm, self._text = name, record, arm, text
        self._metadata = dict(metadata or {}, name=name)

    def get_name(self) -> str:
        return self.name

    def get_values(self) -> Tuple[float, ...]:
        """Seconds per loop of each launch, in the order of execution."""
        return tuple(self._arm.values)

    def get_metadata(self) -> Dict[str, Any]:
        """What the script said of it. The facts of the machine are in the record."""
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

    def get_unit(self) -> str:
        return "second"

    def mean(self) -> float:
        return statistics.fmean(self._at_least(1))

    def median(self) -> float:
        return statistics.median(self._at_least(1))

    def stdev(self) -> float:
        """Standard deviation of the launches (n - 1). Raises `Error` for a single one."""
        return statistics.stdev(self._at_least(2))

    def median_abs_dev(self) -> float:
        """Median distance from the median, not scaled."""
        middle = self.median()
        return statistics.median(abs(value - middle) for value in self._arm.values)

    def _at_least(self, n_values: int) -> List[float]:
        if len(self._arm.values) < n_values:
            raise Error("%s has %d values; this takes at least %d" % (self.name, len(self._arm.values), n_values))
        return self._arm.values

    def __repr__(self) -> str:
        return self._text.rstrip() or "<Benchmark %r with %d launches>" % (self.name, self.get_nvalue())
