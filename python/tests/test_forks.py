"""Forks of a running program (compare, timeit, and Runner without a script), with a stand-in that requests the forks."""
import os
import subprocess
import sys
import unittest
from xml.etree import ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import find_interpreter  # noqa: E402
from scripts import ScriptCase  # noqa: E402

COMPARE = """
    import os, sys, atexit
    import stillwell
    atexit.register(lambda: print("the host ends"))
    data = {5: 1}
    def old():
        return data[5]
    async def new():
        return data.get(5)
    def prepare():
        data[5] += 1
        print("prepared", data[5])
    print("before", end=" ")
    found = stillwell.compare(old, new, setup=prepare, budget="5s", fast=True, slow=False, tag=["a", "b"], no=None)
    print("after", data[5])
    print(found)
    print(found.verdict, found.ratio, found.interval, os.path.basename(found.record), [arm.name for arm in found.arms])
    html = found._repr_html_()
    assert "TEXT &lt;of&gt;" in html and html.count("<svg") == 1 and html.count("<rect") >= 2 and "old" in html
    assert [b.get_nvalue() for b in found.benchmarks()] == [2, 2]
    try:
        os.waitpid(-1, 0)
        print("a child is left")
    except ChildProcessError:
        pass
    left = [os.readlink("/proc/self/fd/" + fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists("/proc/self/fd/" + fd)]
    assert not any("socket" in file or "pipe" in file for file in left), left
"""


