"""Runs one test module, and writes one JSON line for each test: its name, its outcome and the last line of its error."""
import importlib
import json
import sys
import unittest


class Result(unittest.TestResult):
    def __init__(self, file):
        super().__init__()
        self.file = file

    def note(self, test, outcome, text=""):
        self.file.write(json.dumps([test.id().split(".", 3)[-1] if test.id().count(".") > 3 else test.id(), outcome, text]) + "\n")
        self.file.flush()

    def addSuccess(self, test):
        self.note(test, "holds")

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addError(self, test, error):
        self.note(test, "differs", "%s: %s" % (error[0].__name__, str(error[1])[:4000]))

    addFailure = addError


def main():
    name, path = sys.argv[1:]
    with open(path, "w") as file:
        try:
            module = importlib.import_module("pyperf.tests." + name)
        except ImportError as error:
            file.write(json.dumps([name, "not imported", str(error)]) + "\n")
            return
        sys.argv[1:] = []
        unittest.defaultTestLoader.loadTestsFromModule(module).run(Result(file))


main()
