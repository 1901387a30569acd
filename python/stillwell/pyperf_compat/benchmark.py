"""`Benchmark`: the runs of one benchmark, and their statistics."""
import datetime
import math
import statistics
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from ..record import Values
from . import files, values
from .run import Metadata, Number, Run, common

# Runs that differ in one of these are not of the same benchmark.
SAME_IN_ALL_RUNS = (
    "aslr", "cpu_count", "cpu_model_name", "hostname", "inner_loops", "name", "platform", "python_executable", "python_implementation",
    "python_unicode", "python_version", "unit")
KEPT = ("name", "unit")
Dates = Tuple[datetime.datetime, datetime.datetime]


def mean_or_int(numbers: Sequence[int]) -> Union[int, float]:
    """The number if all are the same, else their mean."""
    return numbers[0] if len(set(numbers)) == 1 else statistics.mean(map(float, numbers))


class Benchmark(Values):
    """The runs of one benchmark. `runs` is a sequence of `Run` that is not empty."""

    def __init__(self, runs: Sequence[Run]) -> None:
        if not runs:
            raise ValueError("a benchmark has at least one run")
        self._runs: List[Run] = []
        for run in runs:
            self.add_run(run)

    def add_run(self, run: Run) -> None:
        if not isinstance(run, Run):
            raise TypeError("a run is a Run, not %r" % (run,))
        new = run.get_metadata()
        if "name" not in new:
            raise ValueError("a run of a benchmark has a name in its metadata")
        known = self._runs[0].get_metadata() if self._runs else new
        for key in SAME_IN_ALL_RUNS:
            if known.get(key) != new.get(key):
                raise ValueError("%s of the new run is %r, and %r in the others; they are not of one benchmark" % (
                    key, new.get(key), known.get(key)))
        self._runs.append(run)

    def add_runs(self, benchmark: "Benchmark") -> None:
        if not isinstance(benchmark, Benchmark):
            raise TypeError("runs are added from a Benchmark, not from %r" % (benchmark,))
        for run in benchmark._runs:
            self.add_run(run)

    def get_name(self) -> str:
        return str(self._runs[0].get_metadata()["name"])

    def get_runs(self) -> List[Run]:
        return list(self._runs)

    def get_values(self) -> Tuple[Number, ...]:
        return tuple(value for run in self._runs for value in run.values)

    def get_nrun(self) -> int:
        return len(self._runs)

    def get_nvalue(self) -> int:
        return sum(len(run.values) for run in self._runs)

    def get_nwarmup(self) -> Union[int, float]:
        """Warm-ups of each run; their mean if they differ."""
        return mean_or_int([len(run.warmups) for run in self._measured()])

    _get_nwarmup = get_nwarmup

    def _get_nvalue_per_run(self) -> Union[int, float]:
        return mean_or_int([len(run.values) for run in self._measured()])

    def _measured(self) -> List[Run]:
        """The runs with values. A benchmark of nothing but calibrations has only those."""
        return [run for run in self._runs if run.values] or self._runs

    def get_loops(self) -> Union[int, float]:
        return self._loops(Run.get_loops)

    def get_inner_loops(self) -> Union[int, float]:
        return self._loops(Run.get_inner_loops)

    def get_total_loops(self) -> Union[int, float]:
        return self._loops(Run.get_total_loops)

    def _loops(self, of_run: Callable[[Run], int]) -> Union[int, float]:
        return mean_or_int([of_run(run) for run in self._measured()])

    def get_unit(self) -> str:
        return str(self._runs[0].get_metadata().get("unit", "second"))

    def get_metadata(self) -> Metadata:
        """The metadata that all runs share."""
        return common([run.get_metadata() for run in self._runs])

    def update_metadata(self, metadata: Metadata) -> None:
        for run in self._runs:
            own = run.get_metadata()
            if "inner_loops" in metadata and own.get("inner_loops", metadata["inner_loops"]) != metadata["inner_loops"]:
                raise ValueError("inner_loops is %r and cannot become %r: the values are for one inner loop" % (
                    own["inner_loops"], metadata["inner_loops"]))
        self._runs = [run.with_metadata(dict(run.get_metadata(), **metadata)) for run in self._runs]

    def get_dates(self) -> Optional[Dates]:
        """The start of the first run and the end of the last one."""
        spans = []
        for run in self._runs:
            date = run._get_date()
            if date is not None:
                start = datetime.datetime.fromisoformat(date)
                seconds = float(run.get_metadata().get("duration", 0))
                spans.append((start, start + datetime.timedelta(seconds=seconds)))
        return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None

    def get_total_duration(self) -> float:
        return math.fsum(run.duration() for run in self._runs)

    def percentile(self, p: float) -> float:
        """The p-th percentile, 0 to 100, linear between the two values around it."""
        if not 0 <= p <= 100:
            raise ValueError("a percentile is from 0 to 100, not %r" % (p,))
        ordered = sorted(self._at_least(1))
        place = (len(ordered) - 1) * p / 100
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

    def required_nprocesses(self) -> int:
        """Processes after which the mean is known to 1 % in 95 % of cases, by the standard deviation of the means of the processes."""
        means = [statistics.mean(run.values) for run in self._runs if run.values]
        if len(means) < 2:
            raise ValueError("%s has %d processes with values; this takes at least 2" % (self.get_name(), len(means)))
        relative = statistics.stdev(means) / statistics.mean(means)
        return math.ceil(4 * 1.96**2 * relative**2 / 0.01**2)

    def _at_least(self, n_values: int) -> Tuple[Number, ...]:
        found = self.get_values()
        if len(found) < n_values:
            raise ValueError("%s has %d values; this takes at least %d" % (self.get_name(), len(found), n_values))
        return found

    def format_value(self, value: Number) -> str:
        return values.of_unit(self.get_unit(), [value])[0]

    def format_values(self, numbers: Sequence[Number]) -> Tuple[str, ...]:
        """The values as text, all in the unit of the first one."""
        return values.of_unit(self.get_unit(), numbers)

    def _get_raw_values(self, warmups: bool = False) -> List[float]:
        return [value for run in self._runs for value in run._get_raw_values(warmups)]

    def _extract_metadata(self, name: str) -> None:
        """Replaces the values by an entry of the metadata."""
        found = []
        for run in self._runs:
            value = run.get_metadata().get(name)
            if not isinstance(value, (int, float)):
                raise ValueError("%s of a run of %s is %r, which is not a number" % (name, self.get_name(), value))
            kept = dict(run.get_metadata(), unit=values.unit_of(name, value))
            found.append(Run([value], metadata=kept, collect_metadata=False))
        self._runs = found

    def _remove_all_metadata(self) -> None:
        for place, run in enumerate(self._runs):
            kept = {key: value for key, value in run.get_metadata().items() if key in KEPT}
            self._runs[place] = run.with_metadata(kept)

    @classmethod
    def load(cls, file: Any) -> "Benchmark":
        """The benchmark in a file: its name, `-` for standard input, or an open text file. ValueError if there are several."""
        return cls._only(files.read(file))

    @classmethod
    def loads(cls, string: str) -> "Benchmark":
        return cls._only(files.parse(string))

    @classmethod
    def _only(cls, found: List[List[Run]]) -> "Benchmark":
        if len(found) != 1:
            raise ValueError("there are %d benchmarks; BenchmarkSuite reads several" % len(found))
        return cls(found[0])

    def dump(self, file: Any, compact: bool = True, replace: bool = False) -> None:
        """Writes the benchmark to a new file or an open text file. With `replace`, the file may exist."""
        files.write(file, [self._runs], compact, replace)

    def __repr__(self) -> str:
        return "<Benchmark %r with %d runs>" % (self.get_name(), len(self._runs))
