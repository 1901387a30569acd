"""The pytest fixture `stillwell`. It measures functions of tests, in forks of the test process.

    def test_parse(stillwell):
        stillwell(parse, TEXT)                    # a line in the table at the end

    def test_not_slower(stillwell):
        stillwell.baseline(parse_old, TEXT)       # the reference, measured in turn with
        result = stillwell(parse, TEXT)           # this function: a calibrated verdict
        assert result.verdict != "slower"

`--stillwell-fail slower:5` fails a test that is certainly more than 5 % slower than its baseline. An undecided test fails only with
`--stillwell-fail undecided`, which alone means `slower` as well. Records of earlier sessions (`--stillwell-compare`) show the place of the
new session among them. They fail no test, because sessions differ by themselves.
"""
import json
import os
import re
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Union

import pytest

from . import binary, forks
from .benchmarks import of_function
from .comparison import Comparison, name_of
from .histogram import value_text
from .place import new_record_path
from .record import Benchmark, read_arms


class Policy(NamedTuple):
    """The value of `--stillwell-fail`."""

    slower: Optional[str]  # `slower:PCT`, in the syntax of --fail-on.
    is_undecided_a_failure: bool


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("stillwell", "benchmarks")
    add = group.addoption
    add("--stillwell-fail", action="append", default=[], metavar="slower:PCT|undecided", help="fail tests with this verdict; repeatable")
    add("--stillwell-record", metavar="FOLDER", help="keep a record for each test there, numbered from 1")
    text = "show the place among the records of the same test in this folder, of --stillwell-record; no verdict"
    add("--stillwell-compare", metavar="FOLDER", help=text)
    add("--stillwell-disable", action="store_true", help="call each function once, and measure nothing")
    add("--stillwell-option", action="append", default=[], metavar="OPTION", help="an option for `stillwell bench`; repeatable")


def pytest_configure(config: Any) -> None:
    config._stillwell_lines = []
    config._stillwell_policy = _policy(config.getoption("--stillwell-fail"))


def _policy(given: List[str]) -> Policy:
    slower = None
    for word in given:
        if re.fullmatch(r"slower(:[0-9]+(\.[0-9]+)?%?)?", word):
            slower = word
        elif word != "undecided":
            raise pytest.UsageError("--stillwell-fail takes slower, slower:PCT or undecided, not %r" % word)
    if "undecided" in given and slower is None:
        slower = "slower"  # A test that must be certainly not slower must also not be slower.
    return Policy(slower, "undecided" in given)


@pytest.fixture
def stillwell(request: Any) -> "Measure":
    return Measure(request)


