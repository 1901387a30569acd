"""Base of the tests with the real program: its path, and a folder for scripts and their records."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from client import PACKAGE_FOLDER, environment

ROOT = os.path.dirname(PACKAGE_FOLDER)


def built(profile):
    """Path at which cargo puts the program of a profile."""
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
    return os.path.join(target, profile, "stillwell")


def find_program():
    """$STILLWELL, or the newest build in this tree. None without either."""
    named = os.environ.get("STILLWELL")
    if named:
        return shutil.which(named)
    found = [path for path in map(built, ("release", "debug")) if os.path.exists(path)]
    return max(found, key=os.path.getmtime, default=None)


# Time limit in seconds. No test passes or fails by being faster than this.
HANGS_AFTER_S = 300
PROGRAM = find_program()
WHY_NOT = "there is no program: neither $STILLWELL nor target/release/stillwell nor target/debug/stillwell"


@unittest.skipUnless(PROGRAM, WHY_NOT)
class RealCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = environment(STILLWELL=PROGRAM, XDG_STATE_HOME=self.path("state"), PYTHONSAFEPATH=None)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return self.path(name)

    def run_words(self, *words, status=0, text=b"", **changes):
        """Runs the words and returns standard output and standard error."""
        done = subprocess.run(
            list(words), cwd=changes.pop("cwd", self.folder), env=dict(self.environment, **changes), input=text, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=HANGS_AFTER_S)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, out + err)
        return out, err

    def run_python(self, *words, **options):
        return self.run_words(sys.executable, *words, **options)

    def records(self):
        """The records in the folder, oldest first."""
        folder = self.path("state/stillwell")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted((os.path.join(folder, name) for name in names), key=os.path.getmtime)

    def end_of(self, record):
        """The reason why the session ended, and the number of rows."""
        with open(record, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(lines[-1].get("event"), "end", lines[-1])
        return lines[-1]["reason"], sum(isinstance(line, list) for line in lines)

    def n_rows(self, record):
        """The rows of a record that may still grow; 0 if it is not there yet."""
        if not os.path.exists(record):
            return 0
        with open(record, "rb") as file:
            return sum(line.startswith(b"[") for line in file)

    def interrupted(self, words, is_begun, to_group=True):
        """Standard output, standard error and status of a program that gets SIGINT after `is_begun()` is true."""
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
            process = subprocess.Popen(
                words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=said, stderr=complained, start_new_session=True)
            try:
                until = time.monotonic() + HANGS_AFTER_S
                while not is_begun():
                    self.assertLess(time.monotonic(), until, "it has not begun")
                    self.assertIsNone(process.poll(), "it ended by itself")
                    time.sleep(0.05)
                (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
                process.wait(HANGS_AFTER_S)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            said.seek(0)
            complained.seek(0)
            return said.read().decode(), complained.read().decode(), process.returncode

    def processes_with(self, text):
        """Ids of the processes with this text in their command line."""
        found = []
        for process_id in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % process_id, "rb") as file:
                    if text.encode() in file.read():
                        found.append(int(process_id))
            except OSError:  # The process has ended.
                pass
        return found
