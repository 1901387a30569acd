"""Hooks: context managers around each measurement, such as profilers. Other packages add theirs as entry points of `pyperf.hook`."""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from contextlib import ExitStack
from importlib import metadata as packages
from typing import Any, Callable, Dict, List, Optional, Sequence, Type, Union

GROUP = "pyperf.hook"
# Key of the metadata with the keys whose values are numbers, separated by spaces.
NUMBERS = "pyperf_numbers"


class HookError(Exception):
    """A hook that does not work here."""


class HookBase:
    """A hook. Each process makes one, enters it for each measurement, and calls `teardown` after the last one."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        pass

    def teardown(self, metadata: Dict[str, Any]) -> None:
        """May add entries to the metadata of the process."""


class pystats(HookBase):
    """Counts of the specialising interpreter. They need a Python that was built with --enable-pystats."""

    def __init__(self) -> None:
        self._on: Optional[Callable[[], None]] = getattr(sys, "_stats_on", None)
        self._off: Callable[[], None] = getattr(sys, "_stats_off", lambda: None)
        if self._on is None:
            raise HookError("the hook pystats needs a Python that was built with --enable-pystats; %s was not" % sys.executable)
        self._off()

    def __enter__(self) -> Any:
        assert self._on is not None
        self._on()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._off()


class perf_record(HookBase):
    """`perf record` of this process, switched on for the measurements (perf-record(1), --control). Each process writes one file."""

    def __init__(self) -> None:
        if shutil.which("perf") is None:
            raise HookError("the hook perf_record needs the program perf, which is not in $PATH; install it")
        folder = os.environ.get("PYPERF_PERF_RECORD_DATA_DIR", "")
        self.path = os.path.join(folder, "perf.data.%s" % uuid.uuid4())
        self._folder = tempfile.TemporaryDirectory()
        control, answer = (os.path.join(self._folder.name, name) for name in ("control", "answer"))
        os.mkfifo(control)
        os.mkfifo(answer)
        words = ["perf", "record", "--pid=%d" % os.getpid(), "--delay=-1", "--output=" + self.path, "--control=fifo:%s,%s" % (control, answer)]
        words += shlex.split(os.environ.get("PYPERF_PERF_RECORD_EXTRA_OPTS", ""))
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        # Opened for reading and writing: an open for one of them waits for the other end, which perf may never open.
        self._control, self._answer = os.open(control, os.O_RDWR), os.open(answer, os.O_RDWR)

    def _ask(self, command: str) -> None:
        os.write(self._control, command.encode() + b"\n")
        if self._process.poll() is not None:
            raise HookError("perf record ended with status %d" % self._process.returncode)
        os.read(self._answer, 16)  # `ack`

    def __enter__(self) -> Any:
        self._ask("enable")

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._ask("disable")

    def teardown(self, metadata: Dict[str, Any]) -> None:
        os.write(self._control, b"stop\n")
        self._process.wait()
        os.close(self._control)
        os.close(self._answer)
        self._folder.cleanup()


BUILT_IN: Dict[str, Type[Any]] = {"perf_record": perf_record, "pystats": pystats}


def _entry_points() -> Dict[str, Any]:
    found: Any = packages.entry_points()
    chosen = found.select(group=GROUP) if hasattr(found, "select") else found.get(GROUP, [])  # Python 3.8 and 3.9 return a dict.
    return {point.name: point for point in chosen}


def get_hook_names() -> List[str]:
    return sorted(set(BUILT_IN) | set(_entry_points()))


def _hook_class(hook: Union[str, Callable[[], Any]]) -> Callable[[], Any]:
    if not isinstance(hook, str):
        return hook
    if hook in BUILT_IN:
        return BUILT_IN[hook]
    point = _entry_points().get(hook)
    if point is None:
        raise HookError("there is no hook %r; there are %s" % (hook, ", ".join(get_hook_names())))
    loaded: Callable[[], Any] = point.load()
    return loaded


def name_of(hook: Any) -> str:
    return hook if isinstance(hook, str) else str(getattr(hook, "__name__", hook))


def instantiate_selected_hooks(hooks: Sequence[Union[str, Callable[[], Any]]]) -> Dict[str, Any]:
    """The hooks by name. Raises HookError if one does not work here."""
    return {name_of(hook): _hook_class(hook)() for hook in hooks}


class Hooked:
    """A benchmark with hooks around each measurement, warm-ups too. The hooks are made with the first one."""

    def __init__(self, benchmark: Any, hooks: Sequence[Union[str, Callable[[], Any]]]) -> None:
        self.benchmark, self._given = benchmark, hooks
        self.timer = getattr(benchmark, "timer", None)
        self._hooks: Optional[Dict[str, Any]] = None

    def _around(self, call: Callable[..., Any], *args: Any) -> Any:
        if self._hooks is None:
            self._hooks = instantiate_selected_hooks(self._given)
        with ExitStack() as stack:
            for hook in self._hooks.values():
                stack.enter_context(hook)
            return call(*args)

    def measure(self, loops: int, wall: Any, cpu: Any) -> Any:
        return self._around(self.benchmark.measure, loops, wall, cpu)

    def seconds(self, loops: int) -> float:
        return float(self._around(self.benchmark.seconds, loops))

    def where(self, traceback: Any) -> str:
        find = getattr(self.benchmark, "where", None)
        return str(find(traceback)) if find is not None else ""

    def finish(self, metadata: Dict[str, Any]) -> None:
        """Ends the hooks, after the last measurement. They may add metadata."""
        own = getattr(self.benchmark, "finish", None)
        if own is not None:
            own(metadata)
        hooks, self._hooks = self._hooks or {}, {}
        for hook in hooks.values():
            hook.teardown(metadata)
        if hooks:
            # A worker's metadata are texts; the front end makes numbers of these again.
            metadata[NUMBERS] = " ".join(key for key, value in metadata.items() if isinstance(value, (int, float)))
            metadata["hooks"] = ", ".join(sorted(hooks))


class Profile(HookBase):
    """A profile of the measured code, added to a file that the processes of a benchmark share."""

    def __init__(self, path: str) -> None:
        import cProfile

        self.path, self.profile = path, cProfile.Profile()

    def __enter__(self) -> Any:
        self.profile.enable()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.profile.disable()

    def teardown(self, metadata: Dict[str, Any]) -> None:
        import fcntl
        import pstats

        stats = pstats.Stats(self.profile)
        # Two processes may end at the same time.
        with open(self.path + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(self.path) and os.path.getsize(self.path):
                stats.add(self.path)
            stats.dump_stats(self.path)
