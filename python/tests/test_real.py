"""The package with the real program. The tests check the structure and direction of results, never times."""
import importlib.util
import json
import os
import sys
import unittest
from html.parser import HTMLParser

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import find_interpreter  # noqa: E402
from real import PROGRAM, RealCase  # noqa: E402
from stillwell.pyperf_compat import BenchmarkSuite  # noqa: E402

KINDS = """
    import asyncio, time
    import stillwell
    async def wait():
        await asyncio.sleep(0)
    def timed(loops, factor):
        begin = time.perf_counter()
        for _ in range(loops):
            sum(range(factor))
        return time.perf_counter() - begin
    runner = stillwell.Runner(metadata={"project": "river"})
    found = [
        runner.bench_func("call 'é\\n\\"", sorted, [3, 1, 2]),
        runner.bench_time_func("timed", timed, 50, inner_loops=2),
        runner.bench_async_func("async", wait),
        runner.timeit("x + 1", setup="x = 1", duplicate=4),
        runner.bench_command("true", ["true"]),
    ]
    if not runner.args.worker:
        for benchmark in found:
            assert benchmark.get_nvalue() >= 1 and all(value > 0 for value in benchmark.get_values()), benchmark
            assert min(benchmark.get_values()) <= benchmark.mean() <= max(benchmark.get_values())
            assert benchmark.unit == "second"
        print([benchmark.name for benchmark in found])
"""
WORK = """
    import stillwell
    def work():
        sum(range(300))
    def much():
        for _ in range(4):
            work()
"""
FAST = ["-p", "4", "-n", "3", "-l", "64"]
# So few pairs can show a difference by a factor of four, and take seconds on a busy machine.
N_PAIRS = 12


