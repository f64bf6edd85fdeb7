"""A plain search for the three sequences in all rows that stand, to hold the matches to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]
Found = set[tuple[int, datetime]]
"""Matches, each by the id of its first row and the time of its last."""

_SHORT, _COOLED, _DELAY = timedelta(seconds=10), timedelta(seconds=6), timedelta(seconds=1)


def plain_search(tables: Mapping[str, Mapping[int, Row]]) -> dict[str, Found]:
    """Return the matches of each product, of what did not happen those whose time is over."""
    readings = list(tables["reading"].values())
    over = max((_at(each) for each in readings), default=datetime.max) - _DELAY - _COOLED
    hot = [m for m in _found(readings, "machine", _COOLED, _overheating) if _at(m[0]) < over]
    return {
        "stolen_card": _told(_found(tables["payment"].values(), "card", _SHORT, _stolen)),
        "guessed_password": _told(_found(tables["login"].values(), "person", _SHORT, _guessed)),
        "overheating": _told(hot),
    }


def _found(
    rows: Any, by: str, within: timedelta, match: Callable[[Rows], int | None]
) -> Iterator[tuple[Row, Row]]:
    """Yield the first and last row of each match; the search goes on behind a match."""
    ordered = sorted(rows, key=lambda row: (row["at"], row["id"]))
    for key in {row[by] for row in ordered}:
        own = [row for row in ordered if row[by] == key]
        own = [row | {"before": before} for before, row in zip([{}, *own], own, strict=False)]
        start = 0
        while start < len(own):
            seen = [row for row in own[start:] if _at(row) - _at(own[start]) <= within]
            last = match(seen)
            if last is not None:
                yield own[start], own[start + last]
            start += 1 if last is None else last + 1


def _stolen(rows: Rows) -> int | None:
    def large(row: Row, tries: Rows) -> bool:
        return bool(row["cents"] > 100 * sum(each["cents"] for each in tries) / len(tries))

    return _led(rows, 2, lambda row: row["cents"] < 300, large)


def _guessed(rows: Rows) -> int | None:
    def elsewhere(row: Row, tries: Rows) -> bool:
        return bool(row["ok"] and row["country"] != tries[-1]["country"])

    return _led(rows, 3, lambda row: not row["ok"], elsewhere)


def _led(
    rows: Rows, least: int, try_: Callable[[Row], bool], end: Callable[[Row, Rows], bool]
) -> int | None:
    """Return where the first row stands that ends a run of tries, the longest run first."""
    for tries in range(_run(rows, try_), least - 1, -1):
        for place in range(tries, len(rows)):
            if end(rows[place], rows[:tries]):
                return place
    return None


def _overheating(rows: Rows) -> int | None:
    def hotter(row: Row) -> bool:
        return bool(
            row["celsius"] > 80 and row["celsius"] > row["before"].get("celsius", row["celsius"])
        )

    run = _run(rows, hotter)
    cooled = any(row["celsius"] < 75 for row in rows[run:])
    return run - 1 if run >= 3 and not cooled else None


def _run(rows: Rows, holds: Callable[[Row], bool]) -> int:
    return next((place for place, row in enumerate(rows) if not holds(row)), len(rows))


def _told(matches: Any) -> Found:
    return {(first["id"], _at(last)) for first, last in matches}


def _at(row: Row) -> datetime:
    return datetime.fromisoformat(row["at"])
