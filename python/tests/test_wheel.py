"""The wheel: the tests build it with pip, install it into a fresh environment, and use it there.

It takes the program that `make build` has made, so it compiles nothing. Without that, or without the maturin that
`make test-tools` installs into target/wheel-tools, it is skipped.
"""
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from real import ROOT, built  # noqa: E402

TOOLS = os.path.join(os.path.dirname(os.path.dirname(built("debug"))), "wheel-tools")
SCRIPT = """
    import stillwell
    stillwell.Runner().bench_func("sort", sorted, [3, 1, 2])
"""
TESTS = """
    def test_sort(stillwell):
        assert stillwell(sorted, [3, 1, 2]).get_nvalue() == 3
"""


def words_of(*words, **options):
    """Output of a command. AssertionError with the output if the command fails."""
    done = subprocess.run(list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    text = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, "%s: status %d\n%s" % (" ".join(words), done.returncode, text)
    return text


def tools():
    """The Python of an environment that has maturin; SkipTest without it."""
    if not os.path.exists(os.path.join(TOOLS, "bin", "maturin")):
        raise unittest.SkipTest("there is no maturin in %s; run make test-tools" % TOOLS)
    return os.path.join(TOOLS, "bin", "python")


@unittest.skipUnless(os.path.exists(built("debug")), "there is no %s; run make build" % built("debug"))
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = tools()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.environment = dict(os.environ, CARGO_TARGET_DIR=os.path.dirname(os.path.dirname(built("debug"))), XDG_STATE_HOME=cls.folder + "/state")
        cls.environment["PATH"] = os.path.join(TOOLS, "bin") + os.pathsep + os.environ["PATH"]
        for name in ("STILLWELL", "PYTHONPATH"):  # The test must use the installed package.
            cls.environment.pop(name, None)
        # With the profile of `make build` and without stripping, cargo has nothing to build.
        pip = ["-m", "pip", "--disable-pip-version-check"]
        words_of(cls.tools, *pip, "wheel", "--no-deps", "--no-build-isolation", "-C", "build-args=--profile=dev --strip=false", "-w", cls.folder, ROOT, env=cls.environment)
        [name] = [name for name in os.listdir(cls.folder) if name.endswith(".whl")]
        cls.wheel = os.path.join(cls.folder, name)
        # A fresh environment, except that it has the pytest of the tools.
        cls.prefix = os.path.join(cls.folder, "fresh")
        words_of(cls.tools, "-m", "venv", "--without-pip", cls.prefix)
        cls.python = os.path.join(cls.prefix, "bin", "python")
        words_of(cls.tools, *pip, "--python", cls.python, "install", "--quiet", "--no-index", cls.wheel, env=cls.environment)
        [site] = words_of(cls.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").splitlines()
        [theirs] = words_of(cls.tools, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").splitlines()
        with open(os.path.join(site, "tools.pth"), "w") as file:
            file.write(theirs + "\n")

    def used(self, *words):
        return words_of(*words, cwd=self.folder, env=self.environment)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(textwrap.dedent(text))
        return name

    def test_contents(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        package = os.path.join(ROOT, "python")
        sources = {
            os.path.relpath(os.path.join(folder, name), package)
            for folder, _, files in os.walk(os.path.join(package, "stillwell"))
            for name in files
            if name.endswith((".py", ".typed"))
        }
        self.assertEqual({name for name in names if name.startswith("stillwell/")}, sources)
        self.assertEqual(sum(name.endswith(".data/scripts/stillwell") for name in names), 1)
        self.assertEqual([name for name in names if "tests/" in name], [])

    def test_program(self):
        version = self.used(os.path.join(self.prefix, "bin/stillwell"), "--version")
        self.assertEqual(self.used(self.python, "-m", "stillwell", "--version"), version)
        package = self.used(self.python, "-c", "import stillwell; print('stillwell', stillwell.__version__)")
        self.assertEqual(package, version, "the package and the program say different versions")
        self.assertEqual(self.used(self.python, "-c", "import stillwell.binary as b; print(b.find())").strip(), os.path.join(self.prefix, "bin/stillwell"))
        out = self.used(os.path.join(self.prefix, "bin/stillwell"), "timeit", "--python", self.python, "--json", "-r", "2", "--values", "2", "1 + 1")
        self.assertEqual(len(json.loads(out)["analysis"]["arms"]), 1)

    def test_script(self):
        self.assertIn("record: " + self.folder, self.used(self.python, self.write("bench.py", SCRIPT), "-p", "2", "-n", "2"))

    def test_pytest(self):
        out = self.used(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--stillwell-option=--runs=3", self.write("test_sort.py", TESTS))
        self.assertIn("1 passed", out)
        self.assertIn("test_sort.py::test_sort", out)

    def test_source_distribution(self):
        self.used(os.path.join(TOOLS, "bin/maturin"), "sdist", "--manifest-path", os.path.join(ROOT, "crates/stillwell/Cargo.toml"), "-o", self.folder)
        [name] = [name for name in os.listdir(self.folder) if name.endswith(".tar.gz")]
        included = 0
        with tarfile.open(os.path.join(self.folder, name)) as archive:
            names = {os.path.normpath(member) for member in archive.getnames()}
            top = name[: -len(".tar.gz")]
            for needed in ("Cargo.lock", "pyproject.toml", "python/stillwell/worker.py", "LICENSE-MIT"):
                self.assertIn(os.path.join(top, needed), names)
            for path in sorted(names):
                is_source = path.endswith(".rs") and not path.endswith("/tests.rs")
                text = archive.extractfile(path).read().decode("utf-8", "replace") if is_source else ""
                for other in re.findall(r"include_(?:bytes|str)!\(\s*\"([^\"]+)\"", text):
                    if "/tests/" in other or "/samples/" in other:  # Only tests read these, and nobody runs them from here.
                        continue
                    included += 1
                    self.assertTrue(os.path.normpath(os.path.join(os.path.dirname(path), other)) in names, "%s includes %s" % (path, other))
        self.assertGreater(included, 0)
        self.assertEqual([name for name in names if "/python/tests" in name], [])


if __name__ == "__main__":
    unittest.main()
