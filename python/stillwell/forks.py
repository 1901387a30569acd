"""Workers that are forks of this process. They measure functions that no other process can have.

`stillwell bench --fork-server=FD` requests the forks over a socket: see "Forks of a running program" in docs/worker-protocol.md.
"""
import array
import os
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from . import binary, worker
from .interrupts import Interrupts

Arm = Tuple[str, Any, Optional[int]]  # Name, benchmark, inner loops.


class _Server:
    """Makes and reaps the workers that stillwell requests."""

    def __init__(self, own: socket.socket, arms: Sequence[Arm], setup: Optional[Callable[[], Any]]) -> None:
        self.socket, self.arms, self.setup = own, arms, setup
        self.buffer = b""
        self.fds: List[int] = []
        self.children: Dict[int, None] = {}

    def serve(self) -> None:
        """Answers requests until stillwell closes its end of the socket."""
        while True:
            line = self._read_line()
            if line is None:
                return
            words = line.split(" ")
            if len(words) == 2 and words[0] == "fork" and words[1].isdigit():
                answer = self._fork(int(words[1]))
            elif len(words) == 2 and words[0] == "reap" and words[1].isdigit():
                answer = self._reap(int(words[1]))
            else:
                answer = "error " + worker.escape("unknown request")
            try:
                self.socket.sendall(answer.encode() + b"\n")
            except (BrokenPipeError, ConnectionResetError):
                return

    def end(self) -> None:
        """Kills the workers that are left if stillwell has died or was interrupted."""
        self._close_fds()
        for process_id in list(self.children):
            try:
                os.killpg(process_id, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(process_id, 0)
            del self.children[process_id]

    def _read_line(self) -> Optional[str]:
        fd_bytes = array.array("i").itemsize
        while b"\n" not in self.buffer:
            try:
                data, ancillary, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(4 * fd_bytes))
            except ConnectionResetError:
                return None
            for level, kind, payload in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    received = array.array("i")
                    received.frombytes(payload[: len(payload) - len(payload) % fd_bytes])
                    self.fds.extend(received)
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("ascii", "replace")

    def _fork(self, arm: int) -> str:
        try:
            if len(self.fds) != 2 or arm >= len(self.arms):
                reason = "fork takes the index of an arm, below %d, and two files; it had %d" % (len(self.arms), len(self.fds))
                return "error " + worker.escape(reason)
            flush()  # Else the child prints the buffered output of this process again.
            with warnings.catch_warnings():
                # Python 3.12 and later warn of a fork with threads. The child runs one thread, and only the benchmark.
                warnings.simplefilter("ignore", DeprecationWarning)
                process_id = os.fork()
            if process_id == 0:
                self._run_worker(arm)
            # Both parent and child set the group, so that it exists for a kill as soon as the answer is sent.
            try:
                os.setpgid(process_id, process_id)
            except (PermissionError, ProcessLookupError):
                pass
            self.children[process_id] = None
            return "pid %d" % process_id
        finally:
            self._close_fds()

    def _run_worker(self, arm: int) -> NoReturn:
        """Runs the child, which must not run the handlers of the parent's `atexit`."""
        status = 1
        try:
            os.setpgid(0, 0)
            self.socket.close()
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.close(null)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            server = _ForkedServer(worker.Channel(*self.fds), self.arms[arm], self.setup)
            server.hello()
            server.serve()
            finish = getattr(server.benchmark, "finish", None)
            if finish is not None:
                finish({})
            status = 0
        except BaseException:
            sys.__excepthook__(*sys.exc_info())
        finally:
            flush()
            os._exit(status)

    def _reap(self, process_id: int) -> str:
        if process_id not in self.children:
            return "error " + worker.escape("%d is not a worker of this process" % process_id)
        _, status = os.waitpid(process_id, 0)
        del self.children[process_id]
        return "status %d" % (-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))

    def _close_fds(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds = []


class _ForkedServer(worker.Server):
    """Serves one benchmark, which is already selected."""

    def __init__(self, channel: worker.Channel, arm: Arm, setup: Optional[Callable[[], Any]]) -> None:
        super().__init__(channel, benchmark=arm[1])
        self.name, _, self.inner_loops = arm
        self.setup = setup

    def list(self) -> List[str]:
        return ["benchmark %s inner_loops=%d" % (worker.escape(self.name), self.inner_loops or 1), "end"]

    def select(self, name: str) -> List[str]:
        if worker.unescape(name) != self.name:
            raise LookupError("there is no benchmark %r; this worker has %r" % (worker.unescape(name), self.name))
        return ["ok"]

    def measure(self, loops: str, wall: Any, cpu: Any) -> Any:
        if self.setup is not None:
            setup, self.setup = self.setup, None
            setup()
        return super().measure(loops, wall, cpu)


def flush() -> None:
    """Flushes the standard streams of Python."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # The stream is closed, or None, or a notebook's own object.
            pass


def measure(arms: Sequence[Arm], words: Sequence[str], record: str, setup: Optional[Callable[[], Any]] = None) -> None:
    """Measures `arms` in forks of this process and leaves the record. `words` are options of `stillwell bench`.

    If stillwell fails, raises `Error` with its message.
    """
    own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    command = ["bench", "--fork-server=%d" % theirs.fileno(), "--quiet", "--record", record] + [w for w in words if w != "--quiet"]
    for name, _, inner_loops in arms:
        command += ["--command-name", name]
    # A terminal shows the progress and the errors. Elsewhere, as in a notebook, the exception must contain the error.
    to_terminal = os.isatty(2)
    with own, theirs, tempfile.TemporaryFile() as stderr_file, Interrupts() as interrupts:
        server = _Server(own, arms, setup)
        process = interrupts.process = subprocess.Popen(
            binary.command(command),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if to_terminal else stderr_file,
        )
        try:
            theirs.close()
            server.serve()
        finally:
            own.close()
            server.end()
            status = process.wait()
        stderr_file.seek(0)
        binary.check(status, command, stderr_file.read().decode("utf-8", "replace"), record)
