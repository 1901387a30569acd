"""Puts pyperf's tests beside the package under test, so that they import it as `pyperf`.

The tests come from pyperf's source distribution, which is fetched and never kept in this tree. They import helpers of pyperf that are
no interface, such as pipes. This file writes helpers of the same names, which say nothing about the package under test.
"""
import os
import pathlib
import shutil
import tarfile

HELPERS = '''
import os, select, subprocess, sys, shlex, contextlib
MS_WINDOWS = False
shell_quote = shlex.quote

class ReadPipe:
    def __init__(self, fd): self._fd = fd
    def __enter__(self): return self
    def __exit__(self, *_): self.close()
    def close(self):
        fd, self._fd = self._fd, None
        if fd is not None: os.close(fd)
    def open_text(self):
        fd, self._fd = self._fd, None
        return open(fd, "r", encoding="utf-8")
    def read_text(self, timeout=None):
        if not select.select([self._fd], [], [], timeout)[0]:
            raise TimeoutError("Timed out after %s seconds" % timeout)
        with self.open_text() as file: return file.read()

class WritePipe(ReadPipe):
    def to_subprocess(self):
        os.set_inheritable(self._fd, True)
        return self._fd

def create_pipe():
    read, write = os.pipe()
    return ReadPipe(read), WritePipe(write)

@contextlib.contextmanager
def popen_killer(process):
    try: yield
    except BaseException:
        process.kill(); process.wait(); raise

def popen_communicate(process):
    with popen_killer(process): return process.communicate()

def abs_executable(python): return os.path.abspath(python)
'''
HOOK = '''
class TestHook:
    def __init__(self): self.count = 0
    def __enter__(self): self.count += 1
    def __exit__(self, *_): pass
    def teardown(self, metadata): metadata["_test_hook"] = self.count
'''
PACKAGE = '''
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_shadow", {shadow!r})
spec.loader.exec_module(importlib.util.module_from_spec(spec))
import stillwell.pyperf_compat as package
package.__path__.append({tests!r})
package.__path__.append({helpers!r})
sys.modules[__name__] = package
'''


def unpack(sdist, folder, version):
    """Unpacks the tests, the examples and the files of the distribution, and makes a `pyperf` for them. Returns its folder for the path."""
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / f"pyperf-{version}"
    for path in (source / "pyperf").iterdir():
        if path.name != "tests":  # pyperf itself must not be found.
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    helpers, path = folder / "helpers", folder / "path"
    helpers.mkdir()
    (helpers / "_utils.py").write_text(HELPERS)
    (helpers / "_timeit.py").write_text("class Timer:\n    pass\n")  # The module of the tests imports it.
    package = path / "pyperf"
    package.mkdir(parents=True)
    shadow = root / "python/stillwell/pyperf_compat/shadow/pyperf/__init__.py"
    (package / "__init__.py").write_text(PACKAGE.format(shadow=str(shadow), tests=str(source / "pyperf"), helpers=str(helpers)))
    (path / "test_hook_of_pyperf.py").write_text(HOOK)
    # The entry point of the hook that pyperf installs for its own tests.
    info = path / f"pyperf-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pyperf\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("[pyperf.hook]\n_test_hook = test_hook_of_pyperf:TestHook\n")
    return source, path


def environment(path, **changes):
    return dict(os.environ, PYTHONPATH=str(path), **changes)
