"""A suite of Stillwell from the benchmarks of pyperformance: `stillwell bench pyperformance --arms base=PYTHON,new=PYTHON`.

`python -m pyperf pyperformance_suite [--only=NAME]… PYTHON…` prints it, for Pythons of which the first that has the package
pyperformance tells where the scripts are. With names, only the scripts that can have these benchmarks are asked. A script that does not list its benchmarks in each of the Pythons is left out, with the reason on standard error.
"""
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .. import worker

LISTING_TIMEOUT_S = 120
ONLY = "--only="
MANY = 10  # So many scripts are asked within seconds.
# The part that runs in the Python that has pyperformance. Only its manifest knows which options and tags a variant inherits.
FIND = """
import json
from pyperformance import _manifest
found = []
for one in _manifest.load_manifest(None).benchmarks:
    found.append([one.name, one.runscript, list(one.extra_opts), list(one.tags), list(one._get_metadata_value("dependencies", []))])
print(json.dumps(found))
"""


class Script(NamedTuple):
    """A benchmark script of pyperformance."""

    name: str
    path: str
    options: List[str]
    tags: List[str]
    packages: List[str]  # What pip would install for it.


def environment() -> Dict[str, str]:
    """The variables of the scripts: `import pyperf` is this package."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.join(here, "shadow")] + [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(folders)), "PYPERFORMANCE_RUNID": "stillwell"}


def find(pythons: Sequence[str]) -> List[Script]:
    """The scripts of the first Python that has pyperformance. SystemExit if none has it."""
    reasons = []
    for python in [*pythons, sys.executable]:
        done = subprocess.run(
            shlex.split(python) + ["-c", FIND], env=dict(os.environ, **environment()), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode == 0:
            scripts = [Script(*fields) for fields in json.loads(done.stdout)]
            return sorted(scripts, key=lambda script: script.name)
        reasons.append("%s (%s)" % (python, last_line(done.stderr)))
    raise SystemExit("no Python has the package pyperformance: %s; `pip install pyperformance` in one of them" % ", ".join(reasons))


def last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing"


def not_listed(python: str, script: Script) -> Optional[str]:
    """The reason why this Python does not list the benchmarks of the script. None if it does."""
    (theirs_read, write), (read, theirs_write) = os.pipe(), os.pipe()
    words = shlex.split(python) + [script.path] + script.options + ["%s%d,%d" % (worker.ARGUMENT, theirs_read, theirs_write)]
    try:
        process = subprocess.Popen(
            words, env=dict(os.environ, **environment()), pass_fds=(theirs_read, theirs_write), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        return str(error)
    finally:
        os.close(theirs_read)
        os.close(theirs_write)
    with open(write, "wb") as requests, open(read, encoding="utf-8") as answers:
        try:
            requests.write(b"list\n")
            requests.close()
            _, said = process.communicate(timeout=LISTING_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return "it has not listed its benchmarks for %d s" % LISTING_TIMEOUT_S
        lines = answers.read().splitlines()
    if not lines or process.returncode != 0:
        return last_line(said)
    if lines[-1].startswith("error "):
        return worker.unescape(lines[-1].split(" ", 1)[1])
    return None if any(line.startswith("benchmark ") for line in lines) else "it has no benchmark"


def chosen(scripts: Sequence[Script], names: Sequence[str]) -> List[Script]:
    """The scripts that can have these benchmarks: the name of a benchmark begins with that of its script. All without a name, or if one
    fits none."""
    fits = [[script for script in scripts if name.startswith(script.name)] for name in names]
    if not all(fits):
        return list(scripts)
    found = {script.name for some in fits for script in some}
    return [script for script in scripts if script.name in found or not names]


def sorted_out(pythons: Sequence[str], scripts: Sequence[Script]) -> Tuple[List[Script], List[str]]:
    """The scripts that every Python lists, and a line for each other one."""
    jobs = [(python, script) for script in scripts for python in dict.fromkeys(pythons)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda job: not_listed(*job), jobs)
        reasons = {(python, script.name): reason for (python, script), reason in zip(jobs, found)}
    usable, left_out = [], []
    for script in scripts:
        failed = [(python, reasons[python, script.name]) for python in dict.fromkeys(pythons) if reasons[python, script.name] is not None]
        if not failed:
            usable.append(script)
            continue
        python, reason = failed[0]
        packages = [name for name in script.packages if name != "pyperf"]
        advice = "; it needs %s" % ", ".join(packages) if packages else ""
        left_out.append("%s (%s: %s%s)" % (script.name, python, reason, advice))
    return usable, left_out


def text_of(scripts: Sequence[Script]) -> str:
    """The suite file. A string of JSON is a basic string of TOML."""
    lines = ['name = "pyperformance"']
    variables = ", ".join("%s = %s" % (name, json.dumps(value)) for name, value in environment().items())
    for script in scripts:
        command = " ".join(shlex.quote(word) for word in [script.path] + script.options)
        lines += ["", "[[benchmark]]", "program = " + json.dumps("{python} -u " + braces(command))]
        lines += ["tags = " + json.dumps(script.tags), "env = { %s }" % braces(variables)]
    return "\n".join(lines) + "\n"


def braces(text: str) -> str:
    """The text as it is: a path with braces cannot be written in a suite, which would fill them in."""
    if "{python}" in text or "{prefix}" in text or "{variant}" in text:
        raise SystemExit("the path of pyperformance has a placeholder of suites in it: %s; install it elsewhere" % text)
    return text


def main(words: Sequence[Any]) -> None:
    only = [word[len(ONLY):] for word in words if word.startswith(ONLY)]
    words = [word for word in words if not word.startswith(ONLY)]
    if not words:
        raise SystemExit("usage: python -m pyperf pyperformance_suite [--only=NAME]… PYTHON…")
    scripts = chosen(find(words), only)
    if len(scripts) > MANY:
        print("asking the %d scripts of pyperformance for their benchmarks; this takes a minute" % len(scripts), file=sys.stderr, flush=True)
    usable, left_out = sorted_out(words, scripts)
    for line in left_out:
        print("left out: " + line, file=sys.stderr)
    print("%d of the %d scripts of pyperformance can be measured" % (len(usable), len(scripts)), file=sys.stderr)
    if not usable:
        raise SystemExit("no script of pyperformance works in %s" % ", ".join(words))
    sys.stdout.write(text_of(usable))
