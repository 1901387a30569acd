"""The facts of this process and this machine, by the names of pyperf (its documentation, "Metadata")."""
import datetime
import os
import platform
import resource
import socket
import time
from typing import Any, Dict, Iterable, List, Optional, Set

from .. import worker

CPUS = "/sys/devices/system/cpu"
# /proc/sys/kernel/randomize_va_space (Linux, Documentation/admin-guide/sysctl/kernel.rst).
ASLR = {"0": "No randomization", "1": "Conservative randomization", "2": "Full randomization"}
# Keys whose values are no texts. A worker sends all of them as texts.
WHOLE = ("cpu_count", "runnable_threads", "mem_max_rss", "command_max_rss", "inner_loops", "timeit_duplicate", "python_threads", "python_subinterpreter", "threads")
REAL = ("duration", "uptime", "load_avg_1min")


def collect() -> Dict[str, Any]:
    """All facts. It reads files and imports modules, so it must come after the measurements."""
    found: Dict[str, Any] = dict(worker.metadata())
    found.update(of_machine())
    found["date"] = datetime.datetime.now().isoformat(" ")
    found["mem_max_rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {name: value for name, value in found.items() if value != ""}


def of_machine() -> Dict[str, Any]:
    """The facts that any process of this machine sees."""
    found: Dict[str, Any] = {"platform": platform.platform(True, False), "hostname": socket.gethostname()}
    found["aslr"] = ASLR.get(_read("/proc/sys/kernel/randomize_va_space"), "")
    _load(found)
    _boot(found)
    _cpu_model(found)
    count = os.cpu_count() or 1
    found["cpu_count"] = count
    allowed = os.sched_getaffinity(0)
    if len(allowed) < count:
        found["cpu_affinity"] = cpu_list(allowed)
    found["cpu_freq"] = _frequencies(allowed)
    found["cpu_config"] = _configuration(allowed)
    return {name: value for name, value in found.items() if value != ""}


def typed(name: str, text: str) -> Any:
    """A value of a worker, which is a text, with the type that it has in a file."""
    try:
        return int(text) if name in WHOLE else float(text) if name in REAL else text
    except ValueError:
        return text


def _read(path: str) -> str:
    """Text of a small file. Empty if it cannot be read, as on another architecture or in a container."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip().strip("\0")
    except OSError:
        return ""


def _load(found: Dict[str, Any]) -> None:
    words = _read("/proc/loadavg").split()
    if len(words) >= 4:
        found["load_avg_1min"] = float(words[0])
        found["runnable_threads"] = int(words[3].split("/")[0])


def _boot(found: Dict[str, Any]) -> None:
    for line in _read("/proc/stat").splitlines():
        if line.startswith("btime "):
            boot = int(line.split()[1])
            found["boot_time"] = datetime.datetime.fromtimestamp(boot).isoformat(" ")
            found["uptime"] = round(max(0.0, time.time() - boot), 3)


def _cpu_entries() -> List[Dict[str, str]]:
    """The blocks of /proc/cpuinfo. Their keys depend on the architecture."""
    blocks: List[Dict[str, str]] = [{}]
    for line in _read("/proc/cpuinfo").splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            blocks.append({})
        else:
            blocks[-1].setdefault(key.strip(), value.strip())
    return [block for block in blocks if block]


def _cpu_model(found: Dict[str, Any]) -> None:
    for block in _cpu_entries():
        if "model name" in block:
            found["cpu_model_name"] = block["model name"]
            return
        if "machine" in block:  # POWER
            found["cpu_machine"] = block["machine"]


def _frequencies(cpus: Iterable[int]) -> str:
    by_text: Dict[str, List[int]] = {}
    for block in _cpu_entries():
        text = block.get("cpu MHz") or block.get("clock", "").replace("MHz", "")
        number = block.get("processor", "")
        if text and number.isdigit() and int(number) in cpus:
            by_text.setdefault("%.0f MHz" % float(text), []).append(int(number))
    return "; ".join("%s=%s" % (cpu_list(numbers), text) for text, numbers in by_text.items())


def _configuration(cpus: Iterable[int]) -> str:
    nohz_full, isolated = (parse_cpus(_read("%s/%s" % (CPUS, name))) for name in ("nohz_full", "isolated"))
    by_text: Dict[str, List[int]] = {}
    for cpu in sorted(cpus):
        words = []
        for label, name in (("driver", "scaling_driver"), ("governor", "scaling_governor")):
            text = _read("%s/cpu%d/cpufreq/%s" % (CPUS, cpu, name))
            if text:
                words.append("%s:%s" % (label, text))
        words += [label for label, among in (("nohz_full", nohz_full), ("isolated", isolated)) if cpu in among]
        if words:
            by_text.setdefault(", ".join(words), []).append(cpu)
    parts = ["%s=%s" % (cpu_list(numbers), text) for text, numbers in by_text.items()]
    idle = _read(CPUS + "/cpuidle/current_driver")
    return "; ".join(parts + (["idle:" + idle] if idle and idle != "none" else []))


def parse_cpus(text: str) -> Set[int]:
    """The CPUs of a list such as `0-2,5`. Empty for a text that is no list, such as the `(null)` of some kernels."""
    found: Set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            return set()
        found.update(range(int(first), int(last or first) + 1))
    return found


def cpu_list(cpus: Iterable[int]) -> str:
    """The CPUs as a list of ranges: `0-2,5`."""
    parts: List[str] = []
    first: Optional[int] = None
    ordered = sorted(cpus)
    for place, cpu in enumerate(ordered):
        first = cpu if first is None else first
        if place + 1 == len(ordered) or ordered[place + 1] != cpu + 1:
            parts.append(str(first) if first == cpu else "%d-%d" % (first, cpu))
            first = None
    return ",".join(parts)
