"""A script with a Runner as a worker: `list`, `select` and `run` for each kind of benchmark."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import PACKAGE_FOLDER, Worker, decode, environment, find_interpreter  # noqa: E402
from scripts import ScriptCase  # noqa: E402

SCRIPT = """
    import stillwell as pyperf
    import asyncio, atexit, sys
    assert not any('stillwell-worker' in word for word in sys.argv), sys.argv
    atexit.register(lambda: print("cleaned"))
    def function(*args):
        counted.append(args)
    def timed(loops, factor):
        return loops * factor
    async def wait(x):
        counted.append(x)
        await asyncio.sleep(0)
    def fails():
        raise KeyError("a b")
    counted = []
    runner = pyperf.Runner(metadata={"project": "river"})
    runner.argparser.add_argument("--own")
    print("options", runner.parse_args().own, runner.args.worker)
    try:
        print(runner.bench_func("call é", function, 1, 2, inner_loops=10, metadata={"size": 3}))
        print(runner.bench_time_func("timed", timed, 0.5))
        print(runner.bench_async_func("async", wait, 5))
        runner.bench_async_func("own loop", wait, 5, loop_factory=asyncio.new_event_loop)
        runner.timeit("x + 1", setup="x = seen", duplicate=4, globals={"seen": 3})
        runner.timeit("no stmt", "not_there")
        runner.bench_command("true", ["true"])
        runner.bench_command("false", ["false"])
        runner.bench_func("fails", fails)
    finally:
        print("counted", len(counted))
