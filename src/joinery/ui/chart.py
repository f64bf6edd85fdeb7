"""Small charts of a day, as SVG that needs no script and no style of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from joinery.observe.history_file import Minute

BUCKETS = 96
"""Of a day: a quarter of an hour each."""

_DAY_S = 86_400.0
_HEIGHT = 20.0

Bucket = float | None


def bucketed(
    minutes: Iterable[Minute],
    now: float,
    value: Callable[[Minute], Bucket],
    combined: Callable[[float, float], float],
) -> list[Bucket]:
    """Return a value for each quarter of the last 24 hours; None where there was no line.

    Args:
        minutes: In any order.
        now: Where the day ends, in seconds since 1970.
        value: Of a minute.
        combined: Of two values of a quarter.
    """
    found: list[Bucket] = [None] * BUCKETS
    for minute in minutes:
        at = int((minute.at - (now - _DAY_S)) / (_DAY_S / BUCKETS))
        mine = value(minute)
        if 0 <= at < BUCKETS and mine is not None:
            known = found[at]
            found[at] = mine if known is None else combined(known, mine)
    return found


def path_of(values: Sequence[Bucket]) -> str:
    """Return the path of bars, a unit wide each, that rise to 20 at the largest value.

    Example:
        >>> path_of([None, 1.0, 2.0])
        'M1.5 20V10M2.5 20V0'
    """
    most = max((each for each in values if each is not None), default=0.0) or 1.0
    bars = (
        f"M{at}.5 20V{_HEIGHT - _HEIGHT * each / most:.3g}"
        for at, each in enumerate(values)
        if each is not None
    )
    return "".join(bars)
