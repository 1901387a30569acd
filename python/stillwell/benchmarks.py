"""The kinds of benchmarks: functions, coroutine functions and commands, besides `worker.Statement`.

Each has `measure(loops, wall, cpu)`. It runs the code `loops` times and returns the differences of the two clocks, in their units.
"""
import asyncio
import functools
import os
import resource
import subprocess
import sys
from typing import Any, Awaitable, Callable, Dict, List, Optional, Sequence, Tuple

from . import worker

Clock = Callable[[], int]
Times = Tuple[int, int]

NS_PER_SECOND = 1_000_000_000


def python_implementation() -> str:
    """Name of the implementation in lower case: `cpython`, `pypy`, …"""
    return sys.implementation.name.lower()


def python_has_jit() -> bool:
    """Whether this Python may compile a benchmark while it runs. Such a benchmark needs a warm-up."""
    return worker.has_jit()


class Function:
    """A function with one call for each loop."""

    timer = None

    def __init__(self, function: Callable[..., Any], args: Sequence[Any] = ()) -> None:
        if not callable(function):
            raise TypeError("a benchmark is a function, not %r" % (function,))
        # A call of a partial takes less time than unpacking the arguments in each call.
        self.function = functools.partial(function, *args) if args else function

    def measure(self, loops: int, wall: Clock, cpu: Clock) -> Times:
        function, numbers = self.function, range(loops)
        cpu_0 = cpu()
        wall_0 = wall()
        for _ in numbers:
            function()
        wall_1 = wall()
        return wall_1 - wall_0, cpu() - cpu_0


class TimeFunction:
    """A function that takes the number of loops first, and returns the seconds that they took."""

    timer = "own"

    def __init__(self, function: Callable[..., float], args: Sequence[Any] = ()) -> None:
        if not callable(function):
            raise TypeError("a benchmark is a function, not %r" % (function,))
        self.function, self.args = function, args

    def measure(self, loops: int, wall: Clock, cpu: Clock) -> Times:
        cpu_0 = cpu()
        seconds = self.function(loops, *self.args)
        cpu_1 = cpu()
        if not 0 <= seconds < float("inf"):  # Also true for NaN.
            raise ValueError("the function returned %r; it must return the seconds that %d loops took" % (seconds, loops))
        return round(seconds * NS_PER_SECOND), cpu_1 - cpu_0


class Coroutine:
    """A coroutine function that is awaited once for each loop. Each measurement has an event loop of its own."""

    timer = None

    def __init__(
        self,
        function: Callable[..., Awaitable[Any]],
        args: Sequence[Any] = (),
        loop_factory: Optional[Callable[[], asyncio.AbstractEventLoop]] = None,
    ) -> None:
        if not callable(function):
            raise TypeError("a benchmark is a coroutine function, not %r" % (function,))
        self.function = functools.partial(function, *args) if args else function
        self.loop_factory = loop_factory

    def measure(self, loops: int, wall: Clock, cpu: Clock) -> Times:
        async def all_loops() -> Times:
            function, numbers = self.function, range(loops)
            cpu_0 = cpu()
            wall_0 = wall()
            for _ in numbers:
                await function()
            wall_1 = wall()
            return wall_1 - wall_0, cpu() - cpu_0

        if self.loop_factory is None:
            return asyncio.run(all_loops())
        if sys.version_info >= (3, 12):
            return asyncio.run(all_loops(), loop_factory=self.loop_factory)
        loop = self.loop_factory()
        try:
            asyncio.set_event_loop(loop)
            times = loop.run_until_complete(all_loops())
            loop.run_until_complete(loop.shutdown_asyncgens())
            return times
        finally:
            asyncio.set_event_loop(None)
            loop.close()


class Command:
    """A program with one run for each loop. The CPU time is that of the children."""

    timer = None

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv: List[str] = [os.fspath(word) for word in argv]
        if isinstance(argv, (str, bytes)) or not self.argv:
            raise TypeError("a command is a list of words, the program first, not %r" % (argv,))

    def measure(self, loops: int, wall: Clock, cpu: Clock) -> Times:
        def children_cpu_ns() -> int:
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            return round((used.ru_utime + used.ru_stime) * NS_PER_SECOND)

        argv, null, numbers = self.argv, subprocess.DEVNULL, range(loops)
        cpu_0 = children_cpu_ns()
        wall_0 = wall()
        for _ in numbers:
            status = subprocess.Popen(argv, stdin=null, stdout=null, stderr=null).wait()
            if status != 0:
                raise RuntimeError("%s ended with status %d" % (" ".join(argv), status))
        wall_1 = wall()
        return wall_1 - wall_0, children_cpu_ns() - cpu_0


def statement(setup: str, stmt: str, teardown: str, duplicate: Optional[int], namespace: Optional[Dict[str, Any]]) -> worker.Statement:
    """A statement with the semantics of the standard timeit. Raises SyntaxError if a part is not valid Python."""
    sources = {"setup": setup, "statement": stmt, "teardown": teardown}
    for part, source in sources.items():
        if not isinstance(source, str):
            raise TypeError("the %s is a text, not %r" % (part, source))
    fresh = {"__name__": "__main__", "__builtins__": __builtins__}
    return worker.Statement(sources, duplicate or 1, fresh if namespace is None else namespace)
