"""`Runner`: the benchmarks of a script, with the signatures of pyperf."""
import argparse
import os
import shlex
import stat
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import binary, forks, options
from .benchmarks import Command, Coroutine, Function, TimeFunction, statement
from .interrupts import Interrupts
from .place import new_record_path
from .record import Benchmark, read_arms
from .script import ARGV, FOLDER, SCRIPT


class Runner:
    """Measures benchmarks, each in many processes that run this script anew.

    A script that the user starts is the manager: each `bench_…` call measures, prints the summary and returns a `Benchmark`. In the
    processes that stillwell starts, the calls return None or do not return. A REPL or a notebook has no script to run anew; there the
    processes are forks of this one.

    `values`, `processes`, `loops`, `min_time` (seconds) and `warmups` are defaults of the options of the same name. None leaves the
    value to stillwell. `program_args` replaces the path of the script. `add_cmdline_args(words, args)` adds the script's own options to
    the words; without it, stillwell repeats the whole command line.
    """
    def __init__(
        self,
        values: Optional[int] = None,
        processes: Optional[int] = None,
        loops: int = 0,
        min_time: Optional[float] = None,
        metadata: Optional[Dict[str, Any]] = None,
        show_name: bool = True,
        program_args: Optional[Sequence[str]] = None,
        add_cmdline_args: Optional[Callable[[List[str], argparse.Namespace], None]] = None,
        _argparser: Optional[argparse.ArgumentParser] = None,
        warmups: Optional[int] = None,
    ) -> None:
        self.metadata: Dict[str, Any] = dict(metadata or {})
        self.args: Optional[argparse.Namespace] = None
        self.argparser = options.make_parser() if _argparser is None else _argparser
        self.argparser.set_defaults(values=values, processes=processes, loops=loops, min_time=min_time, warmups=warmups)
        self._program_args, self._add_cmdline_args = program_args, add_cmdline_args
        self._names: List[str] = []

    def parse_args(self, args: Optional[Sequence[str]] = None) -> argparse.Namespace:
        """Reads the options once, from `args` or from the command line. `self.args` has the result, too."""
        if self.args is None:
            self.args = self.argparser.parse_args([] if args is None and _is_interactive() else args)
            self.args.worker = SCRIPT is not None
            output = self.args.output
            if os.getcwd() != FOLDER:
                for name in ("output", "append"):
                    path = getattr(self.args, name)
                    setattr(self.args, name, path and os.path.join(FOLDER, path))
            if output and os.path.exists(os.path.join(FOLDER, output)) and SCRIPT is None:
                self.argparser.error("the file %s of -o exists; remove it, or use --append" % output)
        return self.args

    def bench_func(self, name: str, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Optional[Benchmark]:
        """Measures `func(*args)`. Keywords: `inner_loops`, `metadata`."""
        return self._bench(name, Function(func, args), **_only(kwargs, "inner_loops", "metadata"))

    def bench_time_func(self, name: str, time_func: Callable[..., float], *args: Any, **kwargs: Any) -> Optional[Benchmark]:
        """Measures `time_func(loops, *args)`, which returns seconds. Keywords: `inner_loops`, `metadata`."""
        return self._bench(name, TimeFunction(time_func, args), **_only(kwargs, "inner_loops", "metadata"))

    def bench_async_func(self, name: str, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Optional[Benchmark]:
        """Measures `await func(*args)`. Keywords: `inner_loops`, `metadata`, `loop_factory`."""
        loop_factory = kwargs.pop("loop_factory", None)
        return self._bench(name, Coroutine(func, args, loop_factory), **_only(kwargs, "inner_loops", "metadata"))

    def timeit(
        self,
        name: str,
        stmt: Optional[str] = None,
        setup: str = "pass",
        teardown: str = "pass",
        inner_loops: Optional[int] = None,
        duplicate: Optional[int] = None,
        metadata: Optional[Dict[str, Any]] = None,
        globals: Optional[Dict[str, Any]] = None,
    ) -> Optional[Benchmark]:
        """Measures a statement with the semantics of the standard timeit. The default statement is the name itself."""
        text = name if stmt is None else stmt
        described = {"timeit_stmt": repr(text)}
        if setup != "pass":
            described["timeit_setup"] = repr(setup)
        if teardown != "pass":
            described["timeit_teardown"] = repr(teardown)
        if duplicate:
            described["timeit_duplicate"] = str(duplicate)
            inner_loops = (inner_loops or 1) * duplicate
        described.update(metadata or {})
        return self._bench(name, statement(setup, text, teardown, duplicate, globals), inner_loops, described)

    def bench_command(self, name: str, command: Sequence[str]) -> Optional[Benchmark]:
        """Measures a program from its start to its end. `command` is the list of its words; there is no shell."""
        benchmark = Command(command)
        described = {"command": shlex.join(benchmark.argv)}
        if SCRIPT is not None:
            return self._bench(name, benchmark, None, described)
        self._check_name(name)
        args = self.parse_args()
        if args.tracemalloc:
            self.argparser.error("--tracemalloc is for Python code; of the command %r --track-memory is known" % name)
        words = ["run", "-N", "--command-name", name] + options.to_run_words(args)
        return self._measured(name, words, [shlex.join(benchmark.argv)], described, "memory" if args.track_memory else None)

    def _bench(
        self, name: str, benchmark: Any, inner_loops: Optional[int] = None, metadata: Optional[Dict[str, Any]] = None
    ) -> Optional[Benchmark]:
        args = self.parse_args()
        self._check_name(name)
        described = dict(self.metadata, **(metadata or {}))
        if SCRIPT is not None:
            SCRIPT.offer(name, benchmark, inner_loops, described)
            return None
        words = options.to_words(args)
        program = self._program(args)
        if program is None:
            path = new_record_path()
            forks.measure([(name, benchmark, inner_loops)], words, path)
            if not args.quiet:
                print(binary.output_of(["show", path]), end="")
            return Benchmark(name, read_arms(path)[0], path, metadata=described)
        pythons = [args.compare_to, args.python] if args.compare_to else [args.python]
        commands = [shlex.join([python] + program) for python in pythons]
        return self._measured(name, ["bench", "--benchmark", name] + words, commands, described)

    def _measured(
        self, name: str, words: List[str], commands: List[str], metadata: Dict[str, Any], headline: Optional[str] = None
    ) -> Benchmark:
        """Lets stillwell measure and print. The result is the last arm: the only one, or the one that is not the reference."""
        path = new_record_path()
        forks.flush()  # Else the script's own output follows the summary if the output is a file.
        words = words + ["--record", path]
        with Interrupts() as interrupts:
            # A script and its files are relative to the folder of the start. A command is relative to the folder of now.
            folder = FOLDER if words[0] == "bench" else None
            process = interrupts.process = subprocess.Popen(binary.command(words + ["--"] + commands), cwd=folder)
            binary.check(process.wait(), words, record=path)
        for verb in options.verbs(self.parse_args()):
            print(binary.output_of([verb, path]), end="")
        return Benchmark(name, read_arms(path, headline)[-1], path, metadata=metadata)

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ValueError("a benchmark's name is a text that is not empty, not %r" % (name,))
        if name in self._names:
            raise ValueError("there are two benchmarks with the name %r; give each its own" % name)
        self._names.append(name)

    def _program(self, args: argparse.Namespace) -> Optional[List[str]]:
        """The words after the Python that run this script again. None in a REPL or a notebook."""
        head = [os.fspath(word) for word in self._program_args] if self._program_args else _own_program()
        if head is None:
            return None
        if self._add_cmdline_args is None:
            return head + ARGV[1:]
        self._add_cmdline_args(head, args)
        return head


def _is_interactive() -> bool:
    """Whether this is a REPL or a notebook, which has no script, and whose command line is not the user's."""
    return hasattr(sys, "ps1") or not (hasattr(sys.modules["__main__"], "__file__") or ARGV[0] == "-c")


def _own_program() -> Optional[List[str]]:
    """Python's own options, then the script, `-m MODULE` or `-c CODE`. None if the program cannot be read a second time."""
    if _is_interactive() or ARGV[0] in ("", "-") or _is_pipe(os.path.join(FOLDER, ARGV[0])):
        return None
    n_arguments = len(ARGV) - 1
    if hasattr(sys, "orig_argv"):  # From Python 3.10 on.
        return list(sys.orig_argv[1:len(sys.orig_argv) - n_arguments])
    if ARGV[0] == "-c":
        return None  # Python no longer has the text of the code.
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined] # multiprocessing uses it, too.
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is None:
        return flags + [ARGV[0]]
    module = spec.name[: -len(".__main__")] if spec.name.endswith(".__main__") else spec.name
    return flags + ["-m", module]


def _is_pipe(path: str) -> bool:
    """Whether the path is a pipe, such as the /dev/fd/63 of a shell's `<(…)`."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _only(given: Dict[str, Any], *names: str) -> Dict[str, Any]:
    """The keywords. TypeError for an unknown one, as from a signature: the arguments of the functions take all the positions."""
    for name in given:
        if name not in names:
            raise TypeError("unexpected keyword argument %r; there are %s" % (name, ", ".join(names)))
    return given
