"""A part of `make test`: one command with its outcome, its wall and CPU time, and the counts of its tests."""
import os
import pathlib
import re
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
IS_CI = os.environ.get("CI", "") not in ("", "0", "false")
# What the `run` scripts and automake's tests end with when they are skipped.
SKIPPED_STATUS = 77
REQUIRED_IN_CI = ("report", "slurm", "vm")
PRINTING = threading.Lock()
# The first line of a report about a failed test: of cargo test, unittest, the emulated machines, the links and node.
FAILURE = re.compile(r"---- \S+ stdout ----|(FAIL|ERROR): |FAILED |✖ |not ok ")
FAILURE_LINES, FAILURE_COLUMNS = 15, 400
# How long a test took, as libtest (--report-time), `.ci/unittests`, the emulated machines and node print it.
TIMES = [re.compile(pattern) for pattern in (
    r"test (?P<name>\S+) .*<(?P<s>[0-9.]+)s>$", r"took (?P<s>[0-9.]+) s: (?P<name>\S+)",
    r"(?:ok|FAILED) (?P<name>\w+) \((?P<s>[0-9]+) s\)", r"\s*[✔✖] (?P<name>.*) \((?P<ms>[0-9.]+)ms\)")]


class Part:
    """One command and its outcome: counts of tests, (name, reason) of those that were skipped."""

    def __init__(self, name, *words, count=lambda part: (0, 0, 0), env=None):
        self.name, self.words, self.count, self.env = name, words, count, env or {}
        self.lines, self.status, self.wall_s, self.cpu_s = [], None, 0.0, 0.0
        self.passed, self.failed, self.skipped, self.reasons = 0, 0, 0, []

    def run(self, is_live=True):
        title = "== %s: %s" % (self.name, " ".join(map(str, self.words)))
        start = time.monotonic()
        say(title if is_live else title + " (output follows at its end)")
        process = subprocess.Popen(self.words, cwd=ROOT, env=dict(os.environ, **self.env), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in process.stdout:
            self.lines.append(line.rstrip("\n"))
            if is_live:
                say(self.lines[-1])
        # With what its descendants used that were waited for. Popen would reap it without saying.
        _, status, used = os.wait4(process.pid, 0)
        self.status = process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = used.ru_utime + used.ru_stime
        self.wall_s = time.monotonic() - start
        if not is_live:
            say("\n".join([title, *self.lines]))
        self.judge()
        return self

    def judge(self):
        prefix = re.compile(r"^skipped: (?:%s: )?(.*)" % re.escape(self.name))
        self.reasons = [match[1] for match in map(prefix.match, self.lines) if match]
        self.passed, self.failed, self.skipped = self.count(self)
        if self.status == SKIPPED_STATUS:
            self.skipped = max(self.skipped, 1)
            if IS_CI and self.name in REQUIRED_IN_CI:
                self.reasons.append("CI must not skip this part")
                self.failed, self.skipped = 1, 0
        elif self.status != 0:
            # A command that fails without a failed test, as a compiler does.
            self.failed = max(self.failed, 1)

    def failures(self):
        """What each failed test said, shortened; of a part without such tests its last lines."""
        said, taken = [], 0
        for line in self.lines:
            if FAILURE.match(line):
                said.append("")
                taken = FAILURE_LINES
            if taken:
                said.append(line[:FAILURE_COLUMNS])
                taken -= 1
        return said or [line[:FAILURE_COLUMNS] for line in self.lines[-FAILURE_LINES:]]

    def times(self):
        """(seconds, name) of its tests."""
        for line in self.lines:
            for match in filter(None, (pattern.match(line) for pattern in TIMES)):
                fields = match.groupdict()
                yield (float(fields["s"]) if "s" in fields else float(fields["ms"]) / 1e3), fields["name"]

    def outcome(self):
        return "FAILED" if self.failed else "skipped" if self.status == SKIPPED_STATUS else "ok"


def say(text):
    with PRINTING:
        print(text, flush=True)


class Lane:
    """A thread that runs these parts one after the other, beside others, and after other lanes."""

    def __init__(self, *parts, after=()):
        self.parts, self.after = parts, after
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        for lane in self.after:
            lane.thread.join()
        for part in self.parts:
            part.run(is_live=False)

    def end(self):
        self.thread.join()
        return list(self.parts)


def total(part, pattern):
    """The sum of the numbers that the pattern finds in the output."""
    return sum(int(number) for line in part.lines for number in re.findall(pattern, line))


def count_cargo(part):
    """Counts of cargo test. A test that wrote a line into the list of skipped tests was not passed."""
    path = pathlib.Path(part.env["STILLWELL_SKIPPED"])
    lines = path.read_text().splitlines() if path.exists() else []
    failed_names = {match[1] for match in (re.match(r"test (\S+) .*FAILED( <.*>)?$", line) for line in part.lines) if match}
    names = {line.split("\t")[0] for line in lines}
    part.reasons = sorted({line.replace("\t", ": ") for line in lines})
    passed, failed, ignored = (total(part, r"test result: .*?(\d+) %s" % word) for word in ("passed", "failed", "ignored"))
    n_skipped = len(names - failed_names)
    return passed - n_skipped, failed, ignored + n_skipped


def count_unittests(part):
    match = re.match(r"counts: (\d+) passed, (\d+) failed, (\d+) skipped", part.lines[-1] if part.lines else "")
    return tuple(map(int, match.groups())) if match else (0, 0, 0)


def count_slurm(part):
    n, failed = total(part, r"^Ran (\d+) test"), total(part, r"(?:failures|errors)=(\d+)")
    skipped = total(part, r"skipped=(\d+)")
    return n - failed - skipped, failed, skipped


def count_node(part):
    passed, failed, cancelled, skipped = (total(part, r"^\S+ %s (\d+)$" % word) for word in ("pass", "fail", "cancelled", "skipped"))
    return passed, failed + cancelled, skipped


def count_vm(part):
    starts = [line.split(" ")[0] for line in part.lines]
    return starts.count("ok"), starts.count("FAILED"), len(part.reasons)


def count_links(part):
    broken = total(part, r"^\d+ links, (\d+) broken")
    return total(part, r"^(\d+) links") - broken, broken, 0


def count_experiments(part):
    """One for each experiment; the first that fails is the last."""
    n, failed = sum(line.startswith("== ") for line in part.lines), int(part.status != 0)
    return max(0, n - failed), failed, 0
