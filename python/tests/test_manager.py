"""A script with a Runner that the user starts: the command line for the program, and the results."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import find_interpreter  # noqa: E402
from scripts import ScriptCase  # noqa: E402

SCRIPT = """
    import sys
    import stillwell
    print("before")
    runner = stillwell.Runner(metadata={"project": "river"})
    result = runner.bench_func("call é", sorted, [3, 1, 2], inner_loops=1, metadata={"size": 3})
    if not runner.args.worker:
        assert result.name == result.get_name() == "call é" and result.get_metadata() == {"project": "river", "size": 3, "name": "call é"}
        values = result.get_values()
        assert len(values) == result.get_nvalue() == 2 and all(0 < value < 60 for value in values), values
        assert abs(result.mean() - sum(values) / 2) < 1e-12 and result.get_total_loops() == 4 and result.stdev() >= 0
        print("mean", result.mean() == result.median())
"""
SMALL = "import stillwell\nresult = stillwell.Runner().bench_func('a', len, ())\n"


class Manager(ScriptCase):
    def asked(self):
        return self.log("asked")

    def test_script(self):
        path = self.write("bench.py", SCRIPT)
        out, err = self.run_python("-X", "utf8", path)
        self.assertEqual(out, "before\nSUMMARY of call é\nmean True\n")
        self.assertEqual(err, "")
        [words] = self.asked()
        record = words[4]
        self.assertEqual(words, ["bench", "--benchmark", "call é", "--record", record, "--", "%s -X utf8 %s" % (sys.executable, path)])
        self.assertEqual(os.path.dirname(record), self.path("state/stillwell"))
        self.assertRegex(os.path.basename(record), r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}-[0-9]+(-[0-9]+)?\.swell\Z")
        self.assertTrue(os.path.exists(record), "the summary has said where it is")
        self.assertEqual(self.log("quit"), [["bye", None]] * 2)
        self.assertEqual(self.log("ended"), [[0, "before\n", ""]] * 2)
        self.assertTrue(all("meta size 3" in lines for lines in self.log("metadata")))

    def test_options_are_handed_on(self):
        path = self.write("bench.py", SMALL)
        self.run_python(path, *"-p 5 -n 2 -w 0 -l 2^8 --min-time 0.05 --fast -v --affinity 0-1 --inherit-environ A,B --timeout 3 "
                        "--append out.json --track-memory --copy-env".split())
        words = self.asked()[0]
        given = words[3:words.index("--record")]
        # A number of processes leaves nothing to --fast, and the program refuses them together.
        self.assertEqual(given, "--track-memory --verbose --runs 5 --values 2 --warmups 0 --loops 256 "
                         "--min-time 0.05 --timeout 3 --affinity 0-1 --inherit-environ A,B --append out.json".split())
        self.assertIn("-p 5 -n 2", words[-1])

    def test_defaults_of_the_runner(self):
        path = self.write("bench.py", "import stillwell\nstillwell.Runner(values=1, processes=2, loops=8, warmups=3, min_time=0.5).bench_func('a', len, ())")
        self.run_python(path, "-n", "7")
        words = self.asked()[0]
        self.assertEqual(words[3:words.index("--record")], "--runs 2 --values 7 --warmups 3 --loops 8 --min-time 0.5".split())

    def test_a_single_value_needs_no_numbers(self):
        path = self.write("bench.py", "import stillwell\nstillwell.Runner(values=3, processes=2).bench_func('a', len, ())")
        self.run_python(path, "--debug-single-value", "-w", "1", "--fast")
        words = self.asked()[0]
        self.assertEqual(words[3:words.index("--record")], ["--debug-single-value"])
        self.run_python(path, "--fast", "-n", "4", "-p", "1")
        words = self.asked()[1]
        self.assertEqual(words[3:words.index("--record")], "--runs 1 --values 4".split())

    def test_output_must_be_new(self):
        path = self.write("bench.py", SMALL)
        self.run_python(path, "-o", "new.json")
        self.assertIn("--append new.json", " ".join(self.asked()[0]))
        self.write("old.json", "")
        _, err = self.run_python(path, "-o", "old.json", status=2)
        self.assertIn("the file old.json of -o exists; remove it, or use --append", err)
        self.assertEqual(len(self.asked()), 1)

    def test_wrong_options(self):
        path = self.write("bench.py", SMALL)
        folder = self.path("no such")
        for words, message in (
            (["-l", "-1"], "-l/--loops: -1 is not a number from 0 on"), (["-p", "x"], "-p/--processes: invalid int value: 'x'"),
            (["-p", "0"], "-p/--processes: 0 is not a number from 1 on"), (["--min-time", "nan"], "--min-time: nan is not a number from 0 on"),
            (["-q", "-v"], "-v/--verbose: not allowed with argument -q/--quiet"), (["--fast", "--rigorous"], "--rigorous: not allowed"),
            (["-o", folder + "/a.json"], "--output %s/a.json: there is no directory %s" % (folder, folder)),
            (["--append", self.write("bad.json", "{}")], "bad.json: name a new file, or one of pyperf's: "),
            (["--append", "no such/a.json"], "--append no such/a.json: there is no directory %s" % folder),
            (["--python-names", "a"], "--python-names: 'a' is not"), (["--no-such"], "--no-such"),
        ):
            _, err = self.run_python(path, *words, status=2)
            self.assertIn(message, err)
            self.assertNotIn("Traceback", err)
        self.assertEqual(self.asked(), [])

    def test_other_pythons(self):
        other = self.write("other python", "#!/bin/sh\nexec '%s' \"$@\"\n" % sys.executable)
        os.chmod(other, 0o755)
        path = self.write("bench.py", SMALL)
        words = ["--compare-to", other, "--python-names", "old:new"]
        self.run_python(path, *words)
        asked = self.asked()[0]
        self.assertEqual(asked[3:7], ["--command-name", "old", "--command-name", "new"])
        start = asked.index("--") + 1
        self.assertTrue(asked[start].startswith("'%s' %s" % (other, path)), asked)
        self.assertTrue(asked[start + 1].startswith("%s %s" % (sys.executable, path)), asked)
        self.assertEqual(len(self.log("ended")), 4)

    def test_module_and_code(self):
        os.mkdir(self.path("package"))
        self.write("package/__init__.py", "")
        self.write("package/__main__.py", "from . import x\nimport stillwell\nstillwell.Runner().bench_func('a', len, ())")
        self.write("package/x.py", "")
        for label in ("3.8", "3.11", "3.13"):
            python = find_interpreter(label)
            if python is not None:
                self.run_python("-m", "package", "-q", python=python, status=0)
                self.assertRegex(self.asked()[-1][-1], r" -m package(\.__main__)? -q\Z")
        if hasattr(sys, "orig_argv"):
            self.run_python("-c", SMALL, "-q")
            self.assertTrue(self.asked()[-1][-1].endswith(" -q"), self.asked()[-1])

    def test_arguments_of_the_script(self):
        path = self.write("bench.py", """
            import stillwell
            def add(words, args):
                words += ["--own", args.own]
            runner = stillwell.Runner(add_cmdline_args=add)
            runner.argparser.add_argument("--own")
            runner.parse_args()
            runner.bench_func("a", len, ())
        """)
        self.run_python(path, "--own", "a b", "--fast")
        self.assertTrue(self.asked()[0][-1].endswith("bench.py --own 'a b'"), self.asked()[0])
        path = self.write("bench.py", """
            import sys
            import stillwell
            assert sys.argv.pop(1) == "own"
            stillwell.Runner(program_args=[%r]).bench_func("a", len, ())
        """ % path.replace("bench.py", "bench.py"))
        self.run_python(path, "own", "-q")
        self.assertTrue(self.asked()[-1][-1].endswith("bench.py own -q"), self.asked()[-1])

    def test_command(self):
        path = self.write("bench.py", """
            import stillwell
            result = stillwell.Runner().bench_command("sleep", ["echo", "a b"])
            assert result.get_values() == (0.002,), result.get_values()
        """)
        self.run_python(path, "-p", "4", "-n", "2", "-w", "0", "--timeout", "9", "--affinity", "1", "--quiet")
        words = self.asked()[0]
        place = words.index("--record")
        self.assertEqual(words[:place], "run -N --command-name sleep --runs 8 --warmup 0 --timeout 9 --affinity 1 --style none".split())
        self.assertEqual(words[place + 2:], ["--", "echo 'a b'"])

    def test_memory_of_a_command(self):
        path = self.write("bench.py", """
            import stillwell
            result = stillwell.Runner().bench_command("true", ["true"])
            print(result.get_values(), result.unit, result.get_unit())
        """)
        self.assertEqual(self.run_python(path, "--track-memory", "-q")[0], "(3072.0,) byte byte\n")
        _, err = self.run_python(path, "--tracemalloc", status=2)
        self.assertIn("--tracemalloc is for Python code", err)

    def test_places_for_records(self):
        path = self.write("bench.py", "import stillwell\nr = stillwell.Runner()\nfor name in 'ab':\n    b = r.bench_func(name, len, ())\n    if b: print(b.record)")
        _, first, _, second = self.run_python(path, XDG_STATE_HOME="relative", HOME=self.path("home"))[0].splitlines()
        self.assertNotEqual(first, second)
        for record in (first, second):
            self.assertEqual(os.path.dirname(record), self.path("home/.local/state/stillwell"))
            self.assertTrue(os.path.exists(record))
        _, err = self.run_python(path, XDG_STATE_HOME="", HOME="", status=1)
        self.assertIn("Error: there is no place for records: neither XDG_STATE_HOME nor HOME is set", err)
        _, err = self.run_python(path, XDG_STATE_HOME=self.write("file", ""), status=1)
        self.assertIn("file/stillwell for records (", err)

    def test_mistakes_of_the_script(self):
        for text, message in (
            ("r.bench_func('a', len, ()); r.bench_func('a', len, ())", "ValueError: there are two benchmarks with the name 'a'"),
            ("r.bench_func('', len)", "ValueError: a benchmark's name"), ("r.bench_func(5, len)", "ValueError: a benchmark's name"),
            ("r.bench_func('a', 5)", "TypeError: a benchmark is a function, not 5"), ("r.bench_func('a', len, loops=5)", "TypeError: unexpected keyword"),
            ("r.timeit('x = = 1')", "SyntaxError"), ("r.timeit('a', b'x')", "TypeError: the statement is a text"),
            ("r.bench_command('a', 'ls -l')", "TypeError: a command is a list of words"),
        ):
            path = self.write("bench.py", "import stillwell\nr = stillwell.Runner()\n" + text)
            _, err = self.run_python(path, status=1)
            self.assertIn(message, err)

    def test_program_that_fails(self):
        path = self.write("bench.py", "import stillwell\ndef f(): raise ValueError('deep')\nstillwell.Runner().bench_func('a', f)")
        _, err = self.run_python(path, status=1)
        self.assertIn("fake: ValueError: deep", err)
        self.assertIn("stillwell.Error: `stillwell bench …` ended with status 1", err)

    def test_status(self):
        path = self.write("bench.py", SMALL)
        _, err = self.run_python(path, status=1, FAKE_STATUS="2")
        self.assertIn("fake: told to fail", err)
        self.assertIn("`stillwell bench …` ended with status 2; it has said above why", err)
        _, err = self.run_python(path, status=-2, FAKE_STATUS="130")
        self.assertIn("KeyboardInterrupt", err)

    def test_program_that_is_missing(self):
        path = self.write("bench.py", SMALL)
        _, err = self.run_python(path, status=1, STILLWELL="/no/such")
        self.assertIn("$STILLWELL is '/no/such', which is not a program", err)
        _, err = self.run_python(path, status=1, STILLWELL="", PATH="/nowhere", HOME="/nowhere")
        self.assertIn("the program stillwell is not installed", err)

    def test_locale_of_c(self):
        path = self.write("bench.py", "import stillwell\nstillwell.Runner().bench_func('\\u00e9', len, ())")
        self.run_python(path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
        self.assertEqual(self.asked()[0][2], "é")

    def test_program_is_found_in_path(self):
        os.mkdir(self.path("bin"))
        os.rename(self.path("stillwell"), self.path("bin/stillwell"))
        self.run_python("-m", "stillwell", "run", "--command-name", "x", "--record", self.path("r"), STILLWELL="", PATH=self.path("bin"))
        self.assertEqual(self.asked(), [["run", "--command-name", "x", "--record", self.path("r")]])

    def test_module_without_the_program(self):
        _, err = self.run_python("-m", "stillwell", "show", status=1, STILLWELL="/no/such")
        self.assertTrue(err.startswith("stillwell: $STILLWELL"), err)


class Records(ScriptCase):
    def arms(self, lines):
        from stillwell.record import read_arms

        with open(self.path("r.swell"), "w") as file:
            file.write("\n".join(lines))
        return read_arms(self.path("r.swell"))

    def header(self, **changes):
        columns = ["step", "arm", "block", "exit", "timed_out", "wall_ns", "future", "loops"]
        arms = [{"name": "a", "inner_loops": 10}, {"name": None, "command": "b c"}, {"name": None, "command": None}]
        return json.dumps(dict({"format": "stillwell", "version": 1, "columns": columns, "plan": {"arms": arms}}, **changes))

    def test_launches(self):
        rows = [
            "[0,0,null,0,0,9999,7,100]",  # A warm-up.
            "[1,0,0,0,0,3000,7,100]", "[2,1,0,0,0,500,7,1]", "[3,0,0,0,0,2000,7,50]", '{"event":"failure"}',
            "[4,0,1,0,0,4000,7,100]", "[5,1,1,0,0,null,7,1]", "[6,1,1,0,1,5,7,1]", "[7,1,2,0,0,77",
        ]
        a, b, c = self.arms([self.header()] + rows)
        self.assertEqual((a.name, b.name, c.name), ("a", "b c", "3"))
        for value, expected in zip(a.values, (3000 / 100 / 10 * 1e-9, 4000 / 100 / 10 * 1e-9)):
            self.assertAlmostEqual(value, expected, delta=expected * 1e-12)
        self.assertEqual((len(a.values), len(b.values), c.values), (2, 1, []))
        self.assertAlmostEqual(b.values[0], 500e-9, delta=1e-18)
        self.assertEqual((a.loops, a.inner_loops, b.loops), (100, 10, 1))

    def values(self, columns, rows, unit="time", headline=None, estimand="adaptive", **workers):
        from stillwell.record import read_arms

        plan = {"arms": [{"name": "a", "unit": unit, "inner_loops": 2}], "policy": {"estimand": estimand}, "workers": workers, "in_slices": True}
        lines = [{"format": "stillwell", "version": 1, "columns": ["arm", "block"] + columns, "plan": plan}] + [[0, 0] + row for row in rows]
        with open(self.path("r.swell"), "w") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        [arm] = read_arms(self.path("r.swell"), headline)
        self.assertEqual(arm.unit, "second" if unit == "time" and headline is None else "byte")
        return [round(value, 15) for value in arm.values]

    def test_value_of_a_launch(self):
        # ceil(6 / 5) = 2 lowest of 10, 20, … 60 ns for each of 2 inner loops.
        rows = [[1000 * place, 100, 0, 0] for place in (3, 1, 6, 2, 5, 4)]
        columns = ["wall_ns", "loops", "cpu_ns", "empty_loop_ps"]
        self.assertEqual(self.values(columns, rows), [7.5e-9])
        self.assertEqual(self.values(columns, rows[:5]), [5e-9])
        self.assertEqual(self.values(columns, rows, estimand="mean"), [17.5e-9])
        rows = [[1000, 100, 600, 2000], [900, 100, 700, 2000]]
        self.assertEqual(self.values(columns, rows), [4.5e-9])
        self.assertEqual(self.values(columns, rows, subtract_empty_loop=True), [3.5e-9])
        # 100 loops take 1000 ns, 200 take 1400: each loop takes 4.
        self.assertEqual(self.values(columns, [[1000, 100, 0, 0], [1400, 200, 0, 0]], delta=True), [2e-9])
        self.assertEqual(self.values(columns, [[1000, 100, 0, 0]], delta=True), [])

    def test_other_headlines(self):
        from stillwell.record import _Rule

        columns = ["wall_ns", "loops", "cpu_ns", "maxrss_kib", "value"]
        row = [5000, 100, 400, 7, 8008.0]
        clean = {"columns": ["wall_ns", "stalled_ns"], "plan": {"arms": [{}], "workers": {"headline": "clean"}}}
        self.assertEqual([_Rule(clean, None).slice([5000, stalled], 0, 100) for stalled in (None, 1000, 9000)], [50.0, 40.0, 0.0])
        header = {"columns": columns, "plan": {"arms": [{}], "workers": {}}}
        for headline, value in (("wall", 50.0), ("cpu", 4.0), ("memory", 7168.0), ("tracemalloc", None)):
            header["plan"]["workers"]["headline"] = headline
            self.assertEqual(_Rule(header, None).slice(row[:4] + [None], 0, 100), value)
        self.assertEqual(self.values(columns, [row], unit="bytes"), [8008.0])
        self.assertEqual(self.values(columns[:4], [row[:4]], unit="bytes", headline="memory"), [7168.0])

    def test_no_record(self):
        from stillwell import Error

        for lines in (["{}"], ["x"], [self.header(version=2), ""], [""], ["[1]"], [self.header(), "[1,", "[2]"]):
            with self.assertRaisesRegex(Error, "r.swell", msg=lines):
                self.arms(lines)

    def test_too_few_values(self):
        from stillwell import Benchmark, Error

        one = Benchmark("a", self.arms([self.header(), "[0,0,0,0,0,3000,7,100,1]", ""])[0], "r")
        self.assertEqual(one.mean(), one.median())
        self.assertEqual(one.median_abs_dev(), 0)
        self.assertRaisesRegex(Error, "a has 1 values; this takes at least 2", one.stdev)
        self.assertEqual(repr(one), "<Benchmark 'a' with 1 launches>")


if __name__ == "__main__":
    unittest.main()
