"""The side of the front end in docs/worker-protocol.md."""
import os
import re
import subprocess


def escape(text):
    return "".join(chr(b) if 0x21 <= b <= 0x7e and b != 0x5c else "\\x%02x" % b for b in text.encode()) or "\\x"


def unescape(word):
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), word.encode())
    return "" if word == "\\x" else raw.decode()


class Worker:
    """A worker process and the parent's ends of its two pipes."""

    def __init__(self, *command, cwd=None):
        theirs_in, self.to = os.pipe()
        self.at, theirs_out = os.pipe()
        self.process = subprocess.Popen(
            [*command, "--stillwell-worker=%d,%d" % (theirs_in, theirs_out)], pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
        os.close(theirs_in)
        os.close(theirs_out)
        self.answers = os.fdopen(self.at, "r", encoding="ascii", newline="\n")
        self.hello = self.line()

    def line(self):
        line = self.answers.readline()
        assert line == "" or line.endswith("\n"), line
        return line.rstrip("\n")

    def send(self, data):
        os.write(self.to, data.encode() if isinstance(data, str) else data)

    def ask(self, request):
        self.send(request + "\n")
        return self.line()

    def ask_many(self, request):
        lines = [self.ask(request)]
        while lines[-1] != "end":
            lines.append(self.line())
        return lines[:-1]

    def error(self, request):
        answer = self.ask(request)
        kind, word = answer.split(" ")
        assert kind == "error", answer
        return unescape(word)

    def close(self):
        """Closes the requests and returns the exit status of the worker."""
        if self.to is not None:
            os.close(self.to)
            self.to = None
        self.answers.close()
        self.stdout, self.stderr = self.process.communicate()
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
