"""`BenchmarkSuite`: the benchmarks of a file."""
import os
from typing import Any, Iterator, List, Optional, Sequence, Union

from . import files
from .benchmark import Benchmark, Dates
from .run import Metadata, common


class BenchmarkSuite:
    """Benchmarks with different names. `filename` is the file from which they were loaded."""

    def __init__(self, benchmarks: Sequence[Benchmark], filename: Optional[str] = None) -> None:
        if not benchmarks:
            raise ValueError("a suite has at least one benchmark")
        self.filename = filename
        self._benchmarks: List[Benchmark] = []
        for benchmark in benchmarks:
            self.add_benchmark(benchmark)

    def add_benchmark(self, benchmark: Benchmark) -> None:
        if not isinstance(benchmark, Benchmark):
            raise TypeError("a benchmark is a Benchmark, not %r" % (benchmark,))
        if benchmark.get_name() in self.get_benchmark_names():
            raise ValueError("there are two benchmarks with the name %r" % benchmark.get_name())
        self._benchmarks.append(benchmark)

    def add_runs(self, result: Union[Benchmark, "BenchmarkSuite"]) -> None:
        """Adds runs to the benchmarks of the same names, and benchmarks with new names."""
        if not isinstance(result, (Benchmark, BenchmarkSuite)):
            raise TypeError("runs are added from a Benchmark or a BenchmarkSuite, not from %r" % (result,))
        for benchmark in result if isinstance(result, BenchmarkSuite) else [result]:
            if benchmark.get_name() in self.get_benchmark_names():
                self.get_benchmark(benchmark.get_name()).add_runs(benchmark)
            else:
                self.add_benchmark(benchmark)

    def get_benchmark(self, name: str) -> Benchmark:
        """The benchmark with this name. KeyError if there is none."""
        if not isinstance(name, str) or not name:
            raise ValueError("a name is a text that is not empty, not %r" % (name,))
        for benchmark in self._benchmarks:
            if benchmark.get_name() == name:
                return benchmark
        raise KeyError("there is no benchmark %r" % name)

    def get_benchmark_names(self) -> List[str]:
        return [benchmark.get_name() for benchmark in self._benchmarks]

    def get_benchmarks(self) -> List[Benchmark]:
        return list(self._benchmarks)

    def get_metadata(self) -> Metadata:
        """The metadata that all benchmarks share."""
        return common([benchmark.get_metadata() for benchmark in self._benchmarks])

    def get_dates(self) -> Optional[Dates]:
        spans = [dates for dates in (benchmark.get_dates() for benchmark in self._benchmarks) if dates is not None]
        return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None

    def get_total_duration(self) -> float:
        return sum(benchmark.get_total_duration() for benchmark in self._benchmarks)

    @classmethod
    def load(cls, file: Any) -> "BenchmarkSuite":
        """The benchmarks in a file: its name, `-` for standard input, or an open text file."""
        name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
        return cls([Benchmark(runs) for runs in files.read(file)], name)

    @classmethod
    def loads(cls, string: str) -> "BenchmarkSuite":
        return cls([Benchmark(runs) for runs in files.parse(string)])

    def dump(self, file: Any, compact: bool = True, replace: bool = False) -> None:
        """Writes the benchmarks to a new file or an open text file. With `replace`, the file may exist."""
        files.write(file, [benchmark.get_runs() for benchmark in self._benchmarks], compact, replace)

    def __iter__(self) -> Iterator[Benchmark]:
        return iter(self._benchmarks)

    def __len__(self) -> int:
        return len(self._benchmarks)

    def __repr__(self) -> str:
        return "<BenchmarkSuite with %d benchmarks>" % len(self._benchmarks)


def add_runs(filename: str, result: Union[Benchmark, BenchmarkSuite]) -> None:
    """Adds runs to the benchmarks of a file. Makes the file if it does not exist."""
    if os.path.exists(filename):
        suite = BenchmarkSuite.load(filename)
        suite.add_runs(result)
    else:
        suite = result if isinstance(result, BenchmarkSuite) else BenchmarkSuite([result])
    suite.dump(filename, replace=True)
