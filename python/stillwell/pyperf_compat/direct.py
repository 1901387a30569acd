"""`--worker`: measures in this very process, with the number of loops that the options say. The processes of Stillwell do not use this.

A script that is started with --worker is usually being debugged, or is the worker of another program that reads --pipe.
"""
import argparse
import resource
import sys
import time
from typing import Any, Dict, List, Tuple

from . import values
from .run import Run

LOOPS_MAX = 1 << 32


class Direct:
    """One benchmark in this process."""

    def __init__(self, args: argparse.Namespace, benchmark: Any, inner_loops: int) -> None:
        self.args, self.benchmark, self.inner_loops = args, benchmark, inner_loops
        self.warmups: List[Tuple[int, float]] = []

    def raw(self, loops: int) -> float:
        """Seconds of all loops."""
        if getattr(self.benchmark, "timer", None) == "own":
            return float(self.benchmark.seconds(loops))
        return float(self.benchmark.measure(loops, time.perf_counter, int)[0])

    def run(self, metadata: Dict[str, Any]) -> Run:
        """Measures, and returns the values with `metadata` and the facts of the process."""
        args, start = self.args, time.monotonic()
        loops = args.loops or 1
        is_calibration = any(getattr(args, kind + "calibrate_" + what) for kind in ("", "re") for what in ("loops", "warmups"))
        if is_calibration or not args.loops:
            loops = self.calibrated(loops)
        found = []
        if not is_calibration:
            for _ in range(args.warmups):
                self.warm_up(loops)
            found = self.values(loops)
        metadata = dict(metadata, loops=loops)
        if args.recalibrate_loops:
            metadata["recalibrate_loops"] = loops
        elif is_calibration:
            metadata["calibrate_loops"] = loops
        if self.inner_loops != 1:
            metadata["inner_loops"] = self.inner_loops
        metadata["duration"] = time.monotonic() - start
        if args.track_memory or args.tracemalloc:
            return self.of_memory(metadata)
        return Run(found, self.warmups, metadata)

    def calibrated(self, loops: int) -> int:
        """Doubles the loops until enough measurements in a row of growing numbers have taken --min-time."""
        n_long = 0
        while n_long < self.args.warmups + self.args.values:
            if self.warm_up(loops) >= self.args.min_time:
                n_long += 1
                continue
            loops *= 2
            if loops > LOOPS_MAX:
                print("ERROR: no number of loops takes %s; the benchmark says that 2^32 take less" % values.timedelta(self.args.min_time))
                sys.exit(1)
        return loops

    def warm_up(self, loops: int) -> float:
        raw = self.raw(loops)
        self.warmups.append((loops, raw / (loops * self.inner_loops)))
        if self.args.verbose:
            value = values.timedelta(self.warmups[-1][1])
            print("Warmup %d: %s (loops: %s, raw: %s)" % (len(self.warmups), value, values.number(loops), values.timedelta(raw)))
        return raw

    def values(self, loops: int) -> List[float]:
        if self.args.verbose and self.warmups:
            print()
        found = []
        for number in range(self.args.values):
            raw = self.raw(loops)
            if not raw > 0:
                raise ValueError("the benchmark says that %d loops took no time" % loops)
            found.append(raw / (loops * self.inner_loops))
            if self.args.verbose:
                print("Value %d: %s" % (number + 1, values.timedelta(found[-1])))
        return found

    def of_memory(self, metadata: Dict[str, Any]) -> Run:
        if self.args.tracemalloc:
            import tracemalloc

            peak = tracemalloc.get_traced_memory()[1]
        else:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Run([max(1, peak)], metadata=dict(metadata, unit="byte", warmups=len(self.warmups), values=self.args.values))


def measure(args: argparse.Namespace, benchmark: Any, inner_loops: int, metadata: Dict[str, Any]) -> Run:
    if args.tracemalloc:
        import tracemalloc

        tracemalloc.start()
    run = Direct(args, benchmark, inner_loops).run(metadata)
    if args.verbose:
        print()
    return run
