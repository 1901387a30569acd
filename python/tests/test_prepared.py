"""Set-up once per process, parameters and threads: the benchmarks alone, and in scripts as workers."""
import asyncio
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Worker, decode, environment  # noqa: E402
from real import RealCase  # noqa: E402
from scripts import ScriptCase  # noqa: E402
from stillwell import variants  # noqa: E402
from stillwell.benchmarks import Coroutine, Function, Threads, TimeFunction  # noqa: E402


class Ticks:
    """A clock that counts its readings."""

    def __init__(self):
        self.n = 0

    def __call__(self):
        self.n += 1
        return self.n


class Prepared(unittest.TestCase):
    def test_order_of_the_calls(self):
        for kind, measured in ((Function, lambda made, x: calls.append((made, x))), (TimeFunction, lambda n, made, x: calls.append((made, x)) or 1.0)):
            calls = []
            benchmark = kind(measured, (7,), lambda: calls.append("setup") or "made", lambda made: calls.append(("end", made)))
            self.assertEqual(calls, [])  # Making it, as the listing does, prepares nothing.
            benchmark.measure(1, Ticks(), Ticks())
            benchmark.measure(1, Ticks(), Ticks())
            self.assertEqual(calls, ["setup", ("made", 7), ("made", 7)])
            benchmark.finish({})
            benchmark.finish({})
            self.assertEqual(calls[3:], [("end", "made")])

    def test_setup_is_not_timed(self):
        clock = Ticks()
        benchmark = Function(lambda: None, (), lambda: clock() and None)
        self.assertEqual(benchmark.measure(5, clock, int)[0], 1)

    def test_what_was_never_measured_is_not_cleaned_up(self):
        Function(len, ((),), self.fail, self.fail).finish({})

    def test_nothing_from_setup_is_no_argument(self):
        calls = []
        Function(lambda *args: calls.append(args), (1,), lambda: None).measure(2, Ticks(), Ticks())
        self.assertEqual(calls, [(1,), (1,)])

    def test_a_coroutine_function_needs_bench_async_func(self):
        async def setup():
            pass

        with self.assertRaisesRegex(TypeError, "only bench_async_func awaits"):
            Function(len, ((),), setup).measure(1, Ticks(), Ticks())
        for wrong in ((1,), (len, (), 1), (len, (), None, 1)):
            with self.assertRaises(TypeError):
                Function(*wrong)

    def test_coroutines_share_the_loop_of_their_setup(self):
        loops = []

        async def setup():
            loops.append(asyncio.get_running_loop())
            return "made"

        async def run(made, x):
            loops.append(asyncio.get_running_loop())
            self.assertEqual((made, x), ("made", 3))

        async def teardown(made):
            loops.append(asyncio.get_running_loop())

        benchmark = Coroutine(run, (3,), None, setup, teardown)
        for _ in range(2):
            benchmark.measure(2, Ticks(), Ticks())
        benchmark.finish({})
        self.assertEqual((len(loops), len(set(map(id, loops)))), (6, 1))
        self.assertTrue(loops[0].is_closed())

    def test_coroutines_alone_have_a_loop_each(self):
        loops = []

        async def run():
            loops.append(asyncio.get_running_loop())

        benchmark = Coroutine(run)
        for _ in range(2):
            benchmark.measure(2, Ticks(), Ticks())
        self.assertEqual([loops[0] is loops[n] for n in range(4)], [True, True, False, False])


