"""The parent's side of the worker protocol for the tests, and the paths of their interpreters."""
import glob
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKER_PATH = os.path.join(PACKAGE_FOLDER, "stillwell", "worker.py")
# Seconds after which a worker counts as hanging. No test passes or fails by being faster than this.
HANGS_AFTER_S = 120
# A script's background job ignores SIGINT (POSIX, Shell Command Language, 2.11), and so would all that it starts. exec resets
# a signal with a handler.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda number, frame: None)
INTERPRETERS = ["3.%d" % minor for minor in range(6, 15)] + ["3.13t", "3.14t", "3.11-dbg", "pypy3", "graalpy"]


def find_interpreter(label):
    """Path of an interpreter, or None."""
    name = label if label[0].isalpha() else "python" + label
    candidates = glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python" % label)) + [shutil.which(name)]
    for path in filter(None, candidates):
        # A shim of pyenv may exist without its interpreter.
        if subprocess.run([path, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0:
            return path
    return None


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def decode(word):
    """The text of a word, decoded by other code than that of the worker."""
    return word.encode("ascii").decode("unicode_escape").encode("latin-1").decode("utf-8") if word != "\\x" else ""


class Worker:
    """A worker process, or two open files of a worker that other code has started."""

    def __init__(self, words, fds=None, **popen_options):
        if fds is not None:
            self.process, (self.read_fd, self.write_fd) = None, fds
        else:
            theirs_read, self.write_fd = os.pipe()
            self.read_fd, theirs_write = os.pipe()
            self.stdout, self.stderr = tempfile.TemporaryFile(), tempfile.TemporaryFile()
            popen_options.setdefault("stdout", self.stdout)
            self.process = subprocess.Popen(
                words + ["--stillwell-worker=%d,%d" % (theirs_read, theirs_write)], pass_fds=(theirs_read, theirs_write),
                stdin=subprocess.DEVNULL, stderr=self.stderr, **popen_options)
            os.close(theirs_read)
            os.close(theirs_write)
        self.buffer = b""

    @classmethod
    def of_text(cls, python, flags=(), **popen_options):
        return cls([python] + list(flags) + ["-c", read_text(WORKER_PATH)], **popen_options)

    def read_line(self):
        """The next line. None at the end of file."""
        until = time.monotonic() + HANGS_AFTER_S
        while b"\n" not in self.buffer:
            if not select.select([self.read_fd], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError("the worker has not answered for %d s" % HANGS_AFTER_S)
            data = os.read(self.read_fd, 65536)
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("ascii")

    def send(self, data):
        while data:
            data = data[os.write(self.write_fd, data):]

    def ask(self, request):
        """Sends a request and returns the line of its answer."""
        self.send(request.encode("ascii") + b"\n")
        return self.read_line()

    def ask_lines(self, request):
        """Sends a request and returns the lines before `end`."""
        lines = [self.ask(request)]
        while lines[-1] not in ("end", None) and not lines[-1].startswith("error"):
            lines.append(self.read_line())
        return lines[:-1] if lines[-1] == "end" else lines

    def source(self, part, text):
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        self.send(b"source %s %d\n" % (part.encode(), len(data)) + data)
        return self.read_line()

    def close(self):
        """Closes the requests, so that the worker reads the end of file."""
        if self.write_fd is not None:
            os.close(self.write_fd)
            self.write_fd = None

    def wait(self):
        """Exit status of the worker after the end of file."""
        self.close()
        return self.process.wait(HANGS_AFTER_S)

    def output(self):
        """Output of the worker so far: standard output and standard error."""
        texts = []
        for file in (self.stdout, self.stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
        return texts

    def end(self):
        """Ends the worker in any state, at the end of a test."""
        self.close()
        os.close(self.read_fd)
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            self.stdout.close()
            self.stderr.close()


def environment(**changes):
    """This environment with the package of this tree. None removes a variable."""
    found = dict(os.environ, PYTHONPATH=PACKAGE_FOLDER)
    found.pop("PYTHONUNBUFFERED", None)  # It would hide output that is not flushed in time.
    for name, value in changes.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


sys.path.insert(0, PACKAGE_FOLDER)
