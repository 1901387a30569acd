"""t0 ± err by the rule of this version, and by the rule before, from the rows of one record.

The rule before: the error is the standard deviation of the minima of 3 to 10 consecutive windows, whatever the probes
say. docs/methodology.md has the present rule. It is worked out here a second time, and `run` compares it with what
Stillwell prints.
"""

import math
import statistics

SHARED_FACTOR = 1.1


def clean_times(record):
    """Clean times of the runs, ns, as Stillwell counts them."""
    def clean(row):
        stalled = row.get("stalled_ns")
        return row["wall_ns"] - (stalled if stalled is not None and stalled < row["wall_ns"] else 0)
    return [float(clean(row)) for row in record.runs]


def endpoint(runs):
    """The value of both rules: the endpoint of Fraga Alves and Neves, clamped; the minimum where a floor is not tested."""
    xs, n = sorted(runs), len(runs)
    k = 1 if n < 4 else 2 if n < 60 else 3

    def x(i):
        return xs[i - 1]
    if n < 2 * k + 1 or x(2 * k + 1) == x(k + 1):
        return x(1)
    spacing = sum(math.log2(1 + 1 / (k + i)) * (x(k + 1 + i) - x(k + 1)) for i in range(1, k))
    g_star = math.log(2) * (x(k + 1) - x(1) + spacing) / (x(2 * k + 1) - x(k + 1)) - (math.log(k) + math.log(2) / 2)
    return x(1) - min(spacing, x(k + 1) - x(1)) if g_star <= 2.970 else x(1)


def err_before(runs):
    if len(runs) < 6:
        return None
    n_windows = 3 if len(runs) < 16 else 4 if len(runs) < 36 else 6 if len(runs) < 120 else 10
    size = len(runs) // n_windows
    return statistics.stdev(min(runs[at * size:(at + 1) * size]) for at in range(n_windows))


def err_now(record, runs):
    """The error of the low end, and what the lowest runs would have gained on the fastest core that a probe of the session saw."""
    err, lowest = err_of_low_end(runs), lowest_probed(record, runs)
    if err is None or not lowest:
        return err
    fastest_ns = min(row["one_chain_ns"] for row in record.runs if row.get("one_chain_ns") and row.get("four_chains_ns"))
    return max(err, min(runs) * (statistics.median(row["one_chain_ns"] for _, row in lowest) / fastest_ns - 1))


def err_of_low_end(runs):
    n, xs = len(runs), sorted(runs)
    if n < 5:
        return None
    k, n_windows, step = min(max(math.ceil(n / 10), 5), 20), min(10, n), 1
    # Above 240 runs, windows begin at multiples of 2, above 480 of 4, and so on.
    while n > 240 * step:
        step *= 2
    n_steps = math.ceil(n / step)
    starts = [at * n_steps // n_windows * step for at in range(n_windows + 1)]
    minima = sorted(min(runs[start:end]) for start, end in zip(starts, starts[1:]))
    return max(xs[k - 1] - xs[0], minima[3] - minima[0])


def lowest_probed(record, runs):
    probed = [(time, row) for time, row in zip(runs, record.runs) if row.get("one_chain_ns") and row.get("four_chains_ns")]
    return sorted(probed, key=lambda it: it[0])[:3 if len(probed) < 10 else 5]


def met_quiet(record, runs):
    """Whether most of the lowest runs with a probe began on a quiet core. None without probes."""
    lowest = lowest_probed(record, runs)
    n_quiet = sum(row["four_chains_ns"] <= SHARED_FACTOR * row["one_chain_ns"] for _, row in lowest)
    return 2 * n_quiet > len(lowest) if lowest else None
