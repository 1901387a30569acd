"""Stillwell in Python: benchmarks that give the same, true timing on a busy machine as on an idle one.

`Runner` is for scripts; `import stillwell as pyperf` makes a stillwell script of a pyperf script. `compare` and `timeit` are for a REPL,
a notebook or a test. This package is a front end of the program `stillwell`, which measures and computes the statistics.
"""
from time import perf_counter

from .benchmarks import python_has_jit, python_implementation
from .binary import Error
from .comparison import Comparison, compare, timeit
from .record import Benchmark
from .runner import Runner

__all__ = ["Benchmark", "Comparison", "Error", "Runner", "compare", "perf_counter", "python_has_jit", "python_implementation", "timeit"]
__version__ = "0.1.0"
