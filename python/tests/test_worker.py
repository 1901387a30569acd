"""worker.py in every interpreter of this machine, driven over pipes."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import INTERPRETERS, WORKER_PATH, Worker, decode, environment, find_interpreter  # noqa: E402

# The instructions of the loop for some statements: first those of worker.py, then those of the standard timeit.
LOOPS = """
import dis, sys, timeit
sys.path.insert(0, sys.argv[1])
import worker
setup = "x = 1; f = id"
for text in ("x + x", "f(x)  # comment", "y = f(x)\\nz = [y,\\n2]", "[i for i in (x, x)]"):
    ours = worker.Statement({"setup": setup, "statement": text}, 1, {}).inner
    for function in (ours, timeit.Timer(text, setup).inner):
        names = [one.opname for one in dis.get_instructions(function) if one.opname != "CACHE"]
        names = names[names.index("FOR_ITER"):]
        print(*names[:[name.startswith("JUMP") for name in names].index(True) + 1])
"""
TIME = re.compile(r"time [0-9]+ [0-9]+")


class WorkerTests:
    """The tests. Each interpreter has a subclass."""

    label = python = None

    @classmethod
    def setUpClass(cls):
        cls.python = find_interpreter(cls.label)
        if cls.python is None:
            raise unittest.SkipTest("Python %s is not installed" % cls.label)

    def start(self, flags=(), **popen_options):
        worker = Worker.of_text(self.python, flags, **popen_options)
        self.addCleanup(worker.end)
        self.hello = worker.read_line()
        self.assertIsNotNone(self.hello, worker.output())
        return worker

    def prepared(self, worker=None, duplicate=1, **sources):
        worker = worker or self.start()
        for part in ("setup", "statement", "teardown"):
            self.assertEqual(worker.source(part, sources.get(part, "")), "ok")
        self.assertEqual(worker.ask("compile %d" % duplicate), "ok", worker.output())
        return worker

    def assert_runs(self, worker, loops=1):
        self.assertRegex(worker.ask("run %d" % loops), r"\Atime [0-9]+ [0-9]+\Z", worker.output())

    def assert_error(self, answer, start):
        self.assertIsNotNone(answer)
        self.assertEqual(answer.count(" "), 1, answer)
        self.assertTrue(answer.startswith("error "), answer)
        self.assertTrue(decode(answer[6:]).startswith(start), decode(answer[6:]))

    def check(self, **sources):
        """Checks that the parts run as they should. Their own assertions decide."""
        loops = sources.pop("loops", 1)
        worker = self.prepared(**sources)
        self.assert_runs(worker, loops)
        return worker

    def test_hello(self):
        worker = self.start()
        words = self.hello.split(" ")
        facts = dict(word.split("=") for word in words[2:])
        self.assertEqual(words[:2], ["stillwell", "1"])
        asked = "import sys; print(sys.implementation.name, '%d.%d.%d' % sys.version_info[:3], int(hasattr(sys, 'gettotalrefcount')))"
        name, version, debug = subprocess.check_output([self.python, "-c", asked]).decode().split()
        expected = {"language": "python", "implementation": name, "version": version, "debug": debug, "source": "1", "gc": "1"}
        self.assertEqual({key: facts[key] for key in expected}, expected)
        self.assertIn(facts["gil"], "01")
        self.assertEqual(facts["jit"] == "1", name in ("pypy", "graalpy") or facts["jit"] == "1" and sys.version_info >= (3, 13))
        self.assertEqual(worker.ask("quit"), "bye")
        self.assertEqual(worker.wait(), 0)
        self.assertEqual(worker.output(), ["", ""])

    def test_end_of_file_ends_it(self):
        worker = self.start()
        self.assertEqual(worker.wait(), 0)
        self.assertIsNone(worker.read_line())

    def test_end_of_file_inside_of_a_source(self):
        worker = self.start()
        worker.send(b"source setup 100\nx = 1")
        self.assertEqual(worker.wait(), 0)

    def test_parent_that_does_not_read(self):
        worker = self.start()
        os.dup2(os.open(os.devnull, os.O_RDONLY), worker.read_fd)
        worker.send(b"list\n")
        self.assertEqual(worker.process.wait(60), 0)

    def test_loops_and_duplicates(self):
        worker = self.prepared(duplicate=3, setup="seen = []", statement="seen.append(1)", teardown="assert len(seen) == 21, len(seen)")
        self.assert_runs(worker, 7)
        self.assert_error(worker.ask("run 8"), "AssertionError: 24")

    def test_setup_and_teardown_at_each_run(self):
        self.prepared(setup="import sys; sys.n = getattr(sys, 'n', 0) + 1", teardown="sys.m = getattr(sys, 'm', 0) + 1")
        worker = self.prepared(setup="import sys; sys.n = getattr(sys, 'n', 0) + 1", teardown="assert sys.n == 2")
        self.assert_error(worker.ask("run 5"), "AssertionError")
        self.assert_runs(worker, 5)

    def test_names_are_locals(self):
        self.check(setup="x = 1", statement="y = x", teardown="assert {'x', 'y'} <= set(locals()) and not {'x', 'y'} & set(globals())")

    def test_namespace_is_fresh(self):
        worker = self.check(setup=(
            "import __main__\nassert __name__ == '__main__' and __main__.__dict__ is globals()\n"
            "names = {name for name in globals() if not name.startswith('__')}\nassert not names, names\nglobal left\nleft = 1"))
        self.prepared(worker, setup="assert 'left' not in globals()")
        self.assert_runs(worker)

    def test_argv_and_path_are_those_of_minus_c(self):
        self.check(setup="import sys\nassert sys.argv == ['-c'], sys.argv\nassert sys.path[0] == '', sys.path")

    def test_flags_are_python_s_own(self):
        worker = self.start(["-I", "-S", "-O"])
        self.prepared(worker, setup="import sys\nif '' in sys.path or not sys.flags.isolated: raise ValueError(sys.path)", statement="assert 0")
        self.assert_runs(worker)

    def test_strings_of_several_lines(self):
        self.check(
            setup='a = """1\n  2\n3"""', statement='b = """4\n5\\\n 6"""; c = \'x\\\ny\'',
            teardown="assert (a, b, c) == ('1\\n  2\\n3', '4\\n5 6', 'xy'), (a, b, c)")

    def test_blocks_comments_and_nothing(self):
        self.check(
            setup="# nothing but this", statement="if 1:\n\tx = [\n1,\n2]\n\n  # odd\nelse:\n\tx = 0\nfor i in x:\n  continue\n# end",
            teardown="def f():\n    return x\nassert f() == [1, 2]")
        self.check(statement="pass # comment")
        self.check(statement="")
        self.check(setup="x = 1\r\nif x:\r\n    y = '''a\r\nb'''\r\n", teardown="assert y == 'a\\nb', y")

    def test_unicode(self):
        self.check(setup="é = '日本\U0001f600'", teardown="assert ascii(é) == r\"'\\u65e5\\u672c\\U0001f600'\", ascii(é)")

    def test_big_source_in_pieces(self):
        worker = self.start()
        text = "x = [" + ",\n".join(["'0123456789 \\\\ é'"] * 10000) + "]\n"
        data = text.encode()
        self.assertGreater(len(data), 200000)
        worker.send(b"source setup %d\n" % len(data))
        for start in range(0, len(data), 4099):
            worker.send(data[start:start + 4099])
        self.assertEqual(worker.read_line(), "ok")
        worker.source("teardown", "assert len(x) == 10000 and x[-1] == '0123456789 \\\\ é'")
        self.assertEqual(worker.ask("compile 1"), "ok")
        self.assert_runs(worker)

    def test_several_requests_in_one_write(self):
        worker = self.start()
        worker.send(b"source statement 3\nx=1compile 1\nrun 3\nlist\n")
        self.assertEqual([worker.read_line(), worker.read_line()], ["ok", "ok"])
        self.assertRegex(worker.read_line(), TIME)
        self.assertEqual(worker.read_line(), "end")

    def test_parts_are_replaced_one_by_one(self):
        worker = self.check(setup="x = 1", statement="y = x + 1", teardown="assert y == 2")
        worker.source("statement", "y = x + 2")
        self.assertEqual(worker.ask("compile 1"), "ok")
        self.assert_error(worker.ask("run 1"), "AssertionError")

    def test_syntax_errors(self):
        worker = self.prepared()
        for part, text, line in (
            ("statement", "x = 1\ny = = 2", 2), ("setup", "x = )", 1), ("teardown", "if 1:\n  x\n y", 3), ("statement", "\n\nreturn 1", 3),
            ("statement", "break", 1), ("statement", "x\nyield 1", 2), ("statement", "  x", 1),
            # The parts alone are right; the function of all parts is not.
            ("statement", "\nfrom os import *", 2), ("setup", "from __future__ import division", 1), ("teardown", "x = 1\nglobal x", 2),
        ):
            if "*" in text and int(self.hello.split("version=3.")[1].split(".")[0]) < 10:
                continue  # These Pythons name the first line of the function.
            worker.source(part, text)
            answer = worker.ask("compile 1")
            self.assert_error(answer, ("SyntaxError", "IndentationError")[text in ("  x", "if 1:\n  x\n y")])
            self.assertIn("(<%s>, line %d)" % (part, line), decode(answer[6:]), text)
            worker.source(part, "")
        self.assert_error(worker.ask("run 1"), "LookupError")  # After a failed compile there is nothing to run.

    def test_errors_say_where(self):
        worker = self.prepared(setup='a = """\n\n"""', statement="x = 1\n\n# comment\nnot_there")
        self.assertEqual(decode(worker.ask("run 1")), "error NameError: name 'not_there' is not defined (<statement>, line 4)")
        self.assertIn("NameError: name 'not_there'", worker.output()[1])
        worker.source("setup", "def f():\n  1 / 0\nf()")
        worker.ask("compile 1")
        answer = decode(worker.ask("run 1"))
        self.assertTrue(answer.startswith("error ZeroDivisionError: ") and answer.endswith(" (<setup>, line 3)"), answer)

    def test_statement_that_ends_the_program(self):
        for text, start in (
            ("import sys; sys.exit(3)", "SystemExit: 3"), ("raise SystemExit", "SystemExit"), ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGINT)\nwhile 1: pass", "KeyboardInterrupt"),
            ("class E(Exception):\n def __str__(self): 1/0\nraise E", "E: (its str() fails)"),
            ("f = lambda: f()\nf()", "RecursionError"), ("raise GeneratorExit", "GeneratorExit"),
        ):
            worker = self.prepared(statement=text)
            self.assert_error(worker.ask("run 1"), start)
            self.prepared(worker, statement="pass")
            self.assert_runs(worker)
            self.assertEqual(worker.wait(), 0)

    def test_messages_are_one_word(self):
        worker = self.prepared(statement="raise ValueError('a b\\n\\t\\\\x \\xe9\\u65e5 \\udc80')")
        self.assertEqual(worker.ask("run 1"), (
            r"error ValueError:\x20a\x20b\x0a\x09\x5cx\x20\xc3\xa9\xe6\x97\xa5\x20\x5cudc80\x20(<statement>,\x20line\x201)"))
        worker = self.prepared(worker, statement="raise ValueError('é' * 100000)")
        answer = worker.ask("run 1")
        self.assertLess(len(answer), 65536)
        self.assert_error(answer, "ValueError: ééé")

    def test_process_that_is_ended(self):
        worker = self.prepared(statement="import os; os._exit(7)")
        self.assertIsNone(worker.ask("run 1"))
        self.assertEqual(worker.wait(), 7)

    def test_malformed_requests(self):
        worker = self.start()
        self.assertEqual(worker.ask("dance"), r"error unknown\x20request")
        self.assertEqual(worker.ask(""), r"error unknown\x20request")
        for request in ("run", "run 0", "run -1", "run x", "run 1 2", "run 9223372036854775808", "run ", "compile 0", "compile", "gc", "gc no",
                        "list 1", "quit 1", "source setup", "source setup x", "collect 1", "metadata x", "select"):
            self.assert_error(worker.ask(request), "ValueError")
        self.assert_error(worker.source("preparation", "x\nrun 1\n"), "ValueError")
        self.assert_error(worker.source("setup", b"\xff\n"), "UnicodeDecodeError")
        self.assert_error(worker.ask(r"select a\x20\xc3\xa9"), "LookupError: there is no benchmark 'a é'")
        self.assert_error(worker.ask("run 1"), "LookupError: there is nothing to run yet")
        self.assertEqual(worker.ask("list"), "end")

    def test_standard_streams_are_the_statement_s(self):
        with tempfile.TemporaryFile() as stdout:
            worker = self.start(stdout=stdout)
            self.prepared(worker, setup="import sys", statement="print('x' * 1000); sys.stderr.write('y')")
            self.assert_runs(worker, 1000)
            self.assertEqual(worker.wait(), 0)
            stdout.seek(0)
            self.assertEqual(len(stdout.read()), 1001000)
            self.assertEqual(worker.output()[1], "y" * 1000)

    def test_closed_streams(self):
        worker = self.prepared(setup="import os, sys\nassert sys.stdin.read() == ''\nsys.stdin.close(); sys.stdout = sys.stderr = None\nos.closerange(0, 3)")
        self.assert_runs(worker)
        self.assert_error(worker.ask("run 1"), "ValueError")
        self.assert_error(worker.ask("run 1"), "ValueError")

    def test_fork_that_comes_out_of_the_statement(self):
        worker = self.prepared(setup="import os", statement="os.fork()")
        self.assert_runs(worker)
        self.assertEqual(worker.ask("list"), "end")
        self.assertEqual(worker.ask("quit"), "bye")
        self.assertEqual(worker.wait(), 0)
        self.assertIsNone(worker.read_line())

    def test_files_are_not_handed_on(self):
        self.check(setup=(
            "import os\nfds = [int(fd) for fd in os.listdir('/proc/self/fd') if int(fd) > 2 and os.path.exists('/proc/self/fd/' + fd)]\n"
            "assert len(fds) >= 2 and not any(map(os.get_inheritable, fds)), fds"))

    def test_signal_while_it_waits(self):
        worker = self.prepared(setup="import signal; signal.signal(signal.SIGUSR1, lambda *_: None)")
        self.assert_runs(worker)
        os.kill(worker.process.pid, signal.SIGUSR1)
        self.assert_runs(worker)

    def test_nothing_is_imported_from_the_disk(self):
        text = "import sys; print(sorted(sys.modules))"
        plain = subprocess.check_output([self.python, "-c", text]).decode()
        worker = self.prepared(statement=text)
        self.assert_runs(worker)
        worker.wait()
        more = set(re.findall("'([^']+)'", worker.output()[0])) - set(re.findall("'([^']+)'", plain))
        builtin = subprocess.check_output([self.python, "-c", "import sys; print(*sys.builtin_module_names)"]).decode().split()
        self.assertLessEqual(more, set(builtin))

    def test_modules_beside_the_user_s_code(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("json", "random", "platform", "sysconfig", "asyncio", "gc", "time", "itertools", "_ast", "timeit"):
                with open(os.path.join(folder, name + ".py"), "w") as file:
                    file.write("raise RuntimeError('shadowed')")
            with open(os.path.join(folder, "mine.py"), "w") as file:
                file.write("x = 5")
            worker = self.prepared(self.start(cwd=folder), setup="from mine import x", statement="y = x", teardown="assert y == 5")
            self.assert_runs(worker)
            self.assertIn("python_version", [line.split(" ")[1] for line in worker.ask_lines("metadata")])
            self.prepared(worker, setup="import json")
            self.assert_error(worker.ask("run 1"), "RuntimeError: shadowed")

    def test_loop_is_that_of_timeit(self):
        if self.label in ("pypy3", "graalpy"):
            self.skipTest("has another bytecode")
        found = subprocess.check_output([self.python, "-c", LOOPS, os.path.dirname(WORKER_PATH)]).decode().split("\n")[:-1]
        self.assertEqual(len(found), 8)
        for ours, timeits in zip(found[::2], found[1::2]):
            self.assertEqual(ours, timeits)
            self.assertTrue(ours.startswith("FOR_ITER STORE_FAST "), ours)

    def test_garbage_collection(self):
        worker = self.prepared(setup="import gc", statement="assert gc.isenabled()")
        self.assert_runs(worker)
        self.assertEqual(worker.ask("gc off"), "ok")
        self.assert_error(worker.ask("run 1"), "AssertionError")
        self.assertEqual(worker.ask("gc on"), "ok")
        self.assert_runs(worker)

    def test_collect(self):
        make = "import sys, weakref\nclass C: pass\nc = C(); c.c = c; sys.ref = weakref.ref(c); del c, C"
        worker = self.prepared(setup=make, statement="assert sys.ref() is None")
        worker.ask("gc off")
        self.assert_error(worker.ask("run 1"), "AssertionError")
        self.prepared(worker, setup="import sys", statement="assert sys.ref() is None")
        self.assertEqual(worker.ask("collect"), "ok")
        self.assert_runs(worker)

    def test_metadata(self):
        worker = self.prepared(self.start(env=environment(PYTHONHASHSEED="7")))
        worker.ask("gc off")
        self.assert_runs(worker)
        lines = [line.split(" ") for line in worker.ask_lines("metadata")]
        self.assertTrue(all(len(words) == 3 and words[0] == "meta" for words in lines), lines)
        found = {decode(name): decode(value) for _, name, value in lines}
        self.assertEqual(found["python_hash_seed"], "7")
        self.assertEqual(found["python_gc"], "disabled")
        self.assertIn("CLOCK_MONOTONIC", found["timer"])
        self.assertIn(self.hello.split("version=")[1].split(" ")[0], found["python_version"])
        self.assertLessEqual({"python_implementation", "python_executable", "python_cflags"}, set(found))

    def test_hash_seed(self):
        seeds = {}
        for seed in ("1", "1", "2"):
            worker = self.prepared(self.start(env=environment(PYTHONHASHSEED=seed)), statement="print(hash('stillwell'))")
            self.assert_runs(worker)
            worker.wait()
            seeds.setdefault(seed, set()).add(worker.output()[0])
        self.assertEqual([len(found) for found in seeds.values()], [1, 1])
        if self.label != "pypy3":  # The hashes of PyPy do not depend on it.
            self.assertNotEqual(seeds["1"], seeds["2"])

    def test_tracemalloc(self):
        worker = self.start()
        if "tracemalloc=1" not in self.hello:
            self.prepared(worker)
            self.assertEqual(worker.ask("tracemalloc 1"), r"error unknown\x20request")
            return
        self.prepared(worker, setup="before = bytearray(10**7); kept = []", statement="kept.append(bytearray(10**5))")
        self.assert_error(worker.ask("tracemalloc 0"), "ValueError")
        word, peak_bytes = worker.ask("tracemalloc 10").split(" ")
        self.assertEqual(word, "memory")
        self.assertTrue(10 ** 6 <= int(peak_bytes) < 2 * 10 ** 6, peak_bytes)
        self.prepared(worker, setup="import _tracemalloc", statement="assert not _tracemalloc.is_tracing()")
        self.assert_runs(worker)

    def test_await(self):
        worker = self.prepared(
            setup="import asyncio, sys\nloops = sys.__dict__.setdefault('loops', [])\nseen = []",
            statement="await asyncio.sleep(0)\nseen.append(asyncio.get_event_loop())",
            teardown="assert len(set(seen)) == 1 and len(seen) == 5 and seen[0] not in loops\nloops.append(seen[0])")
        self.assert_runs(worker, 5)
        self.assert_runs(worker, 5)
        self.prepared(worker, setup="import sys", statement="assert len(sys.loops) == 2 and all(loop.is_closed() for loop in sys.loops)")
        self.assert_runs(worker)

    def test_await_elsewhere(self):
        each = "class A:\n async def __aenter__(self): return 5\n async def __aexit__(self, *_): pass\n"
        self.check(setup=each, statement="async with A() as x:\n  await A().__aexit__()", teardown="assert x == 5")
        self.check(setup=each + "y = await A().__aenter__()", statement="x = y", teardown="assert x == 5")
        worker = self.prepared(setup=each, statement="x = 1\nawait A().not_there")
        answer = decode(worker.ask("run 1"))
        self.assertTrue(answer.startswith("error AttributeError: ") and answer.endswith("(<statement>, line 2)"), answer)
        # A coroutine that the statement does not await is not the worker's.
        self.check(statement="async def f():\n  await g()\nawaited = 'await'", teardown="assert awaited")


for _label in INTERPRETERS:
    _name = "Worker_" + re.sub(r"\W", "_", _label)
    globals()[_name] = type(_name, (WorkerTests, unittest.TestCase), {"label": _label, "__module__": __name__})


if __name__ == "__main__":
    unittest.main()