"""
NAMES = ["call é", "timed", "async", "own loop", "x + 1", "no stmt", "true", "false", "fails"]


class ScriptAsWorker(ScriptCase):
    def start(self, text=SCRIPT, words=(), python=sys.executable):
        path = self.write("bench.py", text)
        worker = Worker([python, path] + list(words), env=environment(), cwd=self.folder)
        self.addCleanup(worker.end)
        return worker

    def selected(self, name, **options):
        worker = self.start(**options)
        self.assertTrue(worker.read_line().startswith("stillwell 1 language=python "))
        word = "".join("\\x%02x" % byte for byte in name.encode())
        self.assertEqual(worker.ask("select " + word), "ok", worker.output())
        return worker

    def assert_error(self, answer, start):
        self.assertTrue(answer is not None and answer.startswith("error "), answer)
        self.assertTrue(decode(answer[6:]).startswith(start), decode(answer[6:]))

    def test_list(self):
        worker = self.start()
        self.assertNotIn("source=1", worker.read_line())
        lines = [line.split(" ") for line in worker.ask_lines("list")]
        self.assertEqual([decode(words[1]) for words in lines], NAMES)
        keys = ["inner_loops=1"] * len(NAMES)
        keys[0], keys[4] = "inner_loops=10", "inner_loops=4"
        self.assertEqual([words[2] for words in lines], keys)
        self.assertEqual([words[3:] for words in lines], [[], ["timer=own"]] + [[]] * 7)
        self.assertEqual(worker.wait(), 0)
        self.assertEqual(worker.output(), ["options None True\nNone\nNone\nNone\ncounted 0\ncleaned\n", ""])

    def test_function(self):
        worker = self.selected("call é", words=["--own", "7"])
        self.assertRegex(worker.ask("run 5"), r"\Atime [0-9]+ [0-9]+\Z")
        self.assertRegex(worker.ask("run 6"), r"\Atime [0-9]+ [0-9]+\Z")
        metadata = worker.ask_lines("metadata")
        self.assertIn("meta project river", metadata)
        self.assertIn("meta size 3", metadata)
        self.assertIn("meta python_implementation " + sys.implementation.name, metadata)
        self.assertEqual(worker.ask("quit"), "bye")
        self.assertEqual(worker.wait(), 0)
        # The script skips the other benchmarks, and runs its own `finally` and `atexit`.
        self.assertEqual(worker.output(), ["options 7 True\ncounted 11\ncleaned\n", ""])

    def test_other_kinds(self):
        for name, loops, counted in (("async", 3, 3), ("own loop", 3, 3), ("x + 1", 9, 0), ("true", 2, 0)):
            worker = self.selected(name)
            self.assertRegex(worker.ask("run %d" % loops), r"\Atime [0-9]+ [0-9]+\Z", (name, worker.output()))
            self.assertEqual(worker.wait(), 0)
            self.assertIn("counted %d\ncleaned\n" % counted, worker.output()[0])

    def test_own_time(self):
        worker = self.selected("timed")
        self.assertEqual(worker.ask("run 3").split(" ")[:2], ["time", "1500000000"])

    def test_failures(self):
        for name, start in (("fails", "KeyError: 'a b'"), ("no stmt", "NameError: name 'not_there'"), ("false", "RuntimeError: false ended with status 1")):
            worker = self.selected(name)
            self.assert_error(worker.ask("run 1"), start)
            self.assert_error(worker.ask("run 1"), start)
            self.assertEqual(worker.ask("quit"), "bye")
            self.assertEqual(worker.wait(), 0)

    def test_unknown_name(self):
        worker = self.start()
        worker.read_line()
        self.assert_error(worker.ask("select nothing"), "LookupError: there is no benchmark 'nothing'; the program has 'call é', ")
        self.assertEqual(worker.wait(), 0)

    def test_requests_out_of_turn(self):
        worker = self.start()
        worker.read_line()
        self.assert_error(worker.ask("run 1"), "LookupError")
        self.assertEqual(worker.ask("gc off"), "ok")
        self.assertEqual(worker.ask("source setup 0"), r"error unknown\x20request")
        self.assertEqual(worker.ask("select timed"), "ok")
        self.assert_error(worker.ask("select async"), "LookupError: a process takes one")
        self.assert_error(worker.ask("list"), "LookupError: a process takes one")

    def test_end_of_file(self):
        for name in (None, "timed"):
            worker = self.start() if name is None else self.selected(name)
            self.assertEqual(worker.wait(), 0)
            self.assertTrue(worker.output()[0].endswith("cleaned\n"))

    def test_script_that_fails(self):
        worker = self.start("import stillwell\n1 / 0")
        self.assertIsNone(worker.read_line())
        self.assertEqual(worker.wait(), 1)
        worker = self.start("import stillwell\nstillwell.Runner().bench_func('a', len)\n1 / 0")
        worker.read_line()
        self.assert_error(worker.ask("list"), "ZeroDivisionError: ")
        self.assertEqual(worker.wait(), 1)

    def test_script_without_benchmarks(self):
        worker = self.start("import stillwell\nprint('nothing')")
        self.assertTrue(worker.read_line().startswith("stillwell 1 "))
        self.assertEqual(worker.ask_lines("list"), [])
        self.assertEqual(worker.wait(), 0)

    def test_script_that_forks(self):
        worker = self.start("""
            import os, sys, stillwell
            if os.fork() == 0:
                stillwell.Runner().bench_func("child", len)
                sys.exit(0)
            os.wait()
            stillwell.Runner().bench_func("parent", len, ())
        """)
        worker.read_line()
        self.assertEqual(worker.ask_lines("list"), ["benchmark parent inner_loops=1"])
        self.assertIsNone(worker.read_line())

    def test_wrong_times(self):
        for value in ("-1.0", "float('nan')", "float('inf')", "None", "'1'"):
            worker = self.selected("a", text="import stillwell\nstillwell.Runner().bench_time_func('a', lambda loops: %s)" % value)
            self.assert_error(worker.ask("run 1"), "ValueError: the function returned")

    def test_wrong_fds(self):
        out, err = self.run_python("-c", "import stillwell", "--stillwell-worker=998,999", status=1, PYTHONPATH=PACKAGE_FOLDER)
        self.assertIn("--stillwell-worker=998,999: not two open files", err)

    def test_every_python_from_3_8_on(self):
        tried = []
        for label in ["3.%d" % minor for minor in range(8, 15)] + ["pypy3", "3.11-dbg", "3.14t"]:
            python = find_interpreter(label)
            if python is None:
                continue
            tried.append(label)
            with self.subTest(label):
                worker = self.start(python=python)
                worker.read_line()
                self.assertEqual(len(worker.ask_lines("list")), len(NAMES), worker.output())
                for name in ("async", "x + 1", "timed"):
                    worker = self.selected(name, python=python)
                    self.assertTrue(worker.ask("run 3").startswith("time "))
                    self.assertEqual(worker.wait(), 0)
                worker = self.start("import stillwell\nstillwell.Runner().bench_func('a', len)\n1 / 0", python=python)
                worker.read_line()
                self.assert_error(worker.ask("list"), "ZeroDivisionError: ")
        self.assertTrue(tried)


if __name__ == "__main__":
    unittest.main()
