"""Numbers as text: times, sizes and counts, with three significant digits, and metadata by its name."""
import math
from typing import Any, Sequence, Tuple

SECOND_UNITS = ((1.0, "sec"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
SIZE_UNITS = ("KiB", "MiB", "GiB", "TiB")
DURATION_UNITS = ((86400, "day"), (3600, "hour"), (60, "min"))
# Below these, a power of ten or of two is easier to read as a number.
POWER_OF_TEN_MIN, POWER_OF_TWO_MIN = 10_000, 1 << 14

COUNTS = ("loops", "inner_loops", "calibrate_loops", "recalibrate_loops")
DURATIONS = ("duration", "uptime")
SIZES = ("mem_max_rss", "mem_peak_pagefile_usage", "command_max_rss")


def timedeltas(seconds: Sequence[float]) -> Tuple[str, ...]:
    """Times as text. The first one gives the unit and the number of digits to all."""
    first = abs(seconds[0])
    scale, unit = next(((scale, unit) for scale, unit in SECOND_UNITS if first >= scale), SECOND_UNITS[-1 if first else 0])
    shown = first / scale
    n_decimals = 2 if shown < 10 else max(0, 2 - int(math.floor(math.log10(shown))))
    return tuple("%.*f %s" % (n_decimals if first else 0, value / scale, unit) for value in seconds)


def timedelta(seconds: float) -> str:
    return timedeltas([seconds])[0]


def duration(seconds: float) -> str:
    """A time for people: `4 day 16 hour 24 min`, or `3 min 15.9 sec`."""
    if seconds < 60:
        return "%.1f sec" % seconds if seconds >= 10 else timedelta(seconds)
    parts, rest = [], seconds
    for scale, unit in DURATION_UNITS:
        whole, rest = divmod(rest, scale)
        if whole:
            parts.append("%d %s" % (whole, unit))
    if seconds < 3600:
        parts.append("%.1f sec" % rest)
    return " ".join(parts)


def size(n_bytes: float) -> str:
    value, unit = float(n_bytes), ""
    for larger in SIZE_UNITS:
        # Below 10 KiB, bytes have more digits than a unit above them would show.
        if abs(value) < (10 * 1024 if not unit else 1024):
            break
        value, unit = value / 1024, larger
    return "%.1f %s" % (value, unit) if unit else number(round(n_bytes), "byte")


def number(count: int, unit: str = "") -> str:
    text = str(count)
    digits = text.rstrip("0")
    if count >= POWER_OF_TEN_MIN and digits == "1":
        text = "10^%d" % (len(text) - 1)
    elif count >= POWER_OF_TWO_MIN and count & (count - 1) == 0:
        text = "2^%d" % (count.bit_length() - 1)
    return text if not unit else "%s %s%s" % (text, unit, "" if count == 1 else "s")


def of_unit(unit: str, values: Sequence[float]) -> Tuple[str, ...]:
    """Values of a benchmark with this unit."""
    if unit == "byte":
        return tuple(size(value) for value in values)
    if unit == "integer":
        return tuple(number(round(value)) for value in values)
    return timedeltas(values)


def format_metadata(name: str, value: Any) -> str:
    """A value of the metadata as text. The name tells the kind."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if name in COUNTS:
        return number(value)
    if name in DURATIONS:
        return duration(value)
    if name in SIZES:
        return size(value)
    if name == "load_avg_1min":
        return "%.2f" % value
    return str(value)


def unit_of(name: str, value: Any) -> str:
    """The unit of a benchmark whose values are this entry of the metadata."""
    if name in SIZES:
        return "byte"
    return "second" if name in DURATIONS or not isinstance(value, int) else "integer"
