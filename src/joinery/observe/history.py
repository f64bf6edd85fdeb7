"""What a product did in the last hours or days, from the minutes that its runs have written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from joinery.delivery.query_paths import QueryPaths
from joinery.model.moment import second_text
from joinery.observe.history_file import KEPT_DAYS, Minute, history_folder, minutes_of
from joinery.observe.outline import Outline
from joinery.project.quantity import duration_text
from joinery.text.columns import aligned
from joinery.text.figure import seconds_text, share_text, size_text

_DAY_S = 86_400.0
_ROWS = 25
_WIDTHS_S = (60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200)
_HEADER = ("from", "batches", "rows", "sent", "longest", "writing", "fresh", "behind", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What a product did from one time to another.

    Attributes:
        since: When it began, in seconds since 1970.
        minutes: What was written of it, the oldest first; at least one.
    """

    since: float
    minutes: Sequence[Minute]

    def cells(self) -> tuple[str, ...]:
        """Return it as a row of a table: sums, and the worst of what does not add up."""
        batches = [each.batches for each in self.minutes]
        longest = max(batches, key=lambda each: each.longest_s)
        fresh = [each.fresh_s for each in self.minutes if each.fresh_s is not None]
        rows_left = max(each.rows_left for each in self.minutes)
        bytes_left = max(each.bytes_left for each in self.minutes)
        return (
            second_text(self.since),
            f"{sum(each.count for each in batches):,}",
            f"{sum(each.rows for each in batches):,}",
            f"{sum(each.sent for each in self.minutes):,}",
            seconds_text(longest.longest_s) if longest.count else "-",
            share_text(longest.writing_s / longest.longest_s if longest.longest_s else None),
            seconds_text(max(fresh)) if fresh else "-",
            size_text(bytes_left) if bytes_left and not rows_left else f"{rows_left:,}",
            "; ".join(dict.fromkeys(self._remarks())),
        )

    def _remarks(self) -> Iterator[str]:
        for each in self.minutes:
            yield from (f"waited for {target}" for target in each.waits)
            if each.paused:
                yield "paused"
            if each.ended:
                yield each.ended


def product_minutes(
    project: Outline, product: str, since_s: float, *, clock: Callable[[], float] = time.time
) -> list[Minute]:
    """Return what was written of a product in the last so many seconds, the oldest first.

    Args:
        project: The project.
        product: One of it, or a stream, that has something to run.
        since_s: How far back; a week is kept.
        clock: Tells the seconds since 1970.
    """
    now = clock()
    folder = history_folder(QueryPaths.of(project.checkpoint, project.queries[product]).status_file)
    days = min(KEPT_DAYS, int(since_s // _DAY_S) + 2)
    return [
        each for each in minutes_of(folder, product, now=now, days=days) if each.at > now - since_s
    ]


def history_lines(product: str, minutes: Iterable[Minute], since_s: float) -> Iterator[str]:
    """Yield what a product did as a table, at most some 25 rows, the oldest first.

    Args:
        product: Its name.
        minutes: As `product_minutes` gives them.
        since_s: How far back they go.
    """
    width = next((each for each in _WIDTHS_S if since_s <= each * _ROWS), _WIDTHS_S[-1])
    rows = [each.cells() for each in stretches(minutes, width)]
    if not rows:
        yield f"{product}: nothing is on record"
        return
    yield f"{product}, by {duration_text(width * 1000)}"
    numbers = range(1, len(_HEADER) - 1)
    yield from (f"  {line}" for line in aligned([_HEADER, *rows], right=numbers))


def stretches(minutes: Iterable[Minute], width_s: int) -> Iterator[Stretch]:
    """Yield minutes by stretches of the clock in which there were some.

    Args:
        minutes: The oldest first.
        width_s: How long a stretch is.
    """
    for at, each in groupby(minutes, key=lambda minute: int(minute.at // width_s)):
        yield Stretch(since=float(at * width_s), minutes=tuple(each))