class Tags(HTMLParser):
    """Fails for a tag that is not closed in the right place."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Scripts(RealCase):
    def test_every_kind(self):
        path = self.write("bench é.py", KINDS)
        out, err = self.run_python(path, *FAST)
        self.assertEqual(err, "")
        names = ["call 'é\n\"", "timed", "async", "x + 1", "true"]
        self.assertEqual(out.splitlines()[-1], repr(names))
        records = self.records()
        self.assertEqual(len(records), 5)
        for record in records:
            self.assertIn("record: " + record, out)
            self.assertEqual(self.end_of(record)[0], "complete")

    def test_script_from_another_folder(self):
        os.mkdir(self.path("else where"))
        self.write("helper.py", "value = [3, 1]")
        path = self.write("bench.py", "import helper, stillwell\nstillwell.Runner().bench_func('a', sorted, helper.value)")
        self.run_python(path, *FAST, cwd=self.path("else where"))
        self.run_python("../bench.py", *FAST, cwd=self.path("else where"))
        self.assertEqual(len(self.records()), 2)

    def test_script_that_goes_elsewhere(self):
        os.mkdir(self.path("sub"))
        self.write("bench.py", "import os, stillwell\nr = stillwell.Runner()\nos.chdir('sub')\nr.bench_func('a', len, ())\nr.bench_command('b', ['true'])")
        self.run_python("bench.py", *FAST)

    def test_script_that_cannot_be_read_twice(self):
        # Standard input, or a shell's <(…): the workers are forks, and the options still count.
        text = "import stillwell\nb = stillwell.Runner().bench_func('a', len, ())\nprint('n', b.get_nvalue())"
        for out, _ in (self.run_python("-", "-p", "3", text=text.encode()), self.run_words("sh", "-c", 'exec "$1" /dev/fd/3 -p 3 3<&0', "sh", sys.executable, text=text.encode())):
            self.assertEqual(out.splitlines()[-1], "n 3")

    def test_module_and_code_and_flags(self):
        os.mkdir(self.path("package"))
        self.write("package/__init__.py", "")
        text = "import stillwell\nassert False\nstillwell.Runner().bench_func('a', len, ())"
        self.write("package/__main__.py", text)
        self.run_python("-O", "-m", "package", *FAST)
        if hasattr(sys, "orig_argv"):  # Without it the code is unknown, and the workers are forks.
            self.run_python("-O", "-c", text, *FAST)

    def test_memory(self):
        path = self.write("bench.py", """
            import stillwell
            kept = []
            r = stillwell.Runner()
            small = r.bench_func("small", len, ())
            big = r.bench_func("big", lambda: kept or kept.append(b"x" * (200 << 20)))
            command = r.bench_command("true", ["true"])
            if big:
                assert {small.unit, big.unit, command.unit} == {"byte"}
                assert big.mean() - small.mean() > 150 << 20, (big.mean(), small.mean())
                assert 0 < command.mean() < big.mean()
        """)
        self.run_python(path, "--track-memory", "-p", "2", "-n", "2")

    def test_pyperf_output(self):
        path = self.write("bench.py", WORK + "    r = stillwell.Runner()\n    r.bench_func('a', work)\n    r.bench_func('b', much)")
        self.run_python(path, "-o", "out.json", *FAST)
        if not os.path.exists(self.path("out.json")):
            self.skipTest("this program takes --append and writes nothing")
        with open(self.path("out.json"), encoding="utf-8") as file:
            benchmarks = json.load(file)["benchmarks"]
        self.assertEqual([one["metadata"]["name"] for one in benchmarks], ["a", "b"])

    def test_exception(self):
        path = self.write("bench.py", "import stillwell\ndef f(): raise KeyError('deep \\n é')\nstillwell.Runner().bench_func('a', f)")
        _, err = self.run_python(path, *FAST, status=1)
        self.assertIn("KeyError: 'deep \\n é'", err)
        self.assertIn("in f", err)

    def test_closed_output(self):
        path = self.write("bench.py", "import stillwell\nstillwell.Runner().bench_func('a', len, ())")
        self.run_words("sh", "-c", 'exec "$0" "$1" -p 2 -n 2 >&-', sys.executable, path)
        self.assertEqual(self.end_of(self.records()[0])[0], "complete")

    def test_flood(self):
        # More than any pipe holds: the worker must not hang, and its output must not reach the user.
        path = self.write("bench.py", "import stillwell\nprint('x' * 5000000)\nr = stillwell.Runner()\nr.bench_func('a', print, 'y' * 1000)\nif not r.args.worker: print('done')")
        out, _ = self.run_python(path, *FAST)
        self.assertEqual((out.count("y"), out.splitlines()[-1]), (out.replace("y" * 100, "").count("y"), "done"))

    def test_interrupt(self):
        path = self.write("bench-%s.py" % os.path.basename(self.folder), WORK + "    stillwell.Runner().bench_func('a', work)\n    print('not reached')")
        for to_group in (True, False):
            n_before = len(self.records())

            def has_rows():
                records = self.records()
                return len(records) > n_before and self.n_rows(records[-1]) > 2

            out, err, status = self.interrupted([sys.executable, path, "-p", "100000"], has_rows, to_group)
            self.assertIn("KeyboardInterrupt: the record is " + self.records()[-1], err)
            self.assertNotIn("not reached", out)
            self.assertEqual(status, -2)
            reason, n_rows = self.end_of(self.records()[-1])
            self.assertEqual(reason, "interrupted")
            self.assertGreater(n_rows, 0)
            self.assertEqual(self.processes_with(path), [])


class TwoPrograms(RealCase):
    def verdicts(self, out):
        found = json.loads(out)
        arms = [arm["name"] for arm in found["plan"]["arms"]]
        return arms, [judged["verdict"] for judged in found["judgements"]]

    def test_bench(self):
        self.write("old.py", WORK + "    r = stillwell.Runner()\n    r.bench_func('one', work)\n    r.bench_func('two', much)")
        self.write("new.py", WORK + "    r = stillwell.Runner()\n    r.bench_func('one', much)\n    r.bench_func('two', work)")
        program, python = self.environment["STILLWELL"], sys.executable
        out, _ = self.run_words(program, "bench", "--list", python + " old.py", python + " new.py")
        self.assertEqual(out.split(), ["one", "two"])
        out, _ = self.run_words(program, "bench", "--json", "-r", str(N_PAIRS), "--values", "3", "--loops", "64", python + " old.py", python + " new.py")
        self.assertEqual(self.verdicts(out)[1], ["slower", "faster"])

    def test_two_interpreters(self):
        other = next(filter(None, (find_interpreter(label) for label in ("3.13", "3.12", "3.9", "pypy3"))), None)
        if other is None:
            self.skipTest("there is no second interpreter")
        path = self.write("bench.py", WORK + "    stillwell.Runner().bench_func('a', work)")
        out, _ = self.run_python(path, "--compare-to", other, "--python-names", "there:here", *FAST)
        self.assertIn("there", out)
        self.assertIn("here", out)
        [record] = self.records()
        with open(record, encoding="utf-8") as file:
            arms = json.loads(file.readline())["plan"]["arms"]
        self.assertEqual([arm["name"] for arm in arms], ["there", "here"])


class Forks(RealCase):
    def test_compare(self):
        path = self.write("a.py", WORK + """
    import json, threading
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    found = stillwell.compare(work, much, lambda: sum(range(75)), processes=%d, values=3, loops=64, names=["a <b> & 'c'", "zwei\\nü", "3"])
    stop.set()
    thread.join()
    print(json.dumps([found.verdict, found.ratio, found.interval, found.record, [b.get_nvalue() for b in found.benchmarks()], found._repr_html_(), repr(found)]))
    assert [one.verdict for one in found.judgements] == ["slower", "faster"], found
