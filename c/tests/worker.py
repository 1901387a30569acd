"""The side of the front end in docs/worker-protocol.md."""
import os
import re
import subprocess

UNKNOWN = "unknown request"


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


def drive_example(test, command, names):
    """Asks the example everything that stillwell asks, and twice lets it end."""
    with Worker(*command) as worker:
        test.assertTrue(worker.hello.startswith("stillwell 1 language="), worker.hello)
        test.assertTrue(worker.error("run 1"))
        test.assertEqual([line.split(" ")[1] for line in worker.ask_many("list")], names)
        for name in names:
            test.assertEqual(worker.ask("select " + name), "ok")
            test.assertRegex(worker.ask("run 3"), r"^time \d+ \d+( |$)")
            for loops in ("0", "-1", "x", "1 1", "99999999999999999999"):
                test.assertTrue(worker.error("run " + loops), loops)
        test.assertTrue(worker.error("select absent"))
        test.assertTrue(worker.error("run 1"), "nothing is selected after a select that failed")
        test.assertEqual(worker.error("gc on"), UNKNOWN)
        test.assertTrue(worker.ask_many("metadata"))
        test.assertEqual(worker.ask("quit"), "bye")
        test.assertEqual(worker.close(), 0)
    test.assertEqual(Worker(*command).close(), 0)  # end of file
