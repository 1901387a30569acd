"""Finds and runs the program `stillwell`."""
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Iterator, List

ENVIRONMENT = "STILLWELL"
# Exit statuses with `--fail-on`: slower, and undecided. The record is complete in both cases.
VERDICT_STATUSES = (1, 3)
# Exit statuses after SIGINT: an orderly end, or a kill by the signal.
INTERRUPTED_STATUSES = (130, -2)


class Error(RuntimeError):
    """The program `stillwell` is missing, or it failed."""

    __module__ = "stillwell"  # The module from which users import it.


def _candidates() -> Iterator[str]:
    yield os.path.join(os.path.dirname(sys.executable or ""), "stillwell")
    yield os.path.join(sysconfig.get_path("scripts"), "stillwell")
    user_scheme = "posix_user"  # pip install --user
    if user_scheme in sysconfig.get_scheme_names():
        yield os.path.join(sysconfig.get_path("scripts", user_scheme), "stillwell")
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # pip install --target FOLDER
    yield os.path.join(packages, "bin", "stillwell")
    # Another Python's PREFIX/lib/pythonX.Y/site-packages, from which a virtual environment has this package by its path.
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(packages))), "bin", "stillwell")
    yield shutil.which("stillwell") or ""


def find() -> str:
    """Path of the program. $STILLWELL comes first, then the folder of this Python, its folders of scripts, and $PATH.

    Raises `Error` if it is in none of them.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        path = shutil.which(named)
        if path is None:
            raise Error("$%s is %r, which is not a program; set it to the path of stillwell, or unset it" % (ENVIRONMENT, named))
        return path
    tried = [path for path in _candidates() if path]
    for path in tried:
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise Error(
        "the program stillwell is not installed: it is neither in %s nor in $PATH; `pip install stillwell` or "
        "`cargo install --path crates/stillwell`, or set $%s to its path" % (", ".join(tried), ENVIRONMENT)
    )


def command(words: List[str]) -> List[bytes]:
    """Command line of the program. Words are UTF-8 in every locale; in the C locale, Python would refuse a name with an é."""
    return [word.encode("utf-8", "surrogateescape") for word in [find()] + words]


def _run(words: List[str]) -> "subprocess.CompletedProcess[bytes]":
    # A notebook sets variables that ask every program for colours. This text becomes a `repr` or HTML, so it has none.
    environment = {name: value for name, value in os.environ.items() if name not in ("CLICOLOR_FORCE", "FORCE_COLOR")}
    environment["NO_COLOR"] = "1"
    done = subprocess.run(
        command(words), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode, words, done.stderr.decode("utf-8", "replace"))
    return done


def output_of(words: List[str]) -> str:
    """Standard output of `stillwell WORDS`. If the program fails, raises `Error` with its standard error."""
    return _run(words).stdout.decode("utf-8", "replace")


def status_of(words: List[str]) -> int:
    """Exit status: 0, or with `--fail-on` 1 for slower and 3 for undecided. Raises `Error` if the program fails."""
    return _run(words).returncode


def check(status: int, words: List[str], stderr: str = "", record: str = "") -> None:
    """Raises for an exit status without a result. The message has `stderr`, or refers to the output if `stderr` is empty."""
    if status == 0 or ("--fail-on" in words and status in VERDICT_STATUSES):
        return
    if status in INTERRUPTED_STATUSES:
        # Without a finished run, the record has warm-ups at most.
        raise KeyboardInterrupt("the record is %s" % record if os.path.exists(record) else "")
    how = "was ended by signal %d" % -status if status < 0 else "ended with status %d" % status
    raise Error("`stillwell %s …` %s; %s" % (words[0], how, stderr.strip() or "it has said above why"))
