"""The worker's side of a program that makes its benchmarks while it runs (docs/worker-protocol.md).

Such a program runs once for `list`, and once for each launch of a `select`ed benchmark. It always runs to its end, so that its
`finally` and `atexit` do their work.
"""
import atexit
import os
import sys
from typing import Any, Dict, List, NoReturn, Optional

from . import worker


class Script(worker.Server):
    """Answers the requests for a benchmark in the `bench_…` call of that benchmark."""

    def __init__(self, channel: worker.Channel) -> None:
        super().__init__(channel)
        self.names: Dict[str, str] = {}  # Name → the keys of its `benchmark` line.
        self.wanted: Optional[str] = None
        self.is_listing = self.is_greeted = self.is_done = False
        self.described: Dict[str, Any] = {}
        atexit.register(self.finish)

    def offer(self, name: str, benchmark: Any, inner_loops: Optional[int], described: Dict[str, Any]) -> None:
        """Serves the benchmark if it is the selected one, and then ends the program by `SystemExit`. Returns at once otherwise."""
        if self.is_done or os.getpid() != self.process_id:
            return
        keys = " inner_loops=%d" % (inner_loops or 1)
        if getattr(benchmark, "timer", None):
            keys += " timer=" + benchmark.timer
        self.names[name] = keys
        self._answer_until_selected()
        if name == self.wanted:
            self.benchmark, self.described = benchmark, described
            self.channel.write(["ok"])
            self.serve()
            self._finish_benchmark()
            self._leave()

    def list(self) -> List[str]:
        self._refuse_second()
        self.is_listing = True
        return []  # Answered by `finish`.

    def select(self, name: str) -> List[str]:
        self._refuse_second()
        self.wanted = worker.unescape(name)
        return []  # Answered by `offer` or `finish`.

    def metadata(self) -> List[str]:
        self._finish_benchmark()
        own = ["meta %s %s" % (worker.escape(name), worker.escape(str(value))) for name, value in self.described.items()]
        return own + super().metadata()

    def _finish_benchmark(self) -> None:
        """Ends what a benchmark has besides its measurements, such as hooks. They may add to the metadata."""
        finish = getattr(self.benchmark, "finish", None)
        if finish is not None:
            finish(self.described)

    def finish(self) -> None:
        """Sends the answer that is still open at the end of the program."""
        if self.is_done or os.getpid() != self.process_id:
            return
        error = getattr(sys, "last_value", None)  # Python sets it when an exception ends the program.
        if error is not None and not self.is_greeted:
            return  # The exit status and standard error report the failure.
        try:
            self._answer_until_selected()
            if error is not None:
                self.channel.write(["error " + worker.describe(error)])
            elif self.is_listing:
                self.channel.write(["benchmark %s%s" % (worker.escape(name), keys) for name, keys in self.names.items()] + ["end"])
            else:
                known = ", ".join(map(repr, self.names)) or "none"
                missing = LookupError("there is no benchmark %r; the program has %s" % (self.wanted, known))
                self.channel.write(["error " + worker.describe(missing)])
        except (BrokenPipeError, SystemExit):  # The parent has ended, or has sent `quit`.
            pass

    def _answer_until_selected(self) -> None:
        if not self.is_greeted:
            self.is_greeted = True
            self.hello()
        while self.wanted is None and not self.is_listing:
            if not self.answer_next():
                self._leave()

    def _leave(self) -> NoReturn:
        self.is_done = True
        raise SystemExit(0)

    def _refuse_second(self) -> None:
        if self.wanted is not None or self.is_listing:
            raise LookupError("a process takes one list or one select; start another one")


def _from_argv() -> Optional[Script]:
    if len(sys.argv) < 2 or not sys.argv[-1].startswith(worker.ARGUMENT):
        return None
    try:
        channel = worker.Channel(*worker.fds_of(sys.argv[-1]))
    except (ValueError, OSError) as error:
        raise SystemExit("stillwell: %s: not two open files (%s); stillwell itself adds this argument" % (sys.argv[-1], error)) from None
    sys.argv.pop()  # The program's own option parser must not get this argument.
    return Script(channel)


# Set at import, before the program reads its arguments. None if the user started the program.
SCRIPT = _from_argv()
# A copy, because a script may remove its own options from sys.argv. A process that runs the script again needs them.
ARGV = list(sys.argv)
# The folder at import. The script may change it later, but the path on the command line is relative to this one.
FOLDER = os.getcwd()