""" % N_PAIRS)
        out, err = self.run_python(path)
        verdict, ratio, interval, record, n_values, html, text = json.loads(out)
        self.assertEqual((verdict, err, [record]), ("slower", "", self.records()))
        self.assertTrue(1 < interval[0] < ratio < interval[1], (interval, ratio))
        self.assertEqual(n_values, [n_values[0]] * 3)
        parser = Tags()
        parser.feed(html)
        parser.close()
        self.assertEqual(parser.open, [])
        self.assertEqual([parser.seen.count(tag) for tag in ("pre", "svg")], [1, 1])
        self.assertNotIn("<b>", html)
        self.assertIn("forks of one", text)
        self.assertIn("record: " + record, text)

    def test_values_are_those_of_the_verdict(self):
        # The program shows the mean of the lowest fifth of the launches: of three, the lowest.
        for options in ("gc='off'", "estimand='mean'", "estimand='floor'", "subtract_loop=True", "delta=True, values=16", "track_memory=True", "decide_on='cpu'", "duplicate=10"):
            out, _ = self.run_python("-c", "import stillwell\nb = stillwell.timeit('x = 1', processes=3, **dict(dict(values=8), %s))\nprint(repr(min(b.get_values())))" % options)
            analysis, _ = self.run_words(self.environment["STILLWELL"], "show", "--json", self.records()[-1])
            clock = "wall" if "memory" in options else "cpu" if "cpu" in options else "clean"
            lowest = json.loads(analysis)["analysis"]["arms"][0][clock]["low20"]["value"]
            scale = 1 if "memory" in options else 1e9
            self.assertAlmostEqual(float(out) * scale, lowest, delta=abs(lowest) * 1e-9, msg=options)

    def test_in_a_fork(self):
        self.run_python("-c", """if True:
            import os, stillwell
            child = os.fork()
            if child == 0:
                found = stillwell.compare("sum(range(100))", "sum(range(600))", processes=12, values=3)
                os._exit(0 if found.verdict == "slower" else 9)
            assert os.waitpid(child, 0)[1] == 0
        """)
        self.assertEqual(len(self.records()), 1)

    def test_in_a_thread(self):
        self.run_python("-c", """if True:
            import threading, stillwell
            found = []
            thread = threading.Thread(target=lambda: found.append(stillwell.timeit(list, processes=4, values=3)))
            thread.start()
            thread.join()
            assert found[0].get_nvalue() == 4, found
        """)

    def test_repl(self):
        lines = ["import stillwell", "d = {5: 1}", "def f():", "    return d[5]", "", "stillwell.compare(f, lambda: d.get(5), processes=4, values=3)",
                 "r = stillwell.Runner(processes=4, values=3)", "b = r.bench_func('in a repl', f)", "b.get_nvalue()", "stillwell.timeit('d[5]', globals=globals(), processes=3)"]
        out, err = self.run_python("-i", "-q", text="\n".join(lines + [""]).encode())
        self.assertEqual(len(self.records()), 3, out + err)
        self.assertNotIn("Error", err)
        for text in ("ratio", "in a repl", "\n4\n", "d[5] takes "):
            self.assertIn(text, out)

    def test_no_colours_in_texts(self):
        # ipykernel sets these variables for all programs.
        out, _ = self.run_python("-c", "import stillwell\nprint(stillwell.timeit('1', processes=2, values=2))", CLICOLOR_FORCE="1", FORCE_COLOR="1")
        self.assertNotIn("\x1b", out)

    def test_exceptions(self):
        out, shown = self.run_python("-c", """if True:
            import stillwell
            def bad():
                raise ValueError("deep é\\n'quoted'")
            for call in (lambda: stillwell.compare(len, len, no_such=1), lambda: stillwell.compare(list, bad), lambda: stillwell.timeit("1\\nx"),
                         lambda: stillwell.timeit(exit)):
                try:
                    call()
                except stillwell.Error as error:
                    print(error, end="\\n---\\n")
        """)
        option, raised, statement, leaves, rest = out.split("---\n")
        self.assertIn("--no-such", option)
        self.assertIn("ValueError: deep é\\n'quoted'", raised.replace("\n'", "\\n'"))
        self.assertIn("bad", raised)
        # Tracebacks begin in the user's code.
        self.assertIn("in bad", shown)
        self.assertNotIn("forks.py", shown)
        self.assertIn("NameError", statement)
        self.assertIn("SystemExit", leaves)
        self.assertEqual(rest, "")

    def test_interrupt(self):
        text = "import stillwell\ntry:\n    stillwell.timeit(list, processes=100000, record='kept.swell')\nexcept KeyboardInterrupt as error:\n    print('GOT', error)"
        for to_group in (True, False):
            path = self.write("fork-%s.py" % os.path.basename(self.folder), text)
            kept = self.path("kept.swell")
            out, _, status = self.interrupted([sys.executable, path], lambda: self.n_rows(kept) > 2, to_group)
            self.assertEqual((out, status), ("GOT the record is kept.swell\n", 0))
            self.assertEqual(self.end_of(kept)[0], "interrupted")
            self.assertEqual(self.processes_with(path), [])
            os.remove(kept)


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
class Pytest(RealCase):
    def pytest(self, *words, status=0):
        path = self.write("test_it.py", WORK + """
    def test_alone(stillwell):
        assert stillwell(work).get_nvalue() > 1
    def test_better(stillwell):
        stillwell.baseline(much)
        assert stillwell(work).verdict == "faster"
    def test_worse(stillwell):
        stillwell.baseline(work)
        assert stillwell(much).verdict == "slower"
    """)
        out, _ = self.run_python(
            "-m", "pytest", "-p", "no:cacheprovider", "-p", "stillwell.pytest_plugin", "-q", path, "--stillwell-option=--runs=%d" % N_PAIRS,
            "--stillwell-option=--values=3", "--stillwell-option=--loops=64", *words, status=status)
        return out

    def test_verdicts(self):
        out = self.pytest("--stillwell-fail", "slower:20", status=1)
        self.assertIn("1 failed, 2 passed", out)
        self.assertIn("test_it.py::test_worse: too slow (--stillwell-fail slower:20)", out)
        self.assertRegex(out, r"test_it\.py::test_better  FASTER 0\.[0-9]+  \[0\.[0-9]+, 0\.[0-9]+\]")
        self.assertEqual(len(self.records()), 3)


class Listing(RealCase):
    def test_an_exit_while_listing_is_shown_with_its_message(self):
        # It used to end in "the programs have no benchmark", or with a part of the benchmarks.
        self.write("bench.py", """
            import stillwell, sys
            runner = stillwell.Runner()
            runner.bench_func("first", len, ())
            sys.exit("the data are missing: run make data")
        """)
        _, err = self.run_words(PROGRAM, "bench", "%s bench.py" % sys.executable, "--list", status=2)
        self.assertIn("the data are missing: run make data", err)
        self.write("bench.py", "import stillwell\nstillwell.Runner().bench_func('a', len, ())")
        _, err = self.run_words(PROGRAM, "bench", "%s bench.py --no-such" % sys.executable, status=2)
        self.assertIn("unrecognized arguments: --no-such", err)

    def test_an_exit_without_an_error_is_none(self):
        self.write("bench.py", "import stillwell, sys\nstillwell.Runner().bench_func('a', len, ())\nsys.exit()")
        out, _ = self.run_words(PROGRAM, "bench", "%s bench.py" % sys.executable, "--list")
        self.assertEqual(out, "a\n")

    def test_a_benchmark_that_disappears_is_an_error(self):
        self.write("bench.py", """
            import os, stillwell
            runner = stillwell.Runner()
            runner.bench_func("stays", len, ())
            if not os.path.exists("listed"):
                open("listed", "w").close()
                runner.bench_func("goes", len, ())
        """)
        _, err = self.run_words(PROGRAM, "bench", "%s bench.py" % sys.executable, "-r", "2", "--values", "2", status=2)
        self.assertIn("there is no benchmark 'goes'; the program has 'stays'", err)


class ResultFile(RealCase):
    def test_the_suffix_says_the_format(self):
        words = [PROGRAM, "timeit", "--python", sys.executable, "-r", "2", "--values", "2", "1+1"]
        for name in ("x.json", "x.json.gz"):
            self.run_words(*words, "-o", name)
            [benchmark] = BenchmarkSuite.load(self.path(name))
            self.assertEqual(benchmark.get_nvalue(), 4)
        self.run_words(*words, "-o", "x.csv")
        self.run_words(*words, "-o", "x.swell")
        with open(self.path("x.swell")) as lines:
            self.assertEqual(json.loads(lines.readline())["format"], "stillwell")
        _, err = self.run_words(*words, "-o", "x.json", status=2)
        self.assertIn("-o: x.json exists already", err)

    def test_a_command_is_written_and_appended(self):
        self.write("bench.py", "import stillwell\nstillwell.Runner().bench_command('true', ['true'])")
        for n_runs in (6, 12):
            self.run_python("bench.py", "--append", "x.json", "-p", "2", "-n", "3")
            self.assertEqual([one.get_nvalue() for one in BenchmarkSuite.load(self.path("x.json"))], [n_runs])


if __name__ == "__main__":
    unittest.main()
