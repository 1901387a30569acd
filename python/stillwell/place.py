"""The default place of records, which is the same as that of the program."""
import os
import time
from typing import Set

from .binary import Error

_GIVEN_OUT: Set[str] = set()


def folder() -> str:
    """`$XDG_STATE_HOME/stillwell`, by default `~/.local/state/stillwell` (XDG Base Directory Specification 0.8)."""
    state, home = os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME", "")
    if not os.path.isabs(state):
        if not os.path.isabs(home):
            raise Error("there is no place for records: neither XDG_STATE_HOME nor HOME is set")
        state = os.path.join(home, ".local", "state")
    return os.path.join(state, "stillwell")


def new_record_path() -> str:
    """A path for a record that starts now, with a name as the program gives it. Creates its folder."""
    where = folder()
    try:
        os.makedirs(where, exist_ok=True)
    except OSError as error:
        raise Error("cannot make %s for records (%s); set XDG_STATE_HOME" % (where, error)) from None
    stem = os.path.join(where, "%s-%d" % (time.strftime("%Y-%m-%dT%H-%M-%S"), os.getpid()))
    path, number = stem + ".swell", 1
    # One process can start several records in a second. The program creates the file later, so _GIVEN_OUT has the paths already given out.
    while path in _GIVEN_OUT or os.path.exists(path):
        number += 1
        path = "%s-%d.swell" % (stem, number)
    _GIVEN_OUT.add(path)
    return path