class Measure:
    """The fixture. A test calls it once, with the function to measure."""

    def __init__(self, request: Any) -> None:
        self.config, self.test = request.config, request.node.nodeid
        self._baseline: Optional[Tuple[Callable[..., Any], Tuple[Any, ...]]] = None
        self._is_used = False

    def baseline(self, function: Callable[..., Any], *args: Any) -> None:
        """Sets the function to compare with, in the same session."""
        if not callable(function):
            raise TypeError("a baseline is a function, not %r" % (function,))
        self._baseline = (function, args)

    def __call__(self, function: Callable[..., Any], *args: Any) -> Union[Comparison, Benchmark, None]:
        """Measures `function(*args)`. Returns a `Comparison` if there is a baseline, else a `Benchmark`; None with `--stillwell-disable`."""
        if self._is_used:
            raise binary.Error("%s measures twice; give each measurement a test of its own" % self.test)
        self._is_used = True
        todo = ([self._baseline] if self._baseline else []) + [(function, args)]
        if self.config.getoption("--stillwell-disable"):
            for one, its_args in todo:
                of_function(one, its_args).measure(1, int, int)
            return None
        names = ["baseline", name_of(function)] if self._baseline else [name_of(function)]
        arms = [(name, of_function(one, its_args), None) for name, (one, its_args) in zip(names, todo)]
        words = [word for option in self.config.getoption("--stillwell-option") for word in option.split("=", 1)]
        slower = self.config._stillwell_policy.slower
        if self._baseline and slower:
            words += ["--fail-on", slower]
        past = self._past()
        path = self._record_path()
        forks.measure(arms, words, path)
        if self._baseline:
            return self._compared(path)
        return self._alone(path, past)

    def _compared(self, path: str) -> Comparison:
        found = Comparison.read(path)
        between = "  [%.3f, %.3f]" % found.interval if found.interval else ""
        ratio = "%.3f" % found.ratio if found.ratio is not None else ""
        self._say("%s %s%s" % (found.verdict.upper(), ratio, between))
        if self.config._stillwell_policy.slower:
            self._judge(path, repr(found))
        return found

    def _alone(self, path: str, past: List[str]) -> Benchmark:
        found = Benchmark(self.test, read_arms(path)[0], path)
        self._say("median %s  n %d" % (value_text(found.median(), found.unit), found.get_nvalue()))
        if past:
            document = json.loads(binary.output_of(["compare", "--json"] + past + [path]))
            self._say("    %s" % _place_among(document["pairs"][0]["comparison"]["evidence"], found.unit))
        return found

    def _judge(self, path: str, text: str) -> None:
        """Lets stillwell decide whether the function is too slow, so that there is one rule for that."""
        policy = self.config._stillwell_policy
        status = binary.status_of(["show", "--fail-on", policy.slower, path])
        if status == 1:
            pytest.fail("%s: too slow (--stillwell-fail %s)\n%s" % (self.test, policy.slower, text), pytrace=False)
        if status == 3 and policy.is_undecided_a_failure:
            pytest.fail("%s: undecided (--stillwell-fail undecided); allow more time\n%s" % (self.test, text), pytrace=False)

    def _file_stem(self) -> str:
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.test)

    def _past(self) -> List[str]:
        """Earlier records of this test, the oldest first."""
        folder = self.config.getoption("--stillwell-compare")
        if not folder:
            return []
        if not os.path.isdir(folder):
            raise binary.Error("--stillwell-compare %s is not a folder of records; --stillwell-record makes one" % folder)
        wanted = re.compile(re.escape(self._file_stem()) + r"\.[0-9]+\.swell")
        paths = [os.path.join(folder, name) for name in os.listdir(folder) if wanted.fullmatch(name)]
        return sorted(paths, key=lambda path: int(path.split(".")[-2]))

    def _record_path(self) -> str:
        folder = self.config.getoption("--stillwell-record")
        if not folder:
            return new_record_path()
        os.makedirs(folder, exist_ok=True)
        number = 1
        while os.path.exists(os.path.join(folder, "%s.%d.swell" % (self._file_stem(), number))):
            number += 1
        return os.path.join(folder, "%s.%d.swell" % (self._file_stem(), number))

    def _say(self, text: str) -> None:
        self.config._stillwell_lines.append((self.test, text))


def _place_among(evidence: Any, unit: str) -> str:
    """The new session among the earlier ones, in words. The program compares the t0 of times, and the medians of the rest."""
    of = "t0" if unit == "second" else "the medians"
    ratio, past = evidence.get("ratio"), evidence.get("past")
    if not ratio:
        return "earlier sessions: no ratio"
    if not past:
        return "earlier session: ratio of %s %.3f (an estimate, not a test)" % (of, ratio["value"])
    ends = (of, ratio["value"], past["n_faster"], past["n_sessions"], past["lowest"], past["highest"])
    return "earlier sessions: ratio of %s %.3f to their median, slower than %d of %d; they range from %.3f to %.3f" % ends


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    lines = config._stillwell_lines
    if lines:
        terminalreporter.section("stillwell")
        width = max(len(test) for test, _ in lines)
        for test, text in lines:
            terminalreporter.write_line("%-*s  %s" % (width, test, text))
