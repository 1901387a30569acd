"""Scripts that import pyperf and get `stillwell.pyperf_compat`, with the real program. The tests never look at how long something takes."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import PACKAGE_FOLDER  # noqa: E402
from real import PROGRAM, RealCase  # noqa: E402
from stillwell.pyperf_compat import Benchmark, BenchmarkSuite, Run, report  # noqa: E402

SHADOW = os.path.join(PACKAGE_FOLDER, "stillwell", "pyperf_compat", "shadow")
SCRIPT = """
    import os, pyperf, time
    assert pyperf.Runner.__module__.startswith("stillwell."), pyperf
    def add_cmdline_args(words, args):
        if args.size: words += ["--size", str(args.size)]
    runner = pyperf.Runner(values=3, metadata={"size": 7}, add_cmdline_args=add_cmdline_args)
    runner.argparser.add_argument("--size", type=int)
    args = runner.parse_args()
    def timed(loops, factor):
        if os.environ.get("PYPERF_SIZE") != (args.size and str(args.size)):
            raise ValueError("the variable or the option has not reached the process")
        if "PYPERF_FIXED" in os.environ:
            return loops * factor
        begin = time.perf_counter()
        for _ in range(loops):
            sum(range(100))
        return time.perf_counter() - begin
    found = runner.bench_func("sort", sorted, [3, 1, 2], inner_loops=2, metadata={"note": "x"})
    runner.bench_time_func("timed", timed, 0.25)
    runner.timeit("lines", stmt=["x = 1", "y = x"], duplicate=3)
    runner.bench_command("true", ["true"])
    if not args.worker:
        assert isinstance(found, pyperf.Benchmark), found
