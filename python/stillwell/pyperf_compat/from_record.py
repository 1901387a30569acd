"""The benchmarks of a record, as pyperf has them."""
import datetime
import json
import statistics
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .. import binary
from . import files, metadata as facts
from ._hooks import NUMBERS
from .benchmark import Benchmark
from .run import Run

NS_PER_SECOND = 1e9
# Facts of a worker that are about the protocol, or about one process only.
PROTOCOL = ("gc", "implementation", "language", "python_hash_seed", "source", "tracemalloc", "version")


class Process:
    """What the record says of one process: when it ran, for how long, and its peak memory."""

    def __init__(self, created: datetime.datetime) -> None:
        self.created, self.start_ns, self.end_ns, self.peak_kib = created, 0, 0, 0
        self.clean_ns = 0

    def add(self, started_ns: int, wall_ns: int, peak_kib: Optional[int], stalled_ns: int) -> None:
        self.clean_ns += max(1, wall_ns - stalled_ns)
        self.start_ns = started_ns if not self.end_ns else min(self.start_ns, started_ns)
        self.end_ns = max(self.end_ns, started_ns + wall_ns)
        self.peak_kib = max(self.peak_kib, peak_kib or 0)

    def metadata(self) -> Dict[str, Any]:
        date = self.created + datetime.timedelta(microseconds=self.start_ns // 1000)
        found: Dict[str, Any] = {"date": date.isoformat(" "), "duration": (self.end_ns - self.start_ns) / NS_PER_SECOND}
        if self.peak_kib:
            found["mem_max_rss"] = self.peak_kib * 1024
        return found


def read(record: str, described: Dict[str, Any]) -> List[Benchmark]:
    """One benchmark for each arm of the record. `described` is the metadata that the script gave."""
    arms, processes, is_command = _read_rows(record)
    exported = files.parse(binary.output_of(["convert", record, "--to", "pyperf", "--stdout"]), record)
    return [
        Benchmark(_completed(runs, processes.get(index, []), dict(arms.get(index, {}), **described), is_command))
        for index, runs in enumerate(exported)
    ]


def effect(record: str) -> Dict[str, Any]:
    """The second arm against the first, as the session judges it (docs/json.md)."""
    [found] = json.loads(binary.output_of(["show", "--json", record]))["conclusion"]["effects"]
    return dict(found)


def _completed(runs: Sequence[Run], processes: Sequence[Process], known: Dict[str, Any], is_command: bool) -> List[Run]:
    """The runs with all metadata. The file of a command's runs has wall times; here they are clean, as those of functions."""
    measured, here = iter(processes), facts.of_machine()
    completed = []
    for run in runs:
        own = run.get_metadata()
        process = next(measured, None) if run.values else None
        if process is not None and is_command:
            run = Run([process.clean_ns / NS_PER_SECOND], metadata=own, collect_metadata=False)
        machine = dict(here, **{key: value for key, value in own.items() if not key.startswith("stillwell_") and key not in PROTOCOL + (NUMBERS,)})
        machine.update(process.metadata() if process is not None else {})
        machine.update(known)
        if not run.values:
            machine["loops"] = machine.get("calibrate_loops", 1)
        completed.append(run.with_metadata(machine))
    return completed


def _read_rows(record: str) -> Tuple[Dict[int, Dict[str, Any]], Dict[int, List[Process]], bool]:
    """The facts of the worker of each arm, the processes of each arm in their order, and whether the arms are commands."""
    arms: Dict[int, Dict[str, Any]] = {}
    found: Dict[Tuple[int, int], Process] = {}
    with open(record, encoding="utf-8") as lines:
        header = json.loads(lines.readline())
        columns = {name: place for place, name in enumerate(header["columns"])}
        # A file has local times without their offset.
        created = datetime.datetime.fromisoformat(header["created"]).astimezone().replace(tzinfo=None)
        for line in lines:
            row = json.loads(line)
            if isinstance(row, dict):
                if row.get("event") == "worker":
                    arms[row["arm"]] = _typed(row.get("values", {}))
                continue
            block = row[columns["block"]]
            if block is not None:
                process = found.setdefault((row[columns["arm"]], block), Process(created))
                peak = row[columns["maxrss_kib"]] if "maxrss_kib" in columns else None
                stalled = row[columns["stalled_ns"]] if "stalled_ns" in columns else None
                process.add(row[columns["started_ns"]], row[columns["wall_ns"]], peak, stalled or 0)
    by_arm: Dict[int, List[Process]] = {}
    for (arm, _), process in found.items():
        by_arm.setdefault(arm, []).append(process)
    return arms, by_arm, not header["plan"].get("in_slices", False)


def _typed(said: Dict[str, str]) -> Dict[str, Any]:
    numbers = said.get(NUMBERS, "").split(" ")
    found = {name: facts.typed(name, value) for name, value in said.items() if name not in PROTOCOL and name != NUMBERS and value}
    found.update({name: json.loads(said[name]) for name in numbers if name in found})
    return found


def without_calibration(benchmark: Benchmark) -> Benchmark:
    """The benchmark without the processes that found its loops. With --loops, pyperf has none."""
    return Benchmark([run for run in benchmark.get_runs() if run.values])


def of_processes(benchmark: Benchmark) -> Benchmark:
    """The benchmark with one value for each process: the mean of its slices, which are not independent of each other."""
    runs = []
    for run in benchmark.get_runs():
        if run.values:
            own = run.get_metadata()
            own["loops"] = run.get_loops() * len(run.values)
            run = Run([statistics.mean(run.values)], run.warmups, own, collect_metadata=False)
        runs.append(run)
    return Benchmark(runs)


def of_memory(benchmark: Benchmark, warmups: int) -> Benchmark:
    """The benchmark with one value for each process: its peak."""
    runs = []
    for run in benchmark.get_runs():
        if run.values:
            own = dict(run.get_metadata(), unit="byte", warmups=warmups, values=len(run.values))
            runs.append(Run([round(max(run.values))], metadata=own, collect_metadata=False))
    return Benchmark(runs)


def of_commands(benchmark: Benchmark, n_values: int, loops: int) -> Benchmark:
    """The runs of a command in processes of `n_values`, each value the mean of `loops` runs."""
    all_runs = [run for run in benchmark.get_runs() if run.values]
    runs = []
    for first in range(0, len(all_runs), n_values * loops):
        group = all_runs[first:first + n_values * loops]
        numbers = [value for run in group for value in run.values]
        means = [sum(numbers[at:at + loops]) / len(numbers[at:at + loops]) for at in range(0, len(numbers), loops)]
        own = dict(group[0].get_metadata(), duration=sum(run.duration() for run in group), loops=loops)
        runs.append(Run(means, metadata=own, collect_metadata=False))
    return Benchmark(runs)
