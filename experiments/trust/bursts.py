"""Makes bursts of load until it is killed: one to three busy processes for 0.3 to 3 s, then a pause of 0.3 to 3 s. Seeded.

    python3 bursts.py PROGRAM SEED

PROGRAM is the compiled work.c. Each busy process has a process group of its own. It ends by itself, or with this program.
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
    """Makes bursts of load during a `with` block."""
    load = subprocess.Popen([sys.executable, __file__, program, seed], preexec_fn=os.setpgrp)
    try:
        yield
    finally:
        load.terminate()
        load.wait()


def main(program: str, seed: str) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    draw, parent = random.Random(seed), os.getppid()
    # Half of all sessions begin in a burst.
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
