"""Which windows hold a time: pure arithmetic on microseconds since 1970 in UTC.

A window begins at its start and ends before its end. Lengths below a day count from 1970, or
with a zone from local midnight, and are cut at the next midnight; days, weeks (from Monday) and
months are those of the calendar, in the zone or in UTC. So a day has 23 to 25 hours where the
clocks change. A wall time that the clocks skip is the first instant after the gap; one that
they show twice is the first of the two.

The kernel's twin is `Windows.java`; both are held to the table `window_cases.txt`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import count
from zoneinfo import ZoneInfo

from joinery.project.window import DAY_US, Cumulative, Grid, Hopping, Span, Tumbling

Bounds = tuple[int, int]
"""Where a window begins and ends."""

_EPOCH = datetime(1970, 1, 1)
_DAY_ZERO = date(1970, 1, 1)
_MONDAY = date(1969, 12, 29)
_MICRO = timedelta(microseconds=1)


def windows_of(window: Grid, time_us: int) -> list[Bounds]:
    """Return the windows that hold a time, by start, then by end.

    Example:
        >>> minute = Tumbling(Span(60_000_000, "micros"))
        >>> windows_of(minute, -1), windows_of(minute, 0)
        ([(-60000000, 0)], [(0, 60000000)])
    """
    match window:
        case Tumbling(size, zone, offset_us):
            starts = _Starts(size, zone, offset_us)
            start = starts.floor(time_us)
            return [(start, starts.after(start))]
        case Hopping(size, every, zone, offset_us):
            return _hopping(_Starts(every, zone, offset_us), size, time_us)
        case Cumulative(size, every, zone, offset_us):
            outer = _Starts(size, zone, offset_us)
            start = outer.floor(time_us)
            ends = _ends(outer, start, _Starts(every, zone, offset_us))
            return [(start, end) for end in ends if end > time_us]


def _hopping(starts: _Starts, size: Span, time_us: int) -> list[Bounds]:
    found: list[Bounds] = []
    start = starts.floor(time_us)
    while (end := starts.end_of(start, size)) > time_us:
        found.append((start, end))
        start = starts.floor(start - 1)
    return found[::-1]


def _ends(outer: _Starts, start: int, steps: _Starts) -> Iterator[int]:
    """Yield the ends of the windows from one start, counted from it, up to the last."""
    last, end = outer.after(start), start
    for times in count(1):
        end = steps.later(start, end, times)
        if end >= last:
            break
        yield end
    yield last


class _Starts:
    """The starts at each multiple of a length.

    Args:
        span: The length.
        zone: Of the calendar; None counts elapsed time from 1970, and calendar units in UTC.
        offset_us: How long after them windows begin, by the clock where there is a zone.
    """

    def __init__(self, span: Span, zone: str | None, offset_us: int) -> None:
        self._span, self._zone, self._offset = span, zone, offset_us

    def floor(self, time_us: int) -> int:
        """Return the last start that is not above a time."""
        if self._span.unit == "micros":
            first = self._day(time_us) if self._zone else self._offset
            return first + (time_us - first) // self._span.count * self._span.count
        return self._boundary(self._index(time_us))

    def after(self, time_us: int) -> int:
        """Return the first start above a time."""
        if self._span.unit == "micros":
            following = self.floor(time_us) + self._span.count
            return min(following, self._next_day(time_us)) if self._zone else following
        return self._boundary(self._index(time_us) + self._span.count)

    def later(self, start: int, before: int, times: int) -> int:
        """Return where the step ends that is `times` lengths after a start.

        Args:
            start: The first start.
            before: Where the step before ended.
            times: How many steps lie between.
        """
        if self._span.unit != "micros":
            size = Span(self._span.count * times, self._span.unit)
            days = _Starts(Span(1, "days"), self._zone, self._offset)
            day = _first_day(days._span, days._index(start))
            return self._instant(_moved(day, size), self._offset)
        return self.after(before) if self._zone else start + times * self._span.count

    def end_of(self, start: int, size: Span) -> int:
        """Return where the window of `size` ends that begins at a start."""
        if size.unit == "micros":
            end = start + size.count
            return min(end, self._next_day(start)) if self._zone else end
        day, clock = self._wall(start)
        return self._instant(_moved(day, size), clock)

    def _wall(self, start: int) -> tuple[date, int]:
        """Return the day of a start and its time of day: where it begins a day, that of days."""
        if self._span.unit != "micros":
            return _first_day(self._span, self._index(start)), self._offset
        days = _Starts(Span(1, "days"), self._zone, self._offset if self._zone else 0)
        if self._zone and days.floor(start) == start:
            return _first_day(days._span, days._index(start)), self._offset
        local = self._local_us(start)
        return _DAY_ZERO + timedelta(days=local // DAY_US), local % DAY_US

    def _day(self, time_us: int) -> int:
        return _Starts(Span(1, "days"), self._zone, self._offset).floor(time_us)

    def _next_day(self, time_us: int) -> int:
        return _Starts(Span(1, "days"), self._zone, self._offset).after(time_us)

    def _index(self, time_us: int) -> int:
        """Return the multiple at which the calendar's last start stands before a time."""
        step = self._span.count
        local = self._local_us(time_us) - self._offset
        index = _unit_of(self._span, local // DAY_US) // step * step
        while self._boundary(index) > time_us:
            index -= step
        while self._boundary(index + step) <= time_us:
            index += step
        return index

    def _boundary(self, index: int) -> int:
        return self._instant(_first_day(self._span, index), self._offset)

    def _local_us(self, time_us: int) -> int:
        return time_us + (_offset_us(self._zone, time_us) if self._zone else 0)

    def _instant(self, day: date, clock_us: int) -> int:
        """Return when the wall clock first shows a time of a day, or has passed it."""
        wall = (day - _DAY_ZERO).days * DAY_US + clock_us
        return _instant(self._zone, wall) if self._zone else wall


def _unit_of(span: Span, day: int) -> int:
    """Return the number of the unit that a day since 1970 lies in."""
    if span.unit == "days":
        return day
    if span.unit == "weeks":
        return (day + 3) // 7
    found = _DAY_ZERO + timedelta(days=day)
    return (found.year - 1970) * 12 + found.month - 1


def _first_day(span: Span, index: int) -> date:
    """Return the first day of a unit, by its number."""
    if span.unit == "days":
        return _DAY_ZERO + timedelta(days=index)
    if span.unit == "weeks":
        return _MONDAY + timedelta(weeks=index)
    return date(1970 + index // 12, index % 12 + 1, 1)


def _moved(day: date, span: Span) -> date:
    """Return the day that is a length later; the last of its month where there is none."""
    if span.unit != "months":
        return day + timedelta(days=span.count * (7 if span.unit == "weeks" else 1))
    month = (day.year - 1970) * 12 + day.month - 1 + span.count
    last = _first_day(span, month + 1) - timedelta(days=1)
    return last.replace(day=min(day.day, last.day))


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _offset_us(zone: str, time_us: int) -> int:
    """Return what a zone's clocks are ahead of UTC at a time."""
    moment = (_EPOCH + timedelta(microseconds=time_us)).replace(tzinfo=UTC)
    return _zone_offset(moment.astimezone(_zone(zone)))


def _zone_offset(moment: datetime) -> int:
    offset = moment.utcoffset()
    assert offset is not None  # it has a zone
    return offset // _MICRO


@lru_cache(maxsize=65_536)
def _instant(zone: str, wall_us: int) -> int:
    """Return the first instant at which a zone's clocks show a wall time, or are past it."""
    wall = (_EPOCH + timedelta(microseconds=wall_us)).replace(tzinfo=_zone(zone))
    before = wall_us - _zone_offset(wall)
    after = wall_us - _zone_offset(wall.replace(fold=1))
    if after >= before:
        return before
    low, high = after, before  # clocks skip it: the change lies between
    while high - low > 1:
        middle = (low + high) // 2
        shown = middle + _offset_us(zone, middle)
        low, high = (low, middle) if shown > wall_us else (middle, high)
    return high