"""


class PyperfScripts(RealCase):
    def setUp(self):
        super().setUp()
        self.environment["PYTHONPATH"] = SHADOW
        self.script = self.write("bench.py", SCRIPT)

    def suite(self, *words, **changes):
        path = self.path("out%d.json" % len(os.listdir(self.folder)))
        out, err = self.run_python(self.script, "-o", path, *words, **changes)
        return BenchmarkSuite.load(path), out + err

    def test_a_script_as_it_is(self):
        suite, said = self.suite("-p", "2", "-l", "4", "-w", "1", "--size", "2", PYPERF_SIZE="2")
        self.assertEqual(suite.get_benchmark_names(), ["sort", "timed", "lines", "true"])
        for line, name in zip(said.splitlines(), suite.get_benchmark_names()):
            self.assertRegex(line, r"^%s: Mean \+- std dev: \S+ \S+ \+- \S+ \S+$" % name)
        sort, _, lines, true = suite
        for benchmark in suite:
            self.assertEqual((benchmark.get_nrun(), benchmark.get_nvalue(), benchmark.get_loops()), (2, 6, 4), benchmark)
            self.assertIsNotNone(benchmark.get_dates())
        self.assertEqual((sort.get_inner_loops(), lines.get_inner_loops()), (2, 3))
        found = sort.get_metadata()
        self.assertEqual((found["size"], found["note"]), (7, "x"))
        self.assertEqual(found["python_executable"], sys.executable)
        self.assertGreater(true.get_metadata()["command_max_rss"], 0)
        self.assertEqual(true.get_metadata()["command"], "true")

    def test_only_scripts_that_can_have_the_benchmark_are_asked(self):
        os.mkdir(self.path("pyperformance"))
        os.mkdir(self.path("scripts"))
        self.write("pyperformance/__init__.py", "")
        self.write("pyperformance/_manifest.py", """
            import os
            class One:
                extra_opts = tags = []
                def __init__(self, name):
                    self.name, self.runscript = name, os.path.join(os.environ["SCRIPTS"], name + ".py")
                def _get_metadata_value(self, name, default):
                    return default
            class Manifest:
                benchmarks = [One("nbody"), One("tree")]
            def load_manifest(_):
                return Manifest
            """)
        for script, name in (("nbody", "nbody"), ("tree", "tree_deep")):
            self.write("scripts/%s.py" % script, """
                import os, pyperf
                with open(os.environ["ASKED"], "a") as asked:
                    asked.write("%s ")
                pyperf.Runner().bench_func("%s", sorted, [3, 1, 2])
                """ % (script, name))
        self.environment.update(PYTHONPATH=self.folder, SCRIPTS=self.path("scripts"), ASKED=self.path("asked"))
        for words, listed, asked in ((["-b", "tree_deep"], {"tree_deep"}, {"tree"}),
                                     ([], {"nbody", "tree_deep"}, {"nbody", "tree"})):
            out, _ = self.run_words(PROGRAM, "bench", "pyperformance", "--arms", "base=" + sys.executable, "--list", *words)
            self.assertEqual(set(out.split()), listed)
            with open(self.path("asked")) as file:
                self.assertEqual(set(file.read().split()), asked)
            os.remove(self.path("asked"))

    def test_combinations_that_conflict_in_the_program(self):
        for words in (["--debug-single-value", "-p", "3"], ["-p", "6", "--fast"]):
            suite, _ = self.suite(*words)
            self.assertEqual(len(suite), 4)
        self.assertEqual(suite.get_benchmark("sort").get_nrun() - 1, 3)  # Without the process that found the loops.

    def test_every_file_has_equally_many_values(self):
        # pyperformance refuses to compare others. Without a number of values, each process has one.
        self.write("bench.py", """
            import pyperf, time
            runner = pyperf.Runner()
            runner.timeit("short", "pass")
            runner.bench_func("long", sum, range(3000000))
        """)
        suite, _ = self.suite("--fast", "-p", "8")
        for benchmark in suite:
            found = [run for run in benchmark.get_runs() if run.values]
            self.assertEqual([len(run.values) for run in found], [1] * 4, benchmark)
            self.assertTrue(all(run.values[0] * run.get_loops() <= run.duration() * 1.5 for run in found))

    def test_results_are_appended(self):
        path = self.path("all.json")
        for _ in range(2):
            self.run_python(self.script, "--append", path, "--debug-single-value")
        self.assertEqual([one.get_nvalue() for one in BenchmarkSuite.load(path)], [2, 2, 2, 2])
        out, _ = self.run_python(self.script, "-o", path, status=1)
        self.assertIn("%s exists" % path, out)

    def test_memory(self):
        for option in ("--track-memory", "--tracemalloc"):
            out, _ = self.run_python("-m", "pyperf", "timeit", option, "-p2", "-w1", "-l5", "-n3", "[1, 2] * 1000", "-o", self.path(option))
            [benchmark] = BenchmarkSuite.load(self.path(option))
            self.assertEqual(([len(run.values) for run in benchmark.get_runs()], benchmark.get_unit()), ([1, 1], "byte"), out)
            self.assertEqual((benchmark.get_metadata()["values"], benchmark.get_loops()), (3, 5))

    def test_worker_measures_here(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        words = [sys.executable, self.script, "--worker", "--worker-task=1", "-l3", "-w1", "-n2", "-v", "--pipe", str(writing)]
        import subprocess

        done = subprocess.run(words, env=dict(self.environment, PYPERF_FIXED="1"), pass_fds=[writing], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        [benchmark] = BenchmarkSuite.loads(os.read(reading, 1 << 16).decode())
        self.assertEqual((benchmark.get_name(), benchmark.get_values()), ("timed", (0.25, 0.25)))
        self.assertIn(b"Warmup 1: 250 ms (loops: 3, raw: 750 ms)\n", done.stdout)

    def test_calibration_doubles_the_loops(self):
        path = self.path("calibration.json")
        self.run_python(self.script, "--worker", "--worker-task=1", "--calibrate-loops", "--min-time=1", "-w0", "-n2", "-o", path, PYPERF_FIXED="1")
        [run] = BenchmarkSuite.load(path).get_benchmark("timed").get_runs()
        self.assertEqual((run.values, run.warmups), ((), ((1, 0.25), (2, 0.25), (4, 0.25), (4, 0.25))))
        self.assertEqual(run.get_metadata()["calibrate_loops"], 4)

    def test_hooks_and_profiles(self):
        self.write("bench.py", """
            import pyperf
            class counted:
                n = 0
                def __enter__(self): counted.n += 1
                def __exit__(self, *_): pass
                def teardown(self, metadata): metadata["counted"] = counted.n
            def inner(): return sorted([2, 1])
            pyperf.Runner(hooks=[counted], add_cmdline_args=lambda words, args: None).bench_func("f", inner)
        """)
        # With an own `add_cmdline_args`, the Runner's options have to reach the processes, too.
        suite, _ = self.suite("-p", "2", "-n", "3", "-w", "1", "-l", "5", "--profile", self.path("profile"))
        found = suite.get_benchmark("f").get_metadata()
        self.assertIsInstance(found["counted"], int)
        self.assertGreaterEqual(found["counted"], 3)
        import pstats

        calls = {name: stats[0] for (_, _, name), stats in pstats.Stats(self.path("profile")).stats.items()}
        # Two processes, each with a warm-up and three values of five loops, and the process that saw how long the warm-up is.
        self.assertGreaterEqual(calls["inner"], 2 * 4 * 5)

    def test_perf_records_only_the_measurements(self):
        # A stand-in for perf, which speaks the protocol of its option --control and keeps what it was told.
        perf = self.write("perf", """
            #!%s
            import sys
            fifos = [word for word in sys.argv if word.startswith("--control=fifo:")][0].split(":")[1].split(",")
            output = [word for word in sys.argv if word.startswith("--output=")][0].split("=")[1]
            with open(fifos[0]) as control, open(fifos[1], "w") as answer, open(output, "w") as told:
                for line in control:
                    told.write(line)
                    if line == "stop\\n":
                        break
                    answer.write("ack\\n")
                    answer.flush()
        """ % sys.executable)
        with open(perf) as file:
            text = file.read().lstrip()
        with open(perf, "w") as file:
            file.write(text)
        os.chmod(perf, 0o755)
        os.mkdir(self.path("data"))
        self.run_python(
            "-m", "pyperf", "timeit", "--hook", "perf_record", "-p1", "-w1", "-n2", "-l3", "1+1", PYPERF_PERF_RECORD_DATA_DIR=self.path("data"),
            PATH=self.folder + os.pathsep + os.environ["PATH"])
        for name in os.listdir(self.path("data")):
            with open(os.path.join(self.path("data"), name)) as file:
                told = file.read().split()
            self.assertEqual(told, ["enable", "disable"] * (len(told) // 2) + ["stop"])
        self.assertGreaterEqual(len(told), 5)
        _, err = self.run_python("-m", "pyperf", "timeit", "--hook", "perf_record", "--worker", "-l1", "1+1", PATH="", status=1)
        self.assertIn("the hook perf_record needs the program perf", err)

    def test_a_missing_directory_is_found_before_measuring(self):
        for option in ("-o", "--append"):
            _, err = self.run_python(self.script, option, "no such/a.json", "--debug-single-value", status=2)
            self.assertIn("a.json: there is no directory %s" % self.path("no such"), err)

    def test_an_unknown_hook_is_named(self):
        _, err = self.run_python(self.script, "--hook", "nothing", "--debug-single-value", status=2)
        self.assertIn("there is no hook 'nothing'", err)

    def test_a_timeout_has_its_own_status(self):
        # pyperformance tells a timeout from a failure by 124.
        self.write("bench.py", "import pyperf, time\npyperf.Runner().bench_func('slow', time.sleep, 600)")
        self.run_python("bench.py", "--timeout", "6", "-p1", "-n1", "-l1", status=124)

    def test_a_repl_measures_forks(self):
        # The script on standard input cannot be run again.
        text = b"import pyperf\nb = pyperf.Runner(processes=2, values=2, loops=9).timeit('x+1', setup='x=1')\nprint(b.get_nvalue(), b.get_name())\n"
        out, _ = self.run_python("-", text=text)
        self.assertEqual(out.splitlines()[-1], "4 x+1")
        self.assertRegex(out, r"\Ax\+1: Mean ")

    def test_compare_to(self):
        # Two pairs of processes are too few for a verdict, whatever their means are.
        for words in (["-p2", "-n2"], ["-p2", "--track-memory"]):
            out, _ = self.run_python("-m", "pyperf", "timeit", "--compare-to", sys.executable, "--python-names=old:new", "-l9", "1+1", *words)
            self.assertRegex(out, r"Mean \+- std dev: \[old\] .* -> \[new\] .*: no verdict \(-v says why\)\n\Z")

    def test_a_comparison_has_the_verdict_of_the_session(self):
        found = [Benchmark([Run([value], metadata={"name": "x"}, collect_metadata=False)]) for value in (1.0, 1.25)]
        for verdict, ratio, expected in (("slower", 1.5, "1.50x slower"), ("faster", 0.5, "2.00x faster"), ("same", 1.01, "same"), ("undecided", 1.25, "undecided")):
            text = report.comparison(found, ["old", "new"], {"verdict": verdict, "ratio": ratio, "no_test": None}, True)
            self.assertEqual(text.splitlines()[-1], "x: Mean +- std dev: [old] 1.00 sec -> [new] 1.25 sec: " + expected)

    def test_commands_of_files(self):
        path = self.path("x.json")
        self.run_python("-m", "pyperf", "timeit", "--name", "one", "-p2", "-n2", "-l9", "1+1", "-o", path)
        out, _ = self.run_python("-m", "pyperf", "convert", path, "--include-runs", "2", "--update-metadata", "os=linux,n=3", "--stdout")
        run = json.loads(out)
        self.assertEqual((len(run["benchmarks"][0]["runs"]), run["metadata"]["os"], run["metadata"]["n"]), (1, "linux", 3))
        out, _ = self.run_python("-m", "pyperf", "stats", path)
        self.assertIn("one", out)

    def test_bench_as_pyperf(self):
        program = self.environment["STILLWELL"]
        environment = {"PYTHONPATH": "", "XDG_CACHE_HOME": self.path("cache")}
        out, _ = self.run_words(program, "bench", "--as-pyperf", "bench.py", "--list", **environment)
        self.assertEqual(out, "sort\ntimed\nlines\ntrue\n")
        record = self.path("two.swell")
        words = ["bench", "--as-pyperf", "bench.py", "%s bench.py" % sys.executable, "-b", "timed", "-r", "2", "--values", "2"]
        self.run_words(program, *words, "-o", record, **environment)
        with open(record) as lines:
            header = json.loads(lines.readline())
        self.assertEqual(header["plan"]["arms"][0]["argv"], ["python3", "bench.py"])
        self.assertTrue(all(arm["has_own_timer"] for arm in header["plan"]["arms"]))


if __name__ == "__main__":
    unittest.main()
