"""The tests of other tools, which measure all runs of A and then all runs of B. They need only the standard library.

A rule maps two lists of times to their distance, in a unit of its own; it is positive if B is above A. It also gives the
distance from which on it calls them different, at a given error rate. Size adjustment needs only the first.
"""

import dataclasses
import functools
import math
import statistics
from collections.abc import Callable, Sequence

NORMAL = statistics.NormalDist()
Times = Sequence[float]


@dataclasses.dataclass(frozen=True)
class Distance:
    """A distance and its critical value. The rule calls a `value` beyond ±`critical` a difference."""
    value: float
    critical: float

    @property
    def is_different(self) -> bool:
        return abs(self.value) > self.critical

    @property
    def verdict(self) -> str:
        return "undecided" if not self.is_different else "slower" if self.value > 0 else "faster"


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function: the continued fraction of DLMF 8.17.22, by Lentz's method."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    fraction = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / ((1 + numerator * d) or tiny)
            c = (1 + numerator / c) or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * fraction


def t_two_sided(t: float, df: float) -> float:
    """Probability of a |t| that is at least as large."""
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


@functools.lru_cache(maxsize=100_000)
def t_critical(alpha: float, df: float) -> float:
    """The |t| whose two-sided probability is alpha, by bisection."""
    lo, hi = 0.0, 2.0
    while t_two_sided(hi, df) > alpha:
        lo, hi = hi, 2 * hi
    for _ in range(60):
        middle = (lo + hi) / 2
        lo, hi = (middle, hi) if t_two_sided(middle, df) > alpha else (lo, middle)
    return hi


def difference_in_errors(difference: float, error: float) -> float:
    if error > 0:
        return difference / error
    return math.copysign(math.inf, difference) if difference else 0.0


def welch(a: Times, b: Times, alpha: float) -> Distance:
    """Welch's t, as in hyperfine's script."""
    va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    t = difference_in_errors(statistics.fmean(b) - statistics.fmean(a), math.sqrt(va + vb))
    spread = va ** 2 / (len(a) - 1) + vb ** 2 / (len(b) - 1)
    df = (va + vb) ** 2 / spread if spread else len(a) + len(b) - 2
    # A tenth of a degree of freedom changes the critical value by less than 0.1 %, and leaves few values to cache.
    return Distance(t, t_critical(alpha, round(df, 1)))


def student(a: Times, b: Times, alpha: float) -> Distance:
    """Student's t with the pooled variance, as in pyperf's compare_to, whose alpha is 5 %."""
    df = len(a) + len(b) - 2
    pooled = ((len(a) - 1) * statistics.variance(a) + (len(b) - 1) * statistics.variance(b)) / df
    t = difference_in_errors(statistics.fmean(b) - statistics.fmean(a), math.sqrt(pooled * (1 / len(a) + 1 / len(b))))
    return Distance(t, t_critical(alpha, df))


def poop(a: Times, b: Times, alpha: float) -> Distance:
    """Student's t, if the means also differ by at least 1 %."""
    found = student(a, b, alpha)
    is_small = abs(statistics.fmean(b) / statistics.fmean(a) - 1) < 0.01
    return Distance(0.0, found.critical) if is_small else found


def mann_whitney(a: Times, b: Times, alpha: float) -> Distance:
    """Mann and Whitney's U, as a normal deviate with corrections for ties and continuity, as in benchstat."""
    pooled = sorted([(time, 0) for time in a] + [(time, 1) for time in b])
    n, rank_sum, ties, start = len(pooled), 0.0, 0, 0
    while start < n:
        end = start
        while end < n and pooled[end][0] == pooled[start][0]:
            end += 1
        rank_sum += (start + 1 + end) / 2 * sum(side for _, side in pooled[start:end])
        ties += (end - start) ** 3 - (end - start)
        start = end
    u = rank_sum - len(b) * (len(b) + 1) / 2
    sd = math.sqrt(len(a) * len(b) / 12 * (n + 1 - ties / (n * (n - 1))))
    distance = u - len(a) * len(b) / 2
    z = difference_in_errors(math.copysign(max(0.0, abs(distance) - 0.5), distance), sd)
    return Distance(z, NORMAL.inv_cdf(1 - alpha / 2))


def extrapolated_minimum(times: Times, k: int) -> float:
    """tim's estimate of the left end from 2k - 1 smallest times: the minimum if k is 1."""
    x = sorted(times)
    weight = [math.log2((k + i + 1) / (k + i)) for i in range(k)]
    return x[0] - sum(weight[i] * (x[k + i - 1] - x[k - 1]) for i in range(1, k))