class Forks(ScriptCase):
    def test_compare(self):
        out, err = self.run_python(self.write("a.py", COMPARE))
        self.assertEqual(err, "")
        lines = out.splitlines()
        # Each worker calls setup once, in its own copy. The host's data does not change, and its earlier output is not printed again.
        self.assertEqual(lines[:5], ["before prepared 2"] + ["prepared 2"] * 3 + ["after 1"])
        [record] = os.listdir(self.path("state/stillwell"))
        self.assertEqual(lines[5:], ["TEXT <of> " + record, "slower 1.5 (1.25, 2.0) %s ['old', 'new']" % record, "the host ends"])
        asked = self.log("asked")[0]
        server = [word for word in asked if word.startswith("--fork-server=")]
        self.assertEqual(len(server), 1)
        record = asked[asked.index("--record") + 1]
        self.assertEqual(asked, ["bench", server[0], "--quiet", "--record", record] + "--budget 5s --fast --tag a --tag b --command-name old --command-name new".split())
        self.assertEqual(self.log("group"), [[True]] * 4)
        self.assertEqual(self.log("quit"), [["bye", None]] * 4)

    def test_requests(self):
        self.run_python(self.write("a.py", COMPARE))
        answers = [entry for entry in self.log() if entry[0].split(" ")[0] in ("fork", "reap", "dance")]
        self.assertRegex(answers[0][1], r"\Apid [0-9]+\Z")
        self.assertEqual(answers[1], ["reap " + answers[0][1].split(" ")[1], "status 0"])
        self.assertEqual(answers[-4][1], r"error 1\x20is\x20not\x20a\x20worker\x20of\x20this\x20process")
        self.assertTrue(answers[-3][1].startswith(r"error fork\x20takes\x20the\x20index\x20of\x20an\x20arm,\x20below\x202,\x20and\x20two\x20files"), answers[-3])
        self.assertEqual([answer for _, answer in answers[-2:]], [r"error unknown\x20request"] * 2)
        hellos = self.log("hello")
        self.assertTrue(all(line.startswith("stillwell 1 language=python") and "source=1" not in line for [line] in hellos), hellos)

    def test_every_python_from_3_8_on(self):
        for label in ["3.%d" % minor for minor in range(8, 15)] + ["pypy3", "3.11-dbg", "3.14t"]:
            python = find_interpreter(label)
            if python is not None:
                with self.subTest(label):
                    out, err = self.run_python(self.write("a.py", COMPARE), python=python)
                    self.assertEqual((err, out.splitlines()[-1]), ("", "the host ends"))

    def test_killed_worker(self):
        self.run_python(self.write("a.py", "import stillwell\nstillwell.compare(len, len, names=['a', 'b'])"), FAKE_KILL="1")
        self.assertEqual([entry[1] for entry in self.log() if entry[0].startswith("reap ")][:4], ["status -9"] * 4)

    def test_program_that_dies(self):
        # The worker hangs, and the stand-in does not reap it. The host ends it all the same.
        out, err = self.run_python(self.write("a.py", """
            import os, signal, stillwell
            def hangs():
                signal.pause()
            try:
                stillwell.timeit(hangs)
            except stillwell.Error as error:
                print(error)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                print("no child is left")
        """), FAKE_DIE="1")
        self.assertIn("`stillwell bench …` ended with status 9", out)
        self.assertIn("no child is left", out)

    def test_function_that_raises(self):
        _, err = self.run_python(self.write("a.py", "import stillwell\nstillwell.timeit(lambda: 1 / 0)"), status=1)
        self.assertIn("Error: `stillwell bench …` ended with status 1; fake: ZeroDivisionError: ", err)
        self.assertIn("in <lambda>", err)

    def test_statements(self):
        out, err = self.run_python(self.write("a.py", """
            import stillwell
            seen = 3
            found = stillwell.timeit("x = seen + y", setup="y = 1", teardown="assert x == 4", globals=globals(), duplicate=2, record="kept.swell")
            print(found.name, found.get_nvalue(), repr(found).splitlines()[0])
            found = stillwell.compare("x", "x", "x + 1", setup="x = 1", names=["a", "b", "c"])
            assert "x" not in globals()
            print([arm.name for arm in found.arms])
        """))
        self.assertEqual(out.splitlines(), ["x = seen + y 2 TEXT <of> kept.swell", "['a', 'b', 'c']"])
        self.assertTrue(os.path.exists(self.path("kept.swell")))

    def test_without_an_interval(self):
        for verdict, ratio in (("undecided", 1.1), ("open", 1.5)):
            out, _ = self.run_python("-c", "import stillwell\nf = stillwell.compare(list, list)\nprint(f.verdict, f.ratio, f.interval, [a.name for a in f.arms])",
                                     FAKE_VERDICT=verdict)
            self.assertEqual(out, "%s %s None ['list', 'list 2']\n" % (verdict, ratio))

    def test_mistakes(self):
        for text, message in (
            ("compare(len, len, setup='x = 1')", "TypeError: setup is a text, which is for statements"), ("compare(len, 5)", "TypeError: a benchmark is a function"),
            ("compare(len, len, names=['a'])", "ValueError: there are 1 names for 2 arms"), ("timeit('x = = 1')", "SyntaxError"), ("compare(len, len, names=['a', 'a'])", "ValueError: two arms have one name"),
        ):
            _, err = self.run_python("-c", "import stillwell\nstillwell." + text, status=1)
            self.assertIn(message, err)
        self.assertEqual(self.log(), [])

    def test_interrupt(self):
        _, err = self.run_python("-c", "import stillwell\nstillwell.timeit(list)", status=-2, FAKE_STATUS="130")
        self.assertIn("KeyboardInterrupt: the record is " + self.path("state/stillwell/"), err)

    def test_runner_in_a_repl(self):
        text = ("import stillwell, sys\nr = stillwell.Runner()\nb = r.bench_func('a b', sorted, [2, 1])\nprint('n', b.get_nvalue())\n"
                "r.timeit('2 + x', globals={'x': 1}, duplicate=3) and None\n")
        done = subprocess.run([sys.executable, "-i", "-q", "-c", "import sys; sys.argv = ['', '-f', 'kernel.json']"], input=text.encode(), cwd=self.folder,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first, second = sorted(os.listdir(self.path("state/stillwell")), key=lambda name: os.path.getmtime(self.path("state/stillwell/" + name)))
        self.assertEqual(done.stdout.decode().splitlines(), ["TEXT <of> " + first, "n 2", "TEXT <of> " + second], done.stderr.decode())
        self.assertIn("--command-name", self.log("asked")[0])


class Histogram(unittest.TestCase):
    def test_bins(self):
        from stillwell.histogram import N_BINS, bins

        low, high, counts = bins([[0.0, 30.0, 15.5], [29.9], []])
        self.assertEqual((low, high), (0.0, 30.0))
        self.assertEqual([sum(row) for row in counts], [3, 1, 0])
        self.assertEqual((counts[0][0], counts[0][15], counts[0][N_BINS - 1], counts[1][N_BINS - 1]), (1, 1, 1, 1))
        self.assertEqual(bins([[2.0, 2.0]])[2][0][0], 2)

    def test_times(self):
        from stillwell.histogram import value_text

        for seconds, text in ((12.0, "12 s"), (1.0, "1 s"), (0.0123456, "12.35 ms"), (1e-6, "1 µs"), (5e-8, "50 ns"), (1e-10, "0.1 ns")):
            self.assertEqual(value_text(seconds, "second"), text)
        for n_bytes, text in ((0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 20, "5 MiB"), (3 << 40, "3072 GiB")):
            self.assertEqual(value_text(n_bytes, "byte"), text)
        self.assertEqual(value_text(12.5, "integer"), "12.5")

    def test_names_are_escaped(self):
        from stillwell.histogram import svg

        text = svg([("<a & b>", [1.0, 2.0]), ("c", [3.0])], "second")
        names = [node.text for node in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(names[:2], ["<a & b>", "c"])
        self.assertEqual(svg([("a", [])], "second"), "")


if __name__ == "__main__":
    unittest.main()
