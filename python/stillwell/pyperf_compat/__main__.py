"""`python -m stillwell.pyperf_compat`, and `python -m pyperf` if this package is imported as pyperf."""
import sys

from stillwell.pyperf_compat.commands import main

if __name__ == "__main__":
    sys.exit(main())
