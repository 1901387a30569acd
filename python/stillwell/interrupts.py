"""^C while the program measures: it ends the session in order and keeps the record, so it must have the time for that."""
import signal
import subprocess
import threading
from typing import Any, Optional

# A terminal sends ^C to the program as well, and then it has ended by now. A notebook or `kill` sends it to this process alone.
HEARD_WITHIN_S = 1.0


class Interrupts:
    """While it is entered, the first ^C is left to `process`; the next one is a KeyboardInterrupt, as always."""

    def __init__(self) -> None:
        self.process: "Optional[subprocess.Popen[bytes]]" = None
        self._timer: Optional[threading.Timer] = None
        self._is_installed = False

    def __enter__(self) -> "Interrupts":
        is_main = threading.current_thread() is threading.main_thread()
        # A handler of the user's own, or none, stays as it is.
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._first)
            self._is_installed = True
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._is_installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._timer is not None:
            self._timer.cancel()
            if kind is None:  # It came when the program had done all there was to do.
                raise KeyboardInterrupt

    def _first(self, *_: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # A thread, because the one that waits must sleep: looking at a clock would disturb what is measured.
        self._timer = threading.Timer(HEARD_WITHIN_S, self._tell)
        self._timer.daemon = True
        self._timer.start()

    def _tell(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
