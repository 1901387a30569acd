"""Handling of ^C while the program measures. The program ends the session in order and keeps the record, which takes time."""
import signal
import subprocess
import threading
from typing import Any, Optional

# Seconds before ^C is sent on. A terminal sends ^C to the program as well, so the program has ended by then. A notebook and `kill`
# send it to this process alone.
FORWARD_AFTER_S = 1.0


class Interrupts:
    """A context manager that leaves the first ^C to `process`. The second one is a KeyboardInterrupt, as usual."""

    def __init__(self) -> None:
        self.process: "Optional[subprocess.Popen[bytes]]" = None
        self._timer: Optional[threading.Timer] = None
        self._is_installed = False

    def __enter__(self) -> "Interrupts":
        is_main = threading.current_thread() is threading.main_thread()
        # If the user has a handler, or has removed the default one, it stays.
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._on_first)
            self._is_installed = True
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._is_installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._timer is not None:
            self._timer.cancel()
            if kind is None:  # The ^C came after the program had ended its work.
                raise KeyboardInterrupt

    def _on_first(self, *_: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # The main thread sleeps in a wait. To look at a clock there would disturb the measurement, so a second thread waits.
        self._timer = threading.Timer(FORWARD_AFTER_S, self._forward)
        self._timer.daemon = True
        self._timer.start()

    def _forward(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