class ThreadsTogether(unittest.TestCase):
    def test_they_run_at_the_same_time(self):
        # Each call waits until all threads are in one: threads that run one after the other would wait for ever.
        together = threading.Barrier(3)
        seen = set()

        def call():
            together.wait(60)
            seen.add(threading.get_ident())

        wall, _ = Threads(3, call).measure(4, Ticks(), Ticks())
        self.assertEqual(len(seen), 3)
        self.assertGreater(wall, 0)

    def test_an_error_in_a_thread_is_one_of_the_benchmark(self):
        with self.assertRaises(ZeroDivisionError):
            Threads(2, lambda: 1 // 0).measure(1, Ticks(), Ticks())

    def test_the_table(self):
        lines = variants.scaling([1, 2, 8], [[0.8, 1.2], [0.5], [0.0005, 0.0005]]).splitlines()
        self.assertEqual([line.split() for line in lines[1:]], [
            ["1", "1", "20", "%", "1.00", "times", "100", "%"], ["2", "2", "?", "2.00", "times", "100", "%"],
            ["8", "2000", "0", "%", "2000.00", "times", "25000", "%"]])


class Combinations(unittest.TestCase):
    def test_names(self):
        found = list(variants.combinations("sort-{n}", {"n": [1, 20], "kind": ["a", "b"]}))
        self.assertEqual([name for name, _ in found], ["sort-1[kind=a]", "sort-1[kind=b]", "sort-20[kind=a]", "sort-20[kind=b]"])
        self.assertEqual(found[3][1], {"n": 20, "kind": "b"})
        self.assertEqual(variants.described({"n": 1, "kind": "a", "x": [2]}), {"parameter_n": 1, "parameter_kind": "a", "parameter_x": "[2]"})
        for wrong in ({"n": []}, {"n": "abc"}, {"a b": [1]}):
            with self.assertRaises(TypeError, msg=wrong):
                list(variants.combinations("x", wrong))


SCRIPT = """
    import stillwell
    def make(n):
        print("made", n)
        return list(range(n))
    def clean(data):
        print("cleaned", len(data))
    runner = stillwell.Runner()
    runner.bench_func("sum {n}", lambda data, n: sum(data) if len(data) == n else 1 // 0, setup=make, teardown=clean, parameters={"n": [3, 5]})
    runner.timeit("range", "range(n)", parameters={"n": [1]})
    runner.bench_threads("len", len, (), thread_counts=[1, 3])
"""
NAMES = ["sum 3", "sum 5", "range[n=1]", "len[threads=1]", "len[threads=3]"]


class Scripts(ScriptCase):
    def worker(self):
        worker = Worker([sys.executable, self.write("bench.py", SCRIPT)], env=environment(), cwd=self.folder)
        self.addCleanup(worker.end)
        worker.read_line()
        return worker

    def test_the_list_prepares_nothing(self):
        worker = self.worker()
        lines = [line.split(" ") for line in worker.ask_lines("list")]
        self.assertEqual([decode(words[1]) for words in lines], NAMES)
        self.assertEqual([words[2] for words in lines], ["inner_loops=1"] * 4 + ["inner_loops=3"])
        self.assertEqual((worker.wait(), worker.output()), (0, ["", ""]))

    def test_each_process_prepares_once_and_cleans_up(self):
        for with_metadata in (True, False):
            worker = self.worker()
            self.assertEqual(worker.ask("select sum\\x205"), "ok")
            for _ in range(3):
                self.assertRegex(worker.ask("run 2"), r"\Atime [0-9]+ [0-9]+\Z", worker.output())
            if with_metadata:
                self.assertIn("meta parameter_n 5", worker.ask_lines("metadata"))
            self.assertEqual(worker.ask("quit"), "bye")
            self.assertEqual((worker.wait(), worker.output()[0]), (0, "made 5\ncleaned 5\n"))

    def test_the_state_of_the_interpreter(self):
        worker = self.worker()
        worker.ask("select sum\\x205")
        found = dict(line.split(" ")[1:] for line in worker.ask_lines("metadata"))
        self.assertEqual(found["python_threads"], "1")
        if hasattr(sys, "_is_gil_enabled"):
            self.assertEqual(found["python_gil"], "enabled" if sys._is_gil_enabled() else "disabled")
        self.assertEqual("python_jit" in found, hasattr(sys, "_jit"))
        self.assertNotIn("python_subinterpreter", found)


class RealThreads(RealCase):
    def test_a_scan_shows_the_throughput(self):
        self.write("bench.py", SCRIPT)
        out, _ = self.run_python("bench.py", "-p", "2", "-n", "2", "--thread-counts", "1,2")
        rows = [line.split() for line in out[out.index("threads  calls per second"):].splitlines()]
        self.assertEqual([row[0] for row in rows], ["threads", "1", "2"])
        self.assertEqual(rows[1][4:6], ["1.00", "times"])
        self.assertEqual(len(self.records()), 5)


if __name__ == "__main__":
    unittest.main()
