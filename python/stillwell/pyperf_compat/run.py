"""`Run`: the values of one process, with its warm-ups and its metadata."""
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import metadata as facts

Number = Union[int, float]
Metadata = Dict[str, Any]

UNITS = ("second", "byte", "integer")
# Keys whose values are whole numbers from 1 on.
COUNTS = ("loops", "inner_loops", "calibrate_loops", "recalibrate_loops", "mem_max_rss", "mem_peak_pagefile_usage", "command_max_rss")
# Keys whose values are numbers from 0 on.
AMOUNTS = ("duration", "uptime", "load_avg_1min")


def checked(name: str, value: Any) -> Any:
    """A value of the metadata, without spaces around it. Raises ValueError or TypeError if it is not allowed for this name."""
    if not isinstance(name, str) or not name.strip():
        raise TypeError("a key of the metadata is a text that is not empty, not %r" % (name,))
    if name == "tags":
        return _checked_tags(value)
    if name in COUNTS:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError("%s is a whole number from 1 on, not %r" % (name, value))
        return value
    if name in AMOUNTS:
        if not isinstance(value, (int, float)) or not value >= 0:
            raise ValueError("%s is a number from 0 on, not %r" % (name, value))
        return value
    if isinstance(value, str):
        value = value.strip()
        if not value or "\n" in value:
            raise ValueError("%s is one line that is not empty, not %r" % (name, value))
        if name == "unit" and value not in UNITS:
            raise ValueError("a unit is second, byte or integer, not %r" % value)
        return value
    if not isinstance(value, (int, float)) or name in ("name", "unit"):
        raise TypeError("%s is a text or a number, not %r" % (name, value))
    return value


def _checked_tags(tags: Any) -> List[str]:
    if not isinstance(tags, list) or not all(isinstance(tag, str) and tag and tag != "all" for tag in tags):
        raise ValueError("tags is a list of texts, of which none is empty or 'all', not %r" % (tags,))
    return list(tags)


def common(all_metadata: Sequence[Metadata]) -> Metadata:
    """The entries that are the same in all."""
    first, *rest = all_metadata
    return {key: value for key, value in first.items() if all(key in other and other[key] == value for other in rest)}


class Run:
    """The measurements of one process. A run without values is a calibration."""

    __slots__ = ("values", "warmups", "_metadata")

    def __init__(
        self,
        values: Sequence[Number],
        warmups: Optional[Sequence[Tuple[int, Number]]] = None,
        metadata: Optional[Metadata] = None,
        collect_metadata: bool = True,
    ) -> None:
        """`values` and the second items of `warmups` are for one loop. `collect_metadata` adds the facts of this process."""
        self.values: Tuple[Number, ...] = tuple(values)
        self.warmups: Tuple[Tuple[int, Number], ...] = tuple((loops, value) for loops, value in warmups or ())
        if not self.values and not self.warmups:
            raise ValueError("a run has at least one value or one warm-up")
        if not all(isinstance(value, (int, float)) and value > 0 for value in self.values):
            raise ValueError("values are numbers above 0, not %r" % (self.values,))
        for loops, value in self.warmups:
            if not isinstance(loops, int) or loops < 1 or not isinstance(value, (int, float)) or value < 0:
                raise ValueError("a warm-up is a number of loops from 1 on, and a value from 0 on, not %r" % ((loops, value),))
        given = {name: checked(name, value) for name, value in (metadata or {}).items()}
        self._metadata: Metadata = dict(facts.collect(), **given) if collect_metadata else given

    def get_metadata(self) -> Metadata:
        return dict(self._metadata)

    def get_loops(self) -> int:
        return int(self._metadata.get("loops", 1))

    def get_inner_loops(self) -> int:
        return int(self._metadata.get("inner_loops", 1))

    def get_total_loops(self) -> int:
        return self.get_loops() * self.get_inner_loops()

    def with_metadata(self, metadata: Metadata) -> "Run":
        """The same values with other metadata."""
        return Run(self.values, self.warmups, metadata, collect_metadata=False)

    def duration(self) -> float:
        """Seconds that the run took. Without this metadata, the sum of what it measured."""
        return float(self._metadata["duration"]) if "duration" in self._metadata else sum(self._get_raw_values(True))

    def _get_raw_values(self, warmups: bool = False) -> List[float]:
        """Values of all loops together."""
        raw = [value * loops * self.get_inner_loops() for loops, value in self.warmups] if warmups else []
        return raw + [value * self.get_total_loops() for value in self.values]

    def _get_date(self) -> Optional[str]:
        return self._metadata.get("date")
