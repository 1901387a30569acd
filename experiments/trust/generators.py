"""Nineteen kinds of noise: for each run of a session the logarithm of its slowdown by noise, in time order.

The noise depends on the moment, not on the command. The kinds are those of crates/stats/tests/calibration/noise.rs, drift in
both directions, all of them together, and ten that an audit of the program used.
"""

import math
import random
from collections.abc import Callable

Noise = Callable[[random.Random, int], list[float]]


def skewed(draw: random.Random, n: int) -> list[float]:
    return [0.02 * draw.lognormvariate(0, 1) for _ in range(n)]


def spikes(draw: random.Random, n: int) -> list[float]:
    return [0.005 * abs(draw.gauss(0, 1)) + (draw.random() if draw.random() < 0.1 else 0) for _ in range(n)]


def regimes(draw: random.Random, n: int) -> list[float]:
    """Two speeds; each lasts for 20 runs on average."""
    slow, logs = False, []
    for _ in range(n):
        slow ^= draw.random() < 0.05
        logs.append(0.1 * slow + 0.01 * abs(draw.gauss(0, 1)))
    return logs


def drift(draw: random.Random, n: int) -> list[float]:
    """Steady drift to slower or faster, by up to 20 % over the session."""
    slope = draw.uniform(-0.2, 0.2)
    return [slope * i / n + 0.01 * abs(draw.gauss(0, 1)) for i in range(n)]


def random_walk(draw: random.Random, n: int) -> list[float]:
    level, logs = 0.0, []
    for _ in range(n):
        level += 0.01 * draw.gauss(0, 1)
        logs.append(level + 0.005 * draw.gauss(0, 1))
    return logs


def bursts(draw: random.Random, n: int) -> list[float]:
    """Bursts of other work. Each slows all runs during it by an amount of its own."""
    load, logs = 0.0, []
    for _ in range(n):
        chance = draw.randrange(12)
        load = 0.5 * draw.random() if chance == 0 else 0.0 if chance < 4 else load
        logs.append(load + 0.01 * abs(draw.gauss(0, 1)))
    return logs


def position(draw: random.Random, n: int) -> list[float]:
    """Every second run is slower."""
    return [0.02 * (i % 2) + 0.01 * abs(draw.gauss(0, 1)) for i in range(n)]


def coarse_clock(draw: random.Random, n: int) -> list[float]:
    """Little noise. QUIET_NS_COARSE makes the clock coarse."""
    return [0.01 * abs(draw.gauss(0, 1)) for _ in range(n)]


def combined(draw: random.Random, n: int) -> list[float]:
    """All kinds except the coarse clock at once, half as strong."""
    kinds = (skewed, spikes, regimes, drift, random_walk, bursts, position)
    return [sum(logs) / 2 for logs in zip(*(kind(draw, n) for kind in kinds))]


def heavy_tails(draw: random.Random, n: int) -> list[float]:
    """Autocorrelated noise whose innovations are Student's t with 2.2 degrees of freedom."""
    level, logs = 0.0, []
    for _ in range(n):
        chi2 = draw.gammavariate(1.1, 2)
        level = 0.9 * level + 0.004 * draw.gauss(0, 1) / math.sqrt(chi2 / 2.2)
        logs.append(level)
    return logs


def two_speeds(draw: random.Random, n: int) -> list[float]:
    """A core that switches between two speeds every 10 s, which is some 25 runs of 0.4 s."""
    phase = draw.randrange(50)
    return [math.log(1.5) * ((i + phase) % 50 < 25) + 0.005 * abs(draw.gauss(0, 1)) for i in range(n)]


def resonance(draw: random.Random, n: int) -> list[float]:
    """Another program works once in four runs, in step with the blocks."""
    phase = draw.randrange(4)
    return [0.08 * ((i + phase) % 4 == 0) + 0.01 * abs(draw.gauss(0, 1)) for i in range(n)]


def loaded_slot(draw: random.Random, n: int) -> list[float]:
    """The second run of a pair is slower, the more so the higher the load."""
    loads = bursts(draw, n)
    return [load * (1 + 0.5 * (i % 2)) for i, load in enumerate(loads)]


def rounded_clock(draw: random.Random, n: int) -> list[float]:
    """Runs of some 3 us on a clock of 1 us."""
    return [math.log(max(1, round(3 + 0.3 * draw.gauss(0, 1)))) for _ in range(n)]


def endless_spikes(draw: random.Random, n: int) -> list[float]:
    """Spikes without a mean: one run in twenty takes 1/u times as long."""
    spike = lambda: -math.log(1 - draw.random()) if draw.random() < 0.05 else 0
    return [0.005 * abs(draw.gauss(0, 1)) + spike() for _ in range(n)]


def thermal(draw: random.Random, n: int) -> list[float]:
    """The core is slower by a fifth when it has become hot."""
    hot = draw.randrange(10, 60)
    return [0.2 / (1 + math.exp(-(i - hot) / 3)) + 0.01 * abs(draw.gauss(0, 1)) for i in range(n)]


def carry_over(draw: random.Random, n: int) -> list[float]:
    """A third of what slows a run slows the next one as well."""
    logs, before = [], 0.0
    for _ in range(n):
        before = before / 3 + 0.02 * draw.lognormvariate(0, 1)
        logs.append(before)
    return logs


def outage(draw: random.Random, n: int) -> list[float]:
    """Three runs in ten of the session, in one piece, take up to three times as long."""
    first = draw.randrange(max(1, n - 3 * n // 10))
    slow = range(first, first + 3 * n // 10)
    return [(draw.random() if i in slow else 0) + 0.01 * abs(draw.gauss(0, 1)) for i in range(n)]


def quiet(draw: random.Random, n: int) -> list[float]:
    return [0.001 * abs(draw.gauss(0, 1)) for _ in range(n)]


GENERATORS: dict[str, Noise] = {
    "skewed, independent": skewed,
    "spikes": spikes,
    "regimes": regimes,
    "drift": drift,
    "random walk": random_walk,
    "bursts": bursts,
    "position": position,
    "coarse clock": coarse_clock,
    "combined": combined,
    "heavy tails": heavy_tails,
    "two speeds": two_speeds,
    "resonance": resonance,
    "loaded slot": loaded_slot,
    "rounded clock": rounded_clock,
    "endless spikes": endless_spikes,
    "thermal": thermal,
    "carry-over": carry_over,
    "outage": outage,
    "quiet": quiet,
}

# Nanoseconds of a run without noise. The scripted clock has whole nanoseconds, so it is coarse for a run of 200 ns.
QUIET_NS, QUIET_NS_COARSE = 10_000_000, 200


def weather(name: str, seed: str, n: int) -> list[float]:
    """The time of a run at each moment of a session, in nanoseconds, not rounded to the clock.

    `seed` is text, from which Python makes the same generator everywhere.
    """
    quiet_ns = QUIET_NS_COARSE if name == "coarse clock" else QUIET_NS
    draw = random.Random(f"{name} {seed}")
    return [quiet_ns * math.exp(log) for log in GENERATORS[name](draw, n)]
