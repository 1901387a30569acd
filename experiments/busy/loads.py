"""The conditions of the experiment: each makes the machine busy during a `with` block.

    python3 loads.py FILE    the page-cache storm, until it is killed or its parent ends
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

IDLE = "idle"
# The load is at work before the session begins.
SETTLE_S = 0.15


@contextlib.contextmanager
def running(*argv: str) -> Iterator[None]:
    load = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(SETTLE_S)
        if load.poll() is not None:
            sys.exit(f"{' '.join(argv)}: ended at once, exit {load.returncode}")
        yield
    finally:
        load.terminate()
        load.wait()


def conditions(stillwell: str, bursts) -> dict:
    """Condition → a function that makes it, from a seed. The first is idle."""
    return {
        IDLE: lambda seed: contextlib.nullcontext(),
        "load 2": lambda seed: running(stillwell, "load", "2"),
        "load 10": lambda seed: running(stillwell, "load", "10"),
        "bursts": lambda seed: bursts("./work", seed),
        "page cache": lambda seed: running(sys.executable, __file__, "storm.bin"),
        "forks": lambda seed: running(stillwell, "load", "--kind", "fork", "4"),
    }


def page_cache_storm(path: str) -> None:
    """Fills and empties the page cache: writes 128 MiB, reads them, drops them."""
    size, chunk, parent = 128 << 20, b"x" * (1 << 20), os.getppid()
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.unlink(path)
    while os.getppid() == parent:
        for at in range(0, size, len(chunk)):
            os.pwrite(file, chunk, at)
        for at in range(0, size, len(chunk)):
            os.pread(file, len(chunk), at)
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    page_cache_storm(sys.argv[1])
