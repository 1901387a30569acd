"""`Runner` with the interface of pyperf. The program stillwell measures; this front chooses what, and writes pyperf's files."""
import argparse
import os
import shlex
import subprocess
import sys
from typing import Any, Callable, ClassVar, Dict, List, Optional, Sequence, Set, Union

from .. import binary, forks
from ..benchmarks import Command
from ..interrupts import Interrupts
from ..place import new_record_path
from ..runner import Runner as StillwellRunner
from ..script import FOLDER, SCRIPT
from . import direct, from_record, metadata as facts, options, report
from ._hooks import NUMBERS, Hooked, get_hook_names
from .benchmark import Benchmark
from .run import checked
from .suite import BenchmarkSuite, add_runs

TIMEOUT_STATUS = 124  # Of timeout(1), and of pyperf.
Text = Union[str, Sequence[str]]


def _joined(text: Text) -> str:
    """A statement of one text, or of a sequence of lines."""
    return text if isinstance(text, str) else "\n".join(text)


class Runner(StillwellRunner):
    """Measures the benchmarks of a script, each in many processes that run the script anew. There is one Runner in a script.

    `values`, `processes`, `loops`, `min_time` (seconds) and `warmups` are defaults of the options of the same name. `hooks` are names or classes of hooks, as with --hook.
    """

    _created: ClassVar[Set[type]] = set()

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
        hooks: Sequence[Union[str, Callable[[], Any]]] = (),
    ) -> None:
        if Runner._created:
            raise RuntimeError("there is a Runner already; use it for all benchmarks of the script")
        for name, number, least in (("values", values, 1), ("processes", processes, 1), ("loops", loops, 0), ("warmups", warmups, 0)):
            if number is not None and (not isinstance(number, int) or number < least):
                raise ValueError("%s of a Runner is a whole number from %d on, not %r" % (name, least, number))
        parser = argparse.ArgumentParser(description="Benchmark") if _argparser is None else _argparser
        options.add_to(parser)
        super().__init__(values, processes, loops, min_time, metadata, show_name, program_args, add_cmdline_args, parser, warmups)
        self._show_name, self._hooks, self._task = show_name, list(hooks), -1
        self._given: Dict[str, Any] = {}
        Runner._created.add(Runner)

    def parse_args(self, args: Optional[Sequence[str]] = None) -> argparse.Namespace:
        """Reads the options once, from `args` or from the command line. `self.args` has the result, too."""
        if self.args is not None:
            if args is not None:
                raise RuntimeError("the options have been read already; Runner.args has them")
            return self.args
        self.args = self._read_words(args)
        self._given = options.complete(self.args)
        self._check_files()
        for name in ("output", "append", "profile"):
            path = getattr(self.args, name)
            setattr(self.args, name, path and os.path.join(FOLDER, path) if os.getcwd() != FOLDER else path)
        self._is_direct = self.args.worker and SCRIPT is None
        self.args.worker = self.args.worker or SCRIPT is not None
        for hook in self.args.hook or ():
            if hook not in get_hook_names():
                self.argparser.error("there is no hook %r; there are %s" % (hook, ", ".join(get_hook_names())))
        if SCRIPT is None and self.args.output and os.path.exists(self.args.output):
            print("ERROR: %s exists; remove it, or use --append" % self.args.output)
            sys.exit(1)
        self._cpu_affinity()
        return self.args

    def _cpu_affinity(self) -> None:
        assert self.args is not None
        if self._is_direct and self.args.affinity:
            os.sched_setaffinity(0, facts.parse_cpus(self.args.affinity))

    def timeit(  # type: ignore[override] # pyperf takes sequences of lines, too.
        self,
        name: str,
        stmt: Optional[Text] = None,
        setup: Text = "pass",
        teardown: Text = "pass",
        inner_loops: Optional[int] = None,
        duplicate: Optional[int] = None,
        metadata: Optional[Dict[str, Any]] = None,
        globals: Optional[Dict[str, Any]] = None,
    ) -> Optional[Benchmark]:
        """Measures a statement with the semantics of the standard timeit. The default statement is the name itself."""
        statement = None if stmt is None else _joined(stmt)
        described = dict({"timeit_duplicate": duplicate} if duplicate else {}, **(metadata or {}))
        return super().timeit(name, statement, _joined(setup), _joined(teardown), inner_loops, duplicate, described, globals)

    def bench_command(self, name: str, command: Sequence[str]) -> Optional[Benchmark]:  # type: ignore[override]
        """Measures a program from its start to its end. `command` is the list of its words; there is no shell."""
        benchmark = Command(command)
        args = self.parse_args()
        described = {"command": shlex.join(benchmark.argv)}
        if self._is_direct or SCRIPT is not None:
            return self._bench(name, benchmark, None, described)
        if not self._is_next(name):
            return None
        if args.tracemalloc:
            self.argparser.error("--tracemalloc is for Python code; of the command %r --track-memory is known" % name)
        words = ["run", "-N", "--command-name", name] + options.to_run_words(args, self._given)
        [measured] = self._session(words, [shlex.join(benchmark.argv)], dict(self.metadata, **described), None, new_record_path())
        measured = from_record.of_commands(measured, args.values, self._given["loops"] or 1)
        return self._deliver(_with_peak(measured, args))

    def _bench(  # type: ignore[override]
        self, name: str, benchmark: Any, inner_loops: Optional[int] = None, metadata: Optional[Dict[str, Any]] = None
    ) -> Optional[Benchmark]:
        args = self.parse_args()
        if not self._is_next(name):
            return None
        described = dict(self.metadata, **(metadata or {}))
        for key, value in described.items():
            checked(key, value)
        hooks = self._hooks + list(args.hook or ()) + options.hook_of_profile(args.profile)
        hooked = Hooked(benchmark, hooks) if hooks else benchmark
        if SCRIPT is not None:
            SCRIPT.offer(name, hooked, inner_loops, described)
            return None
        if self._is_direct:
            return self._measured_here(name, hooked, inner_loops or 1, described)
        words = ["bench", "--benchmark", name] + options.to_words(args, self._given) + self._session_words
        program = self._program(args)
        pythons = [args.compare_to, args.python] if args.compare_to else [args.python]
        names = _names_of(pythons, args)
        for arm in names if len(names) > 1 else []:
            words += ["--command-name", arm]
        commands = [] if program is None else [shlex.join([python] + program) for python in pythons]
        path = new_record_path()
        found = self._session(words, commands, described, (name, hooked, inner_loops), path)
        if args.debug_single_value or self._given["loops"]:
            found = [from_record.without_calibration(one) for one in found]
        if self._given["values"] is None:
            found = [from_record.of_processes(one) for one in found]
        if args.track_memory or args.tracemalloc:
            found = [from_record.of_memory(one, args.warmups) for one in found]
        if len(found) > 1:
            print(report.comparison(found, names, from_record.effect(path), self._show_name))
        return self._deliver(found[-1])

    def _own_words(self, args: argparse.Namespace) -> List[str]:
        words = ["--profile", args.profile] if args.profile else []
        for hook in args.hook or ():
            words += ["--hook", hook]
        return words

    def _is_next(self, name: str) -> bool:
        """Counts the benchmarks. False if the options choose another one."""
        self._check_name(name)
        self._task += 1
        chosen = self.parse_args().worker_task
        return chosen is None or bool(chosen == self._task)

    def _measured_here(self, name: str, benchmark: Any, inner_loops: int, described: Dict[str, Any]) -> Benchmark:
        """Measures in this process, for --worker."""
        args = self.parse_args()
        run = direct.measure(args, benchmark, inner_loops, dict(described, name=name))
        finish = getattr(benchmark, "finish", None)
        if finish is not None:
            added = run.get_metadata()
            finish(added)
            added.pop(NUMBERS, None)
            run = run.with_metadata(added)
        return self._deliver(Benchmark([run]))

    def _session(self, words: List[str], commands: List[str], described: Dict[str, Any], function: Any, path: str) -> List[Benchmark]:
        """Lets stillwell measure. There is one benchmark for each command; without commands, forks measure the function."""
        args = self.parse_args()
        if not commands:
            name, benchmark, inner_loops = function
            forks.measure([(name, benchmark, inner_loops)], words[1:], path)
        else:
            forks.flush()  # Else the script's own output follows the result if the output is a file.
            words = words + ["--style", "none", "--record", path]
            folder = FOLDER if words[0] == "bench" else None
            with Interrupts() as interrupts:
                process = interrupts.process = subprocess.Popen(
                    binary.command(words + ["--"] + commands), cwd=folder, env=options.environment(args))
                status = process.wait()
            if status == TIMEOUT_STATUS:
                sys.exit(TIMEOUT_STATUS)
            binary.check(status, words, record=path)
        if args.verbose:
            print(binary.output_of(["show", path]), end="")
        return from_record.read(path, dict({"perf_version": report.VERSION}, **described))

    def _deliver(self, benchmark: Benchmark) -> Benchmark:
        """Prints the benchmark, and writes it where the options say."""
        args = self.parse_args()
        suite = BenchmarkSuite([benchmark])
        if not args.compare_to or self._is_direct:
            print(report.result(benchmark, args, self._show_name))
        if args.pipe is not None:
            with open(args.pipe, "w", encoding="utf-8") as pipe:
                suite.dump(pipe)
        for path in filter(None, (args.output, args.append)):
            # Each benchmark of a script is added when it is there. `parse_args` has checked that the file of -o is new.
            add_runs(path, suite)
        forks.flush()
        return benchmark


def _names_of(pythons: List[str], args: argparse.Namespace) -> List[str]:
    """A name for each Python: the names that were given, or the shortest that tell them apart."""
    short = [os.path.basename(python) for python in pythons]
    for names in (args.python_names, short, pythons):
        if names and len(set(names)) == len(pythons):
            return list(names)
    return ["reference", "changed"]


def _with_peak(benchmark: Benchmark, args: argparse.Namespace) -> Benchmark:
    """The benchmark of a command with its peak memory, as a value or in the metadata."""
    peaks = [run.get_metadata().get("mem_max_rss", 0) for run in benchmark.get_runs()]
    if max(peaks):
        benchmark.update_metadata({"command_max_rss": max(peaks)})
    if not args.track_memory:
        return benchmark
    benchmark._extract_metadata("mem_max_rss")
    benchmark.update_metadata({"warmups": args.warmups, "values": args.values})
    return benchmark
