"""Benchmarks with parameters: one for each combination, with names as those of suites."""
import itertools
import statistics
from typing import Any, Dict, Iterator, Mapping, Sequence, Tuple


def combinations(name: str, parameters: Mapping[str, Sequence[Any]]) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """The name and the values of each combination. `{key}` in the name is filled in; other keys follow in brackets."""
    for key, values in parameters.items():
        if not isinstance(key, str) or not key.isidentifier():
            raise TypeError("a parameter is the name of an argument, not %r" % (key,))
        if isinstance(values, (str, bytes)) or not list(values):
            raise TypeError("the parameter %s has a sequence of values, not %r" % (key, values))
    for values in itertools.product(*parameters.values()):
        chosen = dict(zip(parameters, values))
        filled, rest = name, []
        for key, value in chosen.items():
            if "{%s}" % key in filled:
                filled = filled.replace("{%s}" % key, str(value))
            else:
                rest.append("%s=%s" % (key, value))
        yield filled + ("[%s]" % ",".join(rest) if rest else ""), chosen


def described(chosen: Mapping[str, Any]) -> Dict[str, Any]:
    """The metadata of a combination."""
    return {"parameter_" + key: value if isinstance(value, (int, float)) else str(value) for key, value in chosen.items()}


def scaling(counts: Sequence[int], launches: Sequence[Sequence[float]]) -> str:
    """A table of the mean throughput with several numbers of threads, and its standard error. `launches` has the seconds of one call of all
    threads together, in each launch."""
    means = [statistics.fmean(seconds) for seconds in launches]
    rows = [("threads", "calls per second", "+-", "against %d" % counts[0], "of ideal")]
    for count, seconds, mean in zip(counts, launches, means):
        gain, rate = means[0] / mean, "%.10g" % float("%.3g" % (1 / mean))
        error = "%.2g %%" % (100 * statistics.stdev(seconds) / mean / len(seconds) ** 0.5) if len(seconds) > 1 else "?"
        rows.append((str(count), rate, error, "%.2f times" % gain, "%.0f %%" % (100 * gain * counts[0] / count)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows)
