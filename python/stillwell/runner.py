"""`Runner`: the benchmarks of a script, with the signatures of pyperf."""
import argparse
import os
import shlex
import stat
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import binary, forks, options, variants
from .benchmarks import Command, Coroutine, Function, Threads, TimeFunction, statement
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
        self._session_words: List[str] = []  # Further options of the next benchmarks.

    def parse_args(self, args: Optional[Sequence[str]] = None) -> argparse.Namespace:
        """Reads the options once, from `args` or from the command line. `self.args` has the result, too."""
        if self.args is None:
            self.args = self._read_words(args)
            self.args.worker = SCRIPT is not None
            output = self.args.output
            self._check_files()
            if os.getcwd() != FOLDER:
                for name in ("output", "append"):
                    path = getattr(self.args, name)
                    setattr(self.args, name, path and os.path.join(FOLDER, path))
            if output and os.path.exists(os.path.join(FOLDER, output)) and SCRIPT is None:
                self.argparser.error("the file %s of -o exists; remove it, or use --append" % output)
        return self.args

    def _check_files(self) -> None:
        """Refuses what could not be written after the measurement, in the words of the script's own options."""
        for name in ("output", "append") if SCRIPT is None else ():
            path = getattr(self.args, name)
            folder = os.path.dirname(os.path.join(FOLDER, path or ""))
            if path and not os.path.isdir(folder):
                self.argparser.error("--%s %s: there is no directory %s" % (name, path, folder))
            if name == "append" and path and os.path.isfile(os.path.join(FOLDER, path)):
                from .pyperf_compat.suite import BenchmarkSuite

                try:
                    BenchmarkSuite.load(os.path.join(FOLDER, path))
                except Exception as error:  # Such as a missing key of its JSON.
                    self.argparser.error("--append %s: name a new file, or one of pyperf's: %s" % (path, error))

    def _read_words(self, args: Optional[Sequence[str]]) -> argparse.Namespace:
        return self.argparser.parse_args([] if args is None and _is_interactive() else args)

    def bench_func(self, name: str, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Measures `func(*args)`. Keywords: `inner_loops`, `metadata`, `setup`, `teardown`, `parameters`.

        Each process calls `setup` once, before its first measurement, and `teardown` after its last one. What `setup` returns is the first
        argument of `func` and of `teardown`, unless it is None. `parameters={"n": [10, 1000]}` makes a benchmark for each value, and
        returns a list: the function and `setup` get `n=10`. `{n}` in the name is filled in.
        """
        return self._bench_each(name, lambda *prepared: Function(func, args, *prepared), kwargs)

    def bench_time_func(self, name: str, time_func: Callable[..., float], *args: Any, **kwargs: Any) -> Any:
        """Measures `time_func(loops, *args)`, which returns seconds. Keywords: those of `bench_func`."""
        return self._bench_each(name, lambda *prepared: TimeFunction(time_func, args, *prepared), kwargs)

    def bench_async_func(self, name: str, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Measures `await func(*args)`. Keywords: those of `bench_func`, and `loop_factory`.

        `setup` and `teardown` may be coroutine functions. With one of them, all measurements of a process share an event loop.
        """
        loop_factory = kwargs.pop("loop_factory", None)
        return self._bench_each(name, lambda *prepared: Coroutine(func, args, loop_factory, *prepared), kwargs)

    def bench_threads(self, name: str, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Measures `func(*args)` in several threads at the same time: a benchmark for each number of `thread_counts`, by default 1, 2, 4 … to
        the number of CPUs. `--thread-counts 1,2,8` replaces it. The time is that of one call, of all threads together.

        Keywords: those of `bench_func`, and `thread_counts`. Prints the throughput and how it grows, and returns a list.
        """
        args_of_runner = self.parse_args()
        counts = args_of_runner.thread_counts or kwargs.pop("thread_counts", None) or _doubled(os.cpu_count() or 1)
        kwargs.pop("thread_counts", None)
        found: List[Any] = []
        self._session_words = options.for_threads(args_of_runner)
        for count in counts:
            own = dict(kwargs, inner_loops=count * kwargs.get("inner_loops", 1), metadata=dict(kwargs.get("metadata") or {}, threads=count))
            title = name.replace("{threads}", str(count)) if "{threads}" in name else "%s[threads=%d]" % (name, count)
            one = self._bench_each(title, lambda *prepared, n=count: Threads(n, func, args, *prepared), own)
            found.append(one)
        self._session_words = []
        if None not in found and not any(isinstance(one, list) for one in found) and len(found) > 1 and not args_of_runner.quiet:
            print(variants.scaling(counts, [one.get_values() for one in found]))
        return found

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
        parameters: Optional[Dict[str, Sequence[Any]]] = None,
    ) -> Any:
        """Measures a statement with the semantics of the standard timeit. The default statement is the name itself.

        `parameters={"n": [10, 1000]}` makes a benchmark for each value, which is a variable of the parts, and returns a list.
        """
        text = name if stmt is None else stmt
        if parameters is not None:
            return [
                self.timeit(title, text, setup, teardown, inner_loops, duplicate, dict(variants.described(chosen), **(metadata or {})),
                            dict(globals or {}, **chosen))
                for title, chosen in variants.combinations(name, parameters)
            ]
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
        measured = self._measured(name, words, [shlex.join(benchmark.argv)], described, "memory" if args.track_memory else None)
        if options.file_of(args):
            _append(measured.record, options.file_of(args))
        return measured

    def _bench_each(self, name: str, make: Callable[..., Any], keywords: Dict[str, Any]) -> Any:
        """A benchmark, or a list with one for each combination of parameters. `make` takes setup, teardown and keywords."""
        given = _only(keywords, "inner_loops", "metadata", "setup", "teardown", "parameters")
        prepared, parameters = (given.pop("setup", None), given.pop("teardown", None)), given.pop("parameters", None)
        if parameters is None:
            return self._bench(name, make(*prepared), **given)
        found = []
        for title, chosen in variants.combinations(name, parameters):
            metadata = dict(variants.described(chosen), **(given.get("metadata") or {}))
            found.append(self._bench(title, make(*prepared, chosen), **dict(given, metadata=metadata)))
        return found

    def _bench(
        self, name: str, benchmark: Any, inner_loops: Optional[int] = None, metadata: Optional[Dict[str, Any]] = None
    ) -> Optional[Benchmark]:
        args = self.parse_args()
        self._check_name(name)
        described = dict(self.metadata, **(metadata or {}))
        if SCRIPT is not None:
            SCRIPT.offer(name, benchmark, inner_loops, described)
            return None
        words = options.to_words(args) + self._session_words
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
        head += self._own_words(args)
        self._add_cmdline_args(head, args)
        return head

    def _own_words(self, args: argparse.Namespace) -> List[str]:
        """The options of the Runner itself that the processes need, beside those that `add_cmdline_args` adds."""
        return []


def _doubled(most: int) -> List[int]:
    """1, 2, 4 and so on, and at last `most`."""
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return counts + [most] if most > 1 else counts


def _append(record: str, path: str) -> None:
    """Adds the benchmarks of a record to a file, as pyperf's JSON."""
    from .pyperf_compat.suite import BenchmarkSuite, add_runs

    add_runs(path, BenchmarkSuite.loads(binary.output_of(["convert", record, "--to", "pyperf", "--stdout"])))


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
