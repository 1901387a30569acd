"""The worker's side of a program whose benchmarks are made while it runs (docs/worker-protocol.md).

Such a program is run once for `list`, and once for each launch of a benchmark that is `select`ed; in each case it goes on to
its end, so that its `finally` and `atexit` do their work.
"""
import atexit
import os
import sys
from typing import Any, Dict, List, NoReturn, Optional

from . import worker


class Script(worker.Server):
    """Answers requests at the `bench_…` call that they are for."""

    def __init__(self, channel: worker.Channel) -> None:
        super().__init__(channel)
        self.names: Dict[str, str] = {}  # Name → the keys of its line.
        self.wanted: Optional[str] = None
        self.is_listing = self.is_greeted = self.is_done = False
        self.described: Dict[str, Any] = {}
        atexit.register(self.finish)

    def offer(self, name: str, benchmark: Any, inner_loops: Optional[int], described: Dict[str, Any]) -> None:
        """Returns at once if this benchmark is not wanted; else serves it, and ends the program by `SystemExit`."""
        if self.is_done or os.getpid() != self.process_id:
            return
        keys = " inner_loops=%d" % (inner_loops or 1)
        if getattr(benchmark, "timer", None):
            keys += " timer=" + benchmark.timer
        self.names[name] = keys
        self._be_asked()
        if name == self.wanted:
            self.benchmark, self.described = benchmark, described
            self.channel.write(["ok"])
            self.serve()
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
        own = ["meta %s %s" % (worker.escape(name), worker.escape(str(value))) for name, value in self.described.items()]
        return own + super().metadata()

    def finish(self) -> None:
        """At the end of the program: the answer that is still owed."""
        if self.is_done or os.getpid() != self.process_id:
            return
        error = getattr(sys, "last_value", None)  # Set by Python when an exception ends the program.
        if error is not None and not self.is_greeted:
            return  # The exit status and standard error say what has happened.
        try:
            self._be_asked()
            if error is not None:
                self.channel.write(["error " + worker.describe(error)])
            elif self.is_listing:
                self.channel.write(["benchmark %s%s" % (worker.escape(name), keys) for name, keys in self.names.items()] + ["end"])
            else:
                known = ", ".join(map(repr, self.names)) or "none"
                missing = LookupError("there is no benchmark %r; the program has %s" % (self.wanted, known))
                self.channel.write(["error " + worker.describe(missing)])
        except (BrokenPipeError, SystemExit):  # The parent is gone, or has no wish.
            pass

    def _be_asked(self) -> None:
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
    sys.argv.pop()  # The program's own options must not meet it.
    return Script(channel)


# At import, so before the program looks at its arguments. None in a program that was started by its user.
SCRIPT = _from_argv()
# A script may take its own options out of sys.argv; a process that runs it again needs them.
ARGV = list(sys.argv)
# So may it go elsewhere, while its path on the command line is relative to where it was.
FOLDER = os.getcwd()
