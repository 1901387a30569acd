"""`python -m stillwell` runs the program `stillwell`."""
import os
import sys

from .binary import Error, find

if __name__ == "__main__":
    try:
        program = find()
    except Error as error:
        sys.exit("stillwell: %s" % error)
    os.execv(program, [program] + sys.argv[1:])
