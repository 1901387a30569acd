"""Bursts of load, until it is ended: for 0.3 to 3 s one to three busy processes, then as long nothing, seeded.

    python3 bursts.py PROGRAM SEED

PROGRAM is the compiled work.c. Each busy process has a process group of its own, ends by itself, and ends with this one.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator


@contextlib.contextmanager
def bursts(program: str, seed: str) -> Iterator[None]:
    """Bursts of load for the time of a `with` block."""
    load = subprocess.Popen([sys.executable, __file__, program, seed], preexec_fn=os.setpgrp)
    try:
        yield
    finally:
        load.terminate()
        load.wait()


def main(program: str, seed: str) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    draw, parent = random.Random(seed), os.getppid()
    # Half of all beginnings are in a burst.
    time.sleep(draw.choice([0, draw.uniform(0.3, 3)]))
    while os.getppid() == parent:
        n_busy, busy_s, gap_s = draw.randint(1, 3), draw.uniform(0.3, 3), draw.uniform(0.3, 3)
        ends = time.monotonic() + busy_s
        busy = [subprocess.Popen([program, "busy", str(round(1e3 * busy_s))], preexec_fn=os.setpgrp)
                for _ in range(n_busy)]
        for process in busy:
            process.wait()
        time.sleep(max(0.0, ends - time.monotonic()) + gap_s)


if __name__ == "__main__":
    main(*sys.argv[1:])
