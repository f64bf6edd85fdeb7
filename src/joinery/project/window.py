"""Windows and intervals of time as a user declares them.

Everything is resolved here but the zone's rules: lengths have units, defaults are filled in.
Which windows hold a time, `joinery.semantics.window` tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["micros", "days", "weeks", "months"]

DAY_US = 86_400_000_000
WEEK_US = 7 * DAY_US
_FIXED_US = {"micros": 1, "days": DAY_US, "weeks": WEEK_US}


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time: microseconds, or units of the calendar."""

    count: int
    unit: Unit

    @property
    def elapsed_us(self) -> int | None:
        """Its microseconds, of days of 24 hours; None for months."""
        return None if self.unit == "months" else self.count * _FIXED_US[self.unit]

    @property
    def shortest_us(self) -> int:
        """The least that it can last."""
        return self._months_us(28, 365) if self.elapsed_us is None else self.elapsed_us

    @property
    def longest_us(self) -> int:
        """The most that it can last."""
        return self._months_us(31, 366) if self.elapsed_us is None else self.elapsed_us

    def _months_us(self, days: int, year_days: int) -> int:
        years, months = divmod(self.count, 12)
        return (years * year_days + months * days) * DAY_US


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows side by side.

    Attributes:
        zone: The time zone of days and what is longer; None counts from 1970 in UTC.
        offset_us: How long after that the first begins: by the clock where there is a zone.
    """

    size: Span
    zone: str | None = None
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class Hopping:
    """Windows of `size` that begin at every multiple of `every`; see `Tumbling`."""

    size: Span
    every: Span
    zone: str | None = None
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class Cumulative:
    """Windows that begin where those of `size` do and end at each multiple of `every` in them."""

    size: Span
    every: Span
    zone: str | None = None
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """Runs of rows whose neighbours are less than `gap_us` apart.

    Attributes:
        max_us: A run is cut at each multiple of it after its first row; None cuts none.
    """

    gap_us: int
    max_us: int | None = None


@dataclass(frozen=True, slots=True)
class Sliding:
    """The last `size_us` before the relation's watermark."""

    size_us: int


Grid = Tumbling | Hopping | Cumulative
"""Windows whose bounds follow from a time alone."""
Window = Tumbling | Hopping | Cumulative | Session | Sliding


@dataclass(frozen=True, slots=True)
class Within:
    """How far a child's time may be from its parent's, both ends included.

    Attributes:
        from_us: The least that the child's time is above the parent's; negative is before it.
        to_us: The most.
    """

    from_us: int
    to_us: int

    def __contains__(self, behind_us: int) -> bool:
        """Return whether a child may be so long behind its parent."""
        return self.from_us <= behind_us <= self.to_us
