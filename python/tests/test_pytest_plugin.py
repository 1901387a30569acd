"""The pytest fixture, with a stand-in for the program. Skipped without pytest."""
import importlib.util
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scripts import ScriptCase  # noqa: E402

TESTS = """
    calls = []
    def work(*args):
        calls.append(args)
    async def wait():
        calls.append(())
    def test_alone(stillwell):
        found = stillwell(work, 1, 2)
        assert found is None or found.get_nvalue() == 2
        assert calls in ([], [(1, 2)])
        calls.clear()
    def test_pair(stillwell):
        stillwell.baseline(wait)
        found = stillwell(work, 3)
        assert found is None or found.verdict in ("slower", "undecided", "same")
        assert calls in ([], [(), (3,)])
    def test_without():
        pass
"""


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
class Plugin(ScriptCase):
    def pytest(self, *words, status=0, tests=TESTS, **changes):
        path = self.write("test_it.py", tests)
        flags = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "stillwell.pytest_plugin", "-q", path]
        out, err = self.run_python(*flags, *words, status=status, **changes)
        return out + err

    def asked(self, verb):
        return [words for words in self.log("asked") if words[0] == verb]

    def test_table(self):
        out = self.pytest()
        self.assertIn("3 passed", out)
        self.assertRegex(out, r"test_it\.py::test_alone  median [0-9.]+ .?s  n 2\n")
        self.assertRegex(out, r"test_it\.py::test_pair   SLOWER 1\.500  \[1\.250, 2\.000\]\n")
        self.assertEqual([words[-2:] for words in self.asked("bench")], [["--command-name", "work"]] * 2)
        self.assertEqual(self.asked("bench")[1][-4:], ["--command-name", "baseline", "--command-name", "work"])

    def test_disable(self):
        out = self.pytest("--stillwell-disable")
        self.assertIn("3 passed", out)
        self.assertEqual(self.log(), [])

    def test_slower_fails(self):
        out = self.pytest("--stillwell-fail", "slower:5", status=1)
        self.assertIn("1 failed, 2 passed", out)
        self.assertIn("test_it.py::test_pair: too slow (--stillwell-fail slower:5)", out)
        self.assertIn("TEXT <of>", out)
        self.assertIn("--fail-on slower:5", " ".join(self.asked("bench")[1]))
        self.assertNotIn("--fail-on", self.asked("bench")[0])
        self.assertIn("3 passed", self.pytest("--stillwell-fail", "slower:5", FAKE_VERDICT="same"))

    def test_undecided_fails_when_asked(self):
        self.assertIn("3 passed", self.pytest("--stillwell-fail", "slower", FAKE_VERDICT="undecided"))
        out = self.pytest("--stillwell-fail", "slower", "--stillwell-fail", "undecided", status=1, FAKE_VERDICT="undecided")
        self.assertIn("test_pair: undecided", out)
        self.assertIn("UNDECIDED 1.100\n", out)

    def test_undecided_alone(self):
        self.assertIn("test_pair: undecided", self.pytest("--stillwell-fail", "undecided", status=1, FAKE_VERDICT="undecided"))
        self.assertIn("test_pair: too slow", self.pytest("--stillwell-fail", "undecided", status=1))

    def test_wrong_option(self):
        self.assertIn("--stillwell-fail takes slower, slower:PCT or undecided, not 'faster'", self.pytest("--stillwell-fail", "faster", status=4))

    def test_records(self):
        for _ in range(5):
            out = self.pytest("--stillwell-record", "kept", "--stillwell-compare", "kept" if os.path.exists(self.path("kept")) else "")
        self.assertEqual(len(os.listdir(self.path("kept"))), 10)
        self.assertIn("earlier sessions: ratio of t0 1.100 to their median, slower than 4 of 4; they range from 0.980 to 1.200", out)
        first = [words for words in self.asked("compare")][0]
        self.assertEqual(first[1:], ["--json"] + ["kept/test_it.py-test_alone.%d.swell" % number for number in (1, 2)])

    def test_earlier_sessions_fail_no_test(self):
        for _ in range(2):
            out = self.pytest("--stillwell-record", "kept", "--stillwell-compare", "kept" if os.path.exists(self.path("kept")) else "",
                              "--stillwell-fail", "undecided", FAKE_VERDICT="same")
        self.assertIn("3 passed", out)
        self.assertIn("earlier session: ratio of t0 1.100 (an estimate, not a test)", out)
        self.assertEqual([words for words in self.asked("compare") if "--fail-on" in words], [])

    def test_missing_folder(self):
        self.assertIn("--stillwell-compare none is not a folder of records", self.pytest("--stillwell-compare", "none", status=1))

    def test_options_for_the_program(self):
        self.pytest("--stillwell-option=--budget=2s", "--stillwell-option=--fast")
        self.assertIn("--budget 2s --fast --command-name work", " ".join(self.asked("bench")[0]))

    def test_mistakes(self):
        out = self.pytest(tests="""
            def test_twice(stillwell):
                stillwell(len, ())
                stillwell(len, ())
            def test_baseline(stillwell):
                stillwell.baseline(5)
        """, status=1)
        self.assertIn("test_twice measures twice", out)
        self.assertIn("a baseline is a function, not 5", out)


if __name__ == "__main__":
    unittest.main()
