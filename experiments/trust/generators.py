"""Nine kinds of noise: for each run of a session the logarithm of its slowdown by noise, in time order.

The noise depends on the moment, not on the command. The kinds are those of crates/stats/tests/calibration/noise.rs, drift in
both directions, and all of them together.
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
