"""Files of benchmarks: pyperf's JSON of version 1.0, compressed if the name ends with `.gz`. Versions 5 and 6 are read, too."""
import gzip
import json
import os
import sys
from typing import Any, Dict, List, Sequence

from .run import Metadata, Run, common

VERSION = "1.0"


def read(file: Any) -> List[List[Run]]:
    """The runs of each benchmark. `file` is a name, `-` for standard input, or an open text file."""
    if not isinstance(file, (str, os.PathLike)):
        return parse(file.read())
    name = os.fspath(file)
    if name == "-":
        return parse(sys.stdin.read())
    if name.endswith(".gz"):
        with gzip.open(name, "rt", encoding="utf-8") as packed:
            return parse(packed.read(), name)
    with open(name, encoding="utf-8") as plain:
        return parse(plain.read(), name)


def parse(text: str, name: str = "the text") -> List[List[Run]]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ValueError("%s is not JSON: %s" % (name, error)) from None
    version = document.get("version") if isinstance(document, dict) else None
    if version not in (VERSION, 5, 6):
        raise ValueError("%s is not a file of pyperf that is known: its version is %r, not %r, 6 or 5" % (name, version, VERSION))
    outer = document.get("metadata", {})
    benchmarks = [_runs(benchmark, outer, version) for benchmark in document["benchmarks"]]
    if not benchmarks:
        raise ValueError("%s has no benchmark" % name)
    return benchmarks


def _runs(benchmark: Dict[str, Any], outer: Metadata, version: Any) -> List[Run]:
    of_benchmark = benchmark.get("metadata") or benchmark.get("common_metadata") or {}
    runs = []
    for run in benchmark["runs"]:
        metadata = dict(outer, **of_benchmark)
        metadata.update(run.get("metadata", {}))
        values = run.get("values") or run.get("samples") or []
        warmups = [(loops, value) for loops, value in run.get("warmups", [])]
        if version != VERSION:  # A warm-up was the time of all its loops.
            inner_loops = metadata.get("inner_loops", 1)
            warmups = [(loops, value / (loops * inner_loops)) for loops, value in warmups]
        runs.append(Run(values, warmups, metadata, collect_metadata=False))
    return runs


def document_of(benchmarks: Sequence[Sequence[Run]]) -> Dict[str, Any]:
    """The document of a file. What all share stands once: in the document, or in a benchmark."""
    outer = common([run.get_metadata() for runs in benchmarks for run in runs])
    found = []
    for runs in benchmarks:
        shared = common([run.get_metadata() for run in runs])
        benchmark: Dict[str, Any] = {"runs": [_run(run, shared) for run in runs]}
        own = {key: value for key, value in shared.items() if key not in outer}
        if own:
            benchmark["metadata"] = own
        found.append(benchmark)
    document: Dict[str, Any] = {"version": VERSION, "benchmarks": found}
    if outer:
        document["metadata"] = outer
    return document


def _run(run: Run, shared: Metadata) -> Dict[str, Any]:
    own = {key: value for key, value in run.get_metadata().items() if key not in shared}
    found: Dict[str, Any] = {"metadata": own} if own else {}
    if run.warmups:
        found["warmups"] = [list(warmup) for warmup in run.warmups]
    if run.values:
        found["values"] = list(run.values)
    return found


def text_of(benchmarks: Sequence[Sequence[Run]], compact: bool = True) -> str:
    document = document_of(benchmarks)
    if compact:
        return json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"
    return json.dumps(document, sort_keys=True, indent=4) + "\n"


def write(file: Any, benchmarks: Sequence[Sequence[Run]], compact: bool = True, replace: bool = False) -> None:
    """Writes to an open text file or to a name. FileExistsError if it exists and `replace` is false."""
    text = text_of(benchmarks, compact)
    if not isinstance(file, (str, os.PathLike)):
        file.write(text)
        return
    name, mode = os.fspath(file), "w" if replace else "x"
    if name.endswith(".gz"):
        with open(name, mode + "b") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="") as packed:
            packed.write(text.encode("utf-8"))
    else:
        with open(name, mode, encoding="utf-8") as plain:
            plain.write(text)