def tim_estimate(times: Times, k: int = 1, m: int = 4) -> tuple[float, float]:
    """tim's value and error from its k, n, m with n·m times: the error is the sd of the estimates of m windows."""
    n = len(times) // m
    used = times[:n * m]
    windows = [extrapolated_minimum(used[n * i:n * (i + 1)], k) for i in range(m)]
    return extrapolated_minimum(used, 2 * k), statistics.pstdev(windows)


def tim(a: Times, b: Times, sigmas: float = 2.0) -> Distance:
    """The rule of tim's readers: tim has no test, so they compare values by their errors."""
    (ta, ea), (tb, eb) = tim_estimate(a), tim_estimate(b)
    return Distance(difference_in_errors(tb - ta, math.hypot(ea, eb)), sigmas)


def perf_stat(a: Times, b: Times, alpha: float) -> Distance:
    """The same for perf stat -r, which has no test either. Its ± is the standard error of the mean."""
    va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    z = difference_in_errors(statistics.fmean(b) - statistics.fmean(a), math.sqrt(va + vb))
    return Distance(z, NORMAL.inv_cdf(1 - alpha / 2))


def paired_t(a: Times, b: Times, alpha: float) -> Distance:
    """Student's t on the logarithms of the ratios of pairs."""
    logs = [math.log(y / x) for x, y in zip(a, b)]
    t = difference_in_errors(statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs)))
    return Distance(t, t_critical(alpha, len(logs) - 1))


def size_adjusted(same: Sequence[float], alpha: float) -> float:
    """The smallest critical value that at most a share alpha of the distances between equal programs exceeds."""
    if not same:
        return math.inf
    n_allowed = math.floor(alpha * len(same) + 1e-9)
    return sorted(map(abs, same), reverse=True)[min(n_allowed, len(same) - 1)]


Rule = Callable[[Times, Times, float], Distance]


def self_check() -> None:
    """Checks against printed tables, and against scipy's values for one pair of samples."""
    # Student's t, two-sided: Abramowitz and Stegun, table 26.10.
    table = [(0.05, 1, 12.706), (0.01, 5, 4.032), (0.05, 10, 2.228), (0.01, 30, 2.750), (0.05, 120, 1.980)]
    for alpha, df, t in table:
        assert abs(t_critical(alpha, df) - t) < 6e-4, (alpha, df)
    assert abs(NORMAL.inv_cdf(0.995) - 2.575829) < 1e-6
    a = [1525080, 1606216, 1517623, 1562952, 1510085, 1515532, 1518205, 1517179, 1531097, 1534343]
    b = [1547278, 1589969, 1545356, 1607547, 1536138, 1578351, 1553976, 1588302, 1558644, 1677522, 1530335, 1534355,
         1602727, 1592377, 1563292, 1531675, 1536193, 1591731, 1659332, 1536797, 1740730, 1535397, 1634889, 1606629]
    # scipy.stats.ttest_ind(b, a, equal_var=False), then with equal_var=True; mannwhitneyu(method="asymptotic").
    t, df, p = 3.394343025219216, 29.037540263786415, 0.002007660760349184
    assert math.isclose(welch(a, b, 0.05).value, t, rel_tol=1e-12)
    assert math.isclose(t_two_sided(t, df), p, rel_tol=1e-9)
    assert math.isclose(student(a, b, 0.05).value, 2.7048655992178947, rel_tol=1e-12)
    assert math.isclose(t_two_sided(2.7048655992178947, 32), 0.010857254036121117, rel_tol=1e-9)
    z = mann_whitney(a, b, 0.05).value
    assert math.isclose(2 * NORMAL.cdf(-z), 0.0009423724051516163, rel_tol=1e-9)
    assert not poop(a, [x * 1.005 for x in a], 0.05).is_different
    # Computed by hand: the smallest three of eight are 1, 3, 4; the minima of the windows are 1, 4, 3 and 6.
    value, error = tim_estimate([1, 9, 4, 5, 3, 8, 7, 6])
    assert math.isclose(value, 1 - math.log2(4 / 3) * (4 - 3)) and math.isclose(error, statistics.pstdev([1, 4, 3, 6]))
    assert size_adjusted([1, -5, 3, 2], 0.25) == 3 and size_adjusted([1, -5, 3, 2], 0.01) == 5
