"""Base of the tests with scripts: a folder, a stand-in for the program, and the log of the stand-in."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from client import environment

FAKE_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_stillwell.py")


class ScriptCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log_path = self.path("log")
        fake = self.write("stillwell", "#!/bin/sh\nexec '%s' -X utf8 '%s' \"$@\"\n" % (sys.executable, FAKE_PATH))
        os.chmod(fake, 0o755)
        # The default folder of records is in the user's home. A test has a home of its own.
        self.environment = environment(STILLWELL=fake, FAKE_LOG=self.log_path, XDG_STATE_HOME=self.path("state"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return self.path(name)

    def run_python(self, *words, status=0, python=sys.executable, **changes):
        """Runs Python with these words and returns its standard output and standard error."""
        env = dict(self.environment, **changes)
        done = subprocess.run(
            [python] + list(words), cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, out + err)
        return out, err

    def log(self, first=None):
        """The log of the stand-in: its requests and answers. Only entries that begin with `first`."""
        if not os.path.exists(self.log_path):
            return []
        with open(self.log_path) as file:
            entries = [json.loads(line) for line in file]
        return [entry[1:] for entry in entries if entry[0] == first] if first else entries
