"""worker.py: its start, its words and its lines. One Python is enough for these tests."""
import os
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import read_text  # noqa: E402

os_write = os.write


class WrongStart(unittest.TestCase):
    def test_without_its_argument(self):
        text = read_text(os.path.join(os.path.dirname(__file__), "..", "stillwell", "worker.py"))
        for words in ([], ["--stillwell-worker=x"], ["--stillwell-worker=1000,1001"], ["5,6"]):
            done = subprocess.run([sys.executable, "-c", text] + words, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"--stillwell-worker=RFD,WFD, two open files", done.stderr)


class Writing(unittest.TestCase):
    def test_short_writes(self):
        from stillwell import worker

        read_fd, write_fd = os.pipe()
        self.addCleanup(os.close, read_fd)
        self.addCleanup(os.close, write_fd)
        with unittest.mock.patch.object(worker.posix, "write", lambda fd, data: os_write(fd, data[:3])):
            worker.Channel(read_fd, write_fd).write(["time 1 2", "end"])
        self.assertEqual(os.read(read_fd, 100), b"time 1 2\nend\n")


class Words(unittest.TestCase):
    def test_escape(self):
        from stillwell import worker

        for text, word in (("", r"\x"), ("a", "a"), ("a b", r"a\x20b"), ("\\x41", r"\x5cx41"), ("é\n~!", r"\xc3\xa9\x0a~!"), ("\x7f", r"\x7f")):
            self.assertEqual(worker.escape(text), word)
            self.assertEqual(worker.unescape(word), text)
        for word in ("\\x4", "\\xzz", "a\\x", "\\xff"):
            with self.assertRaises(ValueError, msg=word):
                worker.unescape(word)


if __name__ == "__main__":
    unittest.main()
