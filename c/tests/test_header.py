"""c/stillwell.h and the examples, driven over pipes as docs/worker-protocol.md says.

    python3 -m unittest discover -s c/tests

No test depends on time. If a compiler is missing, its tests are skipped with the reason.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from worker import UNKNOWN, Worker, drive_example, escape, unescape

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror".split()

# A value of every kind that sw_keep takes, in code that is both C and C++.
KEEPS = r"""
#include "stillwell.h"
struct big { int a[30]; };
struct eight { int a, b; };
enum colour { RED, BLUE };
int all(int n, double d, struct big *b, struct eight e, const char *s);
int all(int n, double d, struct big *b, struct eight e, const char *s)
{
    const int constant = 3;
    const struct eight fixed = {1, 2};
    int array[4] = {1, 2, 3, 4};
    long double wide = 1;
    float narrow = 2;
    char letter = 'c';
    enum colour colour = RED;
    sw_keep(n); sw_keep(n + 1); sw_keep(&n); sw_keep(d); sw_keep(d * 2); sw_keep(*b); sw_keep(e); sw_keep(fixed);
    sw_keep(constant); sw_keep(array); sw_keep(wide); sw_keep(narrow); sw_keep(letter); sw_keep(colour);
    sw_keep("text"); sw_keep(s); sw_keep(sw_keep(all));
    sw_clobber();
    return sw_keep(sw_keep(n) + sw_keep(constant)) + sw_keep(e).b;
}
"""

PROGRAM = r"""
#include "stillwell.h"
#include <stdlib.h>
STILLWELL_BENCH(first) { for (SW_LOOP) { } }
STILLWELL_BENCH_INNER(second, 4) { for (SW_LOOP) continue; }
STILLWELL_BENCH_NAMED("gr\303\274\303\237e an = \\ alle", 1) { for (SW_LOOP) { } }
STILLWELL_BENCH(counts) {
    unsigned loops = 0;
    sw_count("setup", 1);
    for (SW_LOOP) { loops++; sw_keep(loops); sw_count("each loop", 2); }
    sw_count("a=b", loops);
}
STILLWELL_BENCH(breaks) { for (SW_LOOP) break; }
STILLWELL_BENCH(returns) { for (SW_LOOP) { return; } }
STILLWELL_BENCH(no_loop) { }
STILLWELL_BENCH(two_loops) { for (SW_LOOP) { } for (SW_LOOP) { } }
STILLWELL_BENCH(nested) { int i = 0; for (SW_LOOP) { if (i++ == 0) { goto again; } } return; again: for (SW_LOOP) { } }
STILLWELL_BENCH(negative) { for (SW_LOOP) { } sw_count("x", -1); }
STILLWELL_BENCH(many) {
    static char name[40][8];
    int i;
    for (SW_LOOP) { }
    for (i = 0; i < 40; i++) { snprintf(name[i], sizeof name[i], "c%d", i); sw_count(name[i], 1); }
}
STILLWELL_BENCH(prints) { for (SW_LOOP) { } puts("of the program's own"); }
STILLWELL_BENCH(execs) { for (SW_LOOP) { } if (system("ls /proc/self/fd | wc -l > fds") != 0) puts("failed"); }
STILLWELL_MAIN()
"""

LOOPS = r"""
#include "stillwell.h"
static unsigned long long sum(unsigned n) { unsigned long long s = 0; for (; n; n--) s += n * n; return s; }
STILLWELL_BENCH(kept) { for (SW_LOOP) sw_keep(sum(sw_keep(20u))); }
STILLWELL_BENCH(empty) { for (SW_LOOP) { } }
STILLWELL_MAIN()
"""


class Header(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stillwell-c-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def source(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def build(self, compiler, *arguments):
        if not shutil.which(compiler):
            self.skipTest(compiler + " is not installed")
        done = subprocess.run([compiler, *WARNINGS, "-I" + os.path.join(ROOT, "c"), *arguments],
                              stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def program(self, text=PROGRAM, compiler="gcc", name="program.c", flags=("-std=c99", "-O2", "-D_POSIX_C_SOURCE=200809L")):
        path = os.path.join(self.folder, self.id().rpartition(".")[2])
        self.build(compiler, *flags, self.source(name, text), "-o", path)
        return path

    def check_matrix(self, compiler, standards, suffix):
        for standard in standards:
            for optimise in ("-O0", "-O2"):
                with self.subTest(compiler=compiler, standard=standard, optimise=optimise):
                    keeps = self.source("keeps" + suffix, KEEPS)
                    main = self.source("main" + suffix, "#include \"stillwell.h\"\nSTILLWELL_BENCH(one) { for (SW_LOOP) sw_keep(1); }\nSTILLWELL_MAIN()\n")
                    path = os.path.join(self.folder, "matrix")
                    # Two files with the header in one program: it links.
                    self.build(compiler, "-std=" + standard, optimise, keeps, main, "-o", path)
                    with Worker(path) as worker:
                        self.assertEqual(worker.ask("select one"), "ok")
                        self.assertRegex(worker.ask("run 1000"), r"^time \d+ \d+$")

    def test_gcc(self):
        self.check_matrix("gcc", ["c99", "c11", "c17", "gnu17"], ".c")

    def test_clang(self):
        self.check_matrix("clang", ["c99", "c11", "c17", "gnu17"], ".c")

    def test_gxx(self):
        self.check_matrix("g++", ["c++11", "c++17", "c++20"], ".cpp")

    def test_clangxx(self):
        self.check_matrix("clang++", ["c++11", "c++17", "c++20"], ".cpp")

    def test_libc_included_first_in_strict_c_says_what_to_do(self):
        if not shutil.which("gcc"):
            self.skipTest("gcc is not installed")
        source = self.source("late.c", "#include <stdio.h>\n#include \"stillwell.h\"\n")
        done = subprocess.run(["gcc", "-std=c99", "-I" + os.path.join(ROOT, "c"), "-c", source, "-o", os.devnull],
                              stderr=subprocess.PIPE, universal_newlines=True)
        self.assertIn("Include stillwell.h first, or compile with -D_POSIX_C_SOURCE=200809L", done.stderr)

    def test_hello_list_and_names(self):
        for compiler, name, flags, language in (("gcc", "program.c", ("-std=c99", "-O2", "-D_POSIX_C_SOURCE=200809L"), "c"),
                                                ("g++", "program.cpp", ("-std=c++11", "-O2"), "c++")):
            with self.subTest(compiler), Worker(self.program(PROGRAM, compiler, name, flags)) as worker:
                self.assertRegex(worker.hello, r"^stillwell 1 language=%s implementation=gcc version=\d+\.\d+\.\d+$" % re.escape(language))
                names = [unescape(line.split(" ")[1]) for line in worker.ask_many("list")]
                self.assertEqual(names[:4], ["first", "second", "grüße an = \\ alle", "counts"])
                self.assertEqual([n for n in worker.ask_many("list") if n.endswith("inner_loops=4")], ["benchmark second inner_loops=4"])
                for text in names[:4]:
                    self.assertEqual(worker.ask("select " + escape(text)), "ok")
                    self.assertRegex(worker.ask("run 1"), r"^time \d+ \d+( |$)")

    def test_run_and_its_errors(self):
        with Worker(self.program()) as worker:
            self.assertEqual(worker.error("run 1"), "no benchmark is selected: send select NAME before run")
            self.assertIn("no benchmark is called absent", worker.error("select absent"))
            self.assertEqual(worker.ask("select first"), "ok")
            for bad in ("0", "-1", "1x", "", "+1", " 1", "9223372036854775808", "99999999999999999999999"):
                self.assertIn("LOOPS must be a whole number", worker.error("run " + bad))
            self.assertRegex(worker.ask("run 100000000"), r"^time \d+ \d+$")

    def test_the_largest_number_of_loops_is_begun(self):
        with Worker(self.program()) as worker:
            worker.ask("select breaks")
            self.assertEqual(worker.error("run 9223372036854775807"), "benchmark breaks left its loop early")
            worker.ask("select first")
            worker.send("run 9223372036854775807\n")  # This takes centuries, so the parent kills the worker.
            worker.process.kill()
            self.assertEqual(worker.line(), "")
            self.assertEqual(worker.close(), -9)

    def test_the_loop_must_be_left_by_its_condition_once(self):
        with Worker(self.program()) as worker:
            for name, message in (("breaks", "left its loop early"), ("returns", "left its loop early"),
                                  ("no_loop", "did not come to its loop: there must be one for (SW_LOOP)"),
                                  ("two_loops", "came to a second loop: there must be one for (SW_LOOP)"),
                                  ("nested", "came to a second loop: there must be one for (SW_LOOP)")):
                self.assertEqual(worker.ask("select " + name), "ok")
                self.assertEqual(worker.error("run 5"), "benchmark %s %s" % (name, message))
            self.assertEqual(worker.ask("select first"), "ok")
            self.assertRegex(worker.ask("run 5"), r"^time \d+ \d+$")

    def test_counters_are_sums_of_one_run(self):
        with Worker(self.program()) as worker:
            self.assertEqual(worker.ask("select counts"), "ok")
            for loops in (7, 3):
                self.assertEqual(worker.ask("run %d" % loops).split(" ")[3:],
                                 ["setup=1", "each\\x20loop=%d" % (2 * loops), "a\\x3db=%d" % loops])
            worker.ask("select negative")
            self.assertIn("counter x is negative, or 2^63 and more", worker.error("run 1"))
            worker.ask("select many")
            self.assertIn("counter c32 is one too many", worker.error("run 1"))

    def test_what_was_not_announced_is_unknown(self):
        with Worker(self.program()) as worker:
            for request in ("gc on", "collect", "compile 1", "source setup 0", "", "list all", "LIST", "run", "select"):
                self.assertEqual(worker.ask(request), "error unknown\\x20request", request)

    def test_metadata_is_of_the_file_with_the_benchmark(self):
        main = self.source("meta_main.c", "#include \"stillwell.h\"\nSTILLWELL_MAIN()\n")
        other = self.source("meta_other.c", "#include \"stillwell.h\"\nSTILLWELL_BENCH(other) { for (SW_LOOP) { } }\n")
        path = os.path.join(self.folder, "meta")
        self.build("gcc", "-std=c99", "-O0", "-c", main, "-o", path + "1.o")
        self.build("gcc", "-std=c11", "-O2", "-DNDEBUG", "-c", other, "-o", path + "2.o")
        self.build("gcc", path + "1.o", path + "2.o", "-o", path)
        with Worker(path) as worker:
            facts = lambda: dict(map(unescape, line.split(" ")[1:]) for line in worker.ask_many("metadata"))
            self.assertEqual((facts()["optimised"], facts()["assertions"]), ("0", "1"))
            worker.ask("select other")
            self.assertEqual((facts()["optimised"], facts()["assertions"], facts()["source_file"]), ("1", "0", other))
            self.assertRegex(facts()["compiler"], r"^gcc \d+\.")
            self.assertEqual(facts()["standard"], "c 201112L")
            self.assertEqual(facts()["architecture"], os.uname().machine)

    def test_quit_and_end_of_file(self):
        path = self.program()
        with Worker(path) as worker:
            self.assertEqual(worker.ask("quit"), "bye")
            self.assertEqual(worker.close(), 0)
        worker = Worker(path)
        self.assertEqual(worker.close(), 0)
        worker = Worker(path)
        worker.send("lis")  # The parent dies in the middle of a line.
        self.assertEqual(worker.close(), 0)

    def test_the_parent_dies_during_a_run(self):
        worker = Worker(self.program())
        worker.ask("select first")
        worker.send("run 300000000\n")
        self.assertIn(worker.close(), (0, -13))  # The worker writes to a closed pipe: SIGPIPE.

    def test_lines_in_pieces_together_and_too_long(self):
        with Worker(self.program()) as worker:
            for byte in "select first\n":
                worker.send(byte)
            self.assertEqual(worker.line(), "ok")
            worker.send("run 1\nselect second\n")
            self.assertTrue(worker.line().startswith("time "))
            self.assertEqual(worker.line(), "ok")
            for length in (65535, 65536, 65537, 200000):
                long = b"x" * length
                while long:
                    worker.send(long[:4096])
                    long = long[4096:]
                message = worker.error("")
                self.assertEqual(message, UNKNOWN if length < 65536 else "the request is longer than 65536 bytes")
                self.assertEqual(worker.ask("select first"), "ok")

    def test_signals_do_not_end_reading(self):
        program = "#define _GNU_SOURCE\n#include <signal.h>\n" + PROGRAM.replace("STILLWELL_MAIN()", r"""
        static void nothing(int s) { (void)s; }
        int main(int argc, char **argv)
        {
            struct sigaction action;
            memset(&action, 0, sizeof action);
            action.sa_handler = nothing; /* no SA_RESTART */
            sigaction(SIGUSR1, &action, NULL);
            return sw_main(argc, argv);
        }""")
        with Worker(self.program(program, flags=("-std=gnu99", "-O2"))) as worker:
            for _ in range(50):
                worker.process.send_signal(10)
            self.assertEqual(worker.ask("select first"), "ok")

    def test_output_of_the_program_is_its_own_and_pipes_are_not_handed_on(self):
        path = self.program()
        inside = tempfile.mkdtemp(dir=self.folder)
        with Worker(path, cwd=inside) as worker:
            worker.ask("select prints")
            self.assertRegex(worker.ask("run 1"), r"^time ")
            worker.ask("select execs")
            self.assertRegex(worker.ask("run 1"), r"^time ")
            worker.ask("quit")
            self.assertEqual(worker.close(), 0)
            self.assertEqual(worker.stdout, b"of the program's own\n")
        with open(os.path.join(inside, "fds"), encoding="ascii") as file:
            self.assertEqual(file.read().strip(), "4")  # 0, 1, 2, and the folder that ls reads

    def test_cxx_exceptions_namespaces_and_c_in_one_program(self):
        cxx = self.source("mixed.cpp", r"""
        #include "stillwell.h"
        #include <stdexcept>
        namespace a { namespace { STILLWELL_BENCH(throws) { for (SW_LOOP) throw std::runtime_error("too wet"); } } }
        namespace b { STILLWELL_BENCH(odd) { for (SW_LOOP) throw 1; } }
        STILLWELL_MAIN()
        """)
        c = self.source("mixed.c", "#include \"stillwell.h\"\nSTILLWELL_BENCH(in_c) { for (SW_LOOP) { } }\n")
        path = os.path.join(self.folder, "mixed")
        self.build("gcc", "-std=c99", "-c", c, "-o", path + ".o")
        self.build("g++", "-std=c++11", cxx, path + ".o", "-o", path)
        with Worker(path) as worker:
            self.assertEqual(len(worker.ask_many("list")), 3)
            worker.ask("select throws")
            self.assertEqual(worker.error("run 1"), "std::exception: too wet")
            worker.ask("select odd")
            self.assertEqual(worker.error("run 1"), "an exception that is not a std::exception")
            worker.ask("select in_c")
            self.assertRegex(worker.ask("run 1"), r"^time ")

    def run_alone(self, path, *arguments):
        return subprocess.run([path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    def test_alone(self):
        path = self.program()
        self.assertEqual(self.run_alone(path, "--list").stdout.splitlines()[2], "grüße an = \\ alle")
        self.assertIn("--list", self.run_alone(path, "--help").stdout)
        done = self.run_alone(path, "first", "grüße an = \\ alle")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^first +\d+(\.\d+)? (ns|us|ms|s)$")
        self.assertEqual(lines[0].index("s", 10), lines[1].index("s", 19))  # the units stand in one column
        self.assertIn("stillwell bench ./old ./new", done.stdout)
        done = self.run_alone(path, "absent")
        self.assertEqual((done.returncode, done.stderr), (2, "stillwell: no benchmark is called absent: see --list\n"))
        done = self.run_alone(path, "breaks")
        self.assertEqual((done.returncode, done.stderr), (2, "stillwell: breaks: benchmark breaks left its loop early\n"))

    def test_what_is_wrong_with_the_program_or_the_descriptors(self):
        path = self.program("#include \"stillwell.h\"\nSTILLWELL_MAIN()\n")
        self.assertIn("no benchmark here", self.run_alone(path).stderr)
        path = self.program("#include \"stillwell.h\"\nSTILLWELL_BENCH(one) { for (SW_LOOP) { } }\n"
                            "STILLWELL_BENCH_NAMED(\"one\", 1) { for (SW_LOOP) { } }\nSTILLWELL_MAIN()\n")
        self.assertRegex(self.run_alone(path).stderr, r"program.c:2 and .*program.c:3: both benchmarks are called one; rename one")
        path = self.program()
        for argument, message in (("98,99", "Bad file descriptor"), ("3", "two file descriptors"), ("3,4x", "two file descriptors")):
            done = self.run_alone(path, "--stillwell-worker=" + argument)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)

    def body(self, assembly, name):
        return assembly.partition("\n%s_sw_bench:" % name)[2].partition(".size\t%s_sw_bench" % name)[0]

    def test_assembly(self):
        """The assembly has the kept work, and a loop around nothing is a subtraction and a branch."""
        if os.uname().machine != "x86_64":
            self.skipTest("the expected assembly is that of x86_64")
        for compiler in ("gcc", "clang"):
            with self.subTest(compiler):
                path = os.path.join(self.folder, "loops.s")
                self.build(compiler, "-std=c99", "-O2", "-fno-asynchronous-unwind-tables", "-S", self.source("loops.c", LOOPS), "-o", path)
                with open(path, encoding="utf-8") as file:
                    assembly = file.read()
                empty = re.sub(r"\n\s*(#.*|\.p2align.*)", "", self.body(assembly, "empty"))
                self.assertRegex(empty, r"\n(\.L\w+):[^\n]*\n\s*(subq\s+\$1|addq\s+\$-1|decq), ?%\w+\n\s*jne\s+\1\n")
                self.assertRegex(self.body(assembly, "kept"), r"imul")  # n * n

    def test_example_in_c(self):
        for flags in ([], ["-DNEW_HASH"]):
            path = os.path.join(self.folder, "example-c")
            self.build("gcc", "-std=c99", "-O2", *flags, os.path.join(ROOT, "examples/c/bench.c"), "-o", path)
            drive_example(self, [path], ["hash", "search", "sort_1000"])

    def test_example_in_cxx(self):
        path = os.path.join(self.folder, "example-cxx")
        self.build("g++", "-std=c++11", "-O2", os.path.join(ROOT, "examples/c/bench.cpp"), "-o", path)
        drive_example(self, [path], ["join_growing", "join_reserved"])


if __name__ == "__main__":
    unittest.main()
