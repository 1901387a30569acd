"""The kinds of benchmarks: functions, coroutine functions and commands, besides `worker.Statement`.

Each has `measure(loops, wall, cpu)`. It runs the code `loops` times and returns the differences of the two clocks, in their units.
"""
import asyncio
import functools
import inspect
import os
import resource
import subprocess
import sys
import threading
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


class Prepared:
    """A function that a process prepares once, before its first measurement, and cleans up after its last one.

    What `setup` returns is the first argument of the function and of `teardown`, unless it is None. `keywords` go to the function and to
    `setup`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        setup: Optional[Callable[..., Any]] = None,
        teardown: Optional[Callable[..., Any]] = None,
        keywords: Optional[Dict[str, Any]] = None,
    ) -> None:
        for what, one in (("benchmark", function), ("setup", setup), ("teardown", teardown)):
            if not callable(one) and (one is not None or what == "benchmark"):
                raise TypeError("a %s is a function, not %r" % (what, one))
        self._given, self._setup, self._teardown = (function, tuple(args), keywords or {}), setup, teardown
        self._is_ready = False
        self._made: Tuple[Any, ...] = ()
        if setup is None:
            self._bind()

    def _bind(self) -> None:
        function, args, keywords = self._given
        # A call of a partial takes less time than unpacking the arguments in each call.
        is_bare = not (self._made or args or keywords)
        self.function = function if is_bare else functools.partial(function, *self._made, *args, **keywords)

    def _prepare(self) -> None:
        if self._is_ready:
            return
        self._is_ready = True
        if self._setup is not None:
            made = self._called(self._setup, **self._given[2])
            self._made = () if made is None else (made,)
            self._bind()

    def finish(self, metadata: Dict[str, Any]) -> None:
        """Cleans up, if there was a measurement."""
        if self._is_ready and self._teardown is not None:
            teardown, self._teardown = self._teardown, None
            self._called(teardown, *self._made)

    def _called(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        result = function(*args, **keywords)
        if asyncio.iscoroutine(result):
            result.close()
            raise TypeError("%r is a coroutine function; only bench_async_func awaits setup and teardown" % function)
        return result


class Function(Prepared):
    """A function with one call for each loop."""

    timer = None

    def measure(self, loops: int, wall: Clock, cpu: Clock) -> Times:
        self._prepare()
        function, numbers = self.function, range(loops)
        cpu_0 = cpu()
        wall_0 = wall()
        for _ in numbers:
            function()
        wall_1 = wall()
        return wall_1 - wall_0, cpu() - cpu_0


class Threads(Prepared):
    """A function that several threads call at the same time, each of them once for each loop.

    The time is from the first call of any thread to the end of the last one. It is divided by the calls of all threads (inner loops).
    """

    timer = None

    def __init__(self, n_threads: int, *given: Any) -> None:
        super().__init__(*given)
        self.n_threads = n_threads

    def measure(self, loops: int, wall: Clock, cpu: Clock) -> Times:
        self._prepare()
        function = self.function
        spans: List[Times] = []
        errors: List[BaseException] = []
        together = threading.Barrier(self.n_threads)

        def call() -> None:
            numbers = range(loops)
            try:
                together.wait()
                begin = wall()
                for _ in numbers:
                    function()
                spans.append((begin, wall()))
            except BaseException as error:
                errors.append(error)

        # Threads are made before the clock is read: how long that takes is no part of the function.
        threads = [threading.Thread(target=call) for _ in range(self.n_threads)]
        cpu_0 = cpu()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return max(end for _, end in spans) - min(begin for begin, _ in spans), cpu() - cpu_0


class TimeFunction(Prepared):
    """A function that takes the number of loops first, and returns the seconds that they took."""

    timer = "own"

    def _bind(self) -> None:
        self.function = self._given[0]

    def measure(self, loops: int, wall: Clock, cpu: Clock) -> Times:
        self._prepare()
        cpu_0 = cpu()
        seconds = self.seconds(loops)
        return round(seconds * NS_PER_SECOND), cpu() - cpu_0

    def seconds(self, loops: int) -> float:
        self._prepare()
        _, args, keywords = self._given
        seconds: float = self.function(loops, *self._made, *args, **keywords)
        if not (hasattr(seconds, "__float__") and 0 <= seconds < float("inf")):  # Also true for NaN, and for None of a forgotten `return`.
            raise ValueError("the function returned %r; it must return the seconds that %d loops took" % (seconds, loops))
        return seconds


class Coroutine(Prepared):
    """A coroutine function that is awaited once for each loop.

    Each measurement has an event loop of its own. With a `setup` or `teardown`, which may be coroutine functions, all measurements of a
    process share one: what `setup` opens, such as a connection, belongs to its loop.
    """

    timer = None

    def __init__(
        self,
        function: Callable[..., Awaitable[Any]],
        args: Sequence[Any] = (),
        loop_factory: Optional[Callable[[], asyncio.AbstractEventLoop]] = None,
        *prepared: Any
    ) -> None:
        self.loop_factory = loop_factory
        super().__init__(function, args, *prepared)
        self._shares_loop = self._setup is not None or self._teardown is not None
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def _shared_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = (self.loop_factory or asyncio.new_event_loop)()
            asyncio.set_event_loop(self._loop)
        return self._loop

    def _called(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        async def call() -> Any:
            result = function(*args, **keywords)
            return await result if asyncio.iscoroutine(result) else result

        return self._shared_loop().run_until_complete(call())

    def finish(self, metadata: Dict[str, Any]) -> None:
        super().finish(metadata)
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            asyncio.set_event_loop(None)
            self._loop.close()
            self._loop = None

    def measure(self, loops: int, wall: Clock, cpu: Clock) -> Times:
        self._prepare()

        async def all_loops() -> Times:
            function, numbers = self.function, range(loops)
            cpu_0 = cpu()
            wall_0 = wall()
            for _ in numbers:
                await function()
            wall_1 = wall()
            return wall_1 - wall_0, cpu() - cpu_0

        if self._shares_loop:
            return self._shared_loop().run_until_complete(all_loops())
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


def of_function(function: Callable[..., Any], args: Sequence[Any] = ()) -> Any:
    return (Coroutine if inspect.iscoroutinefunction(function) else Function)(function, args)


def statement(setup: str, stmt: str, teardown: str, duplicate: Optional[int], namespace: Optional[Dict[str, Any]]) -> worker.Statement:
    """A statement with the semantics of the standard timeit. Raises SyntaxError if a part is not valid Python."""
    sources = {"setup": setup, "statement": stmt, "teardown": teardown}
    for part, source in sources.items():
        if not isinstance(source, str):
            raise TypeError("the %s is a text, not %r" % (part, source))
    fresh = {"__name__": "__main__", "__builtins__": __builtins__}
    return worker.Statement(sources, duplicate or 1, fresh if namespace is None else namespace)
