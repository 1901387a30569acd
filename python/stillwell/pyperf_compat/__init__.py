"""The interface of pyperf 2.10 on the measurements of Stillwell. It can be imported as `pyperf`.

    PYTHONPATH=$(python -m stillwell.pyperf_compat path) python script.py -o results.json

docs/from-pyperf.md says what differs.
"""
from time import perf_counter

from ..benchmarks import python_has_jit, python_implementation
from .benchmark import Benchmark
from .report import VERSION as VERSION_TEXT
from .run import Run
from .runner import Runner
from .suite import BenchmarkSuite, add_runs
from .values import format_metadata

__version__ = VERSION_TEXT
VERSION = tuple(map(int, VERSION_TEXT.split(".")))
__all__ = [
    "Benchmark", "BenchmarkSuite", "Run", "Runner", "VERSION", "add_runs", "format_metadata", "perf_counter", "python_has_jit",
    "python_implementation"]
