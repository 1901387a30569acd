"""The workers in examples/, each in one file, driven over pipes as docs/worker-protocol.md says.

    python3 -m unittest discover -s c/tests

No test depends on time. If a compiler is missing, its test is skipped with the reason.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from worker import drive_example

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples")


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def needs(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest("%s is not installed" % program)

    def drive(self, command, names):
        """The example answers as the protocol says, and without stillwell it says what it is."""
        drive_example(self, command, names)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"stillwell bench", done.stderr)

    def test_rust(self):
        self.needs("rustc")
        path = os.path.join(self.folder, "worker-rust")
        subprocess.run(["rustc", "-O", "-D", "warnings", os.path.join(EXAMPLES, "worker.rs"), "-o", path], check=True)
        self.drive([path], ["fib_15", "sum_1000"])

    def test_rust_crate(self):
        """crates/bench, by the example in it."""
        self.needs("cargo")
        words = ["cargo", "build", "--quiet", "--locked", "-p", "stillwell-bench", "--example", "functions", "--message-format=json"]
        done = subprocess.run(words, cwd=os.path.dirname(EXAMPLES), stdout=subprocess.PIPE, check=True)
        [path] = [path for path in re.findall(rb'"executable":"([^"]+)"', done.stdout)]
        drive_example(self, [path.decode()], ["fib_15", "sort_1000"])
        listed = subprocess.run([path, "--list", "--bench"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(listed, b"fib_15\nsort_1000\n")
        tested = subprocess.run([path, "--test", "sort"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(tested, b"sort_1000  ok\n")
        self.assertEqual(subprocess.run([path, "absent"], stderr=subprocess.PIPE).returncode, 2)

    def test_go(self):
        self.needs("go")
        path = os.path.join(self.folder, "worker-go")
        subprocess.run(["go", "build", "-o", path, os.path.join(EXAMPLES, "worker.go")], check=True, env=dict(os.environ, GO111MODULE="off", GOFLAGS=""))
        self.drive([path], ["BenchmarkFields", "BenchmarkItoa"])

    def test_java(self):
        self.needs("java", "javac")
        folder = os.path.join(self.folder, "java")
        subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", folder, os.path.join(EXAMPLES, "Worker.java")], check=True)
        self.drive(["java", "-cp", folder, "Worker"], ["hash", "sort_1000"])

    def test_javascript(self):
        self.needs("node")
        self.drive(["node", os.path.join(EXAMPLES, "worker.js")], ["parse", "sort_1000"])


if __name__ == "__main__":
    unittest.main()
