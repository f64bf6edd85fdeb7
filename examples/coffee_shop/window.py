"""The consistency window: how stale the customer was that an order was enriched with.

An order shows a revision of its customer. Where a newer revision had been written before
the order was, the order is stale, by as much as the oldest such revision was older.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from joinery.testing.load import quantile


@dataclass(frozen=True, slots=True)
class Window:
    """How consistent enriched orders were with their customers.

    Attributes:
        orders: How many were looked at.
        stale_s: How stale the stale ones were, in rising order.
        missing: Orders that found no customer.
    """

    orders: int
    stale_s: tuple[float, ...]
    missing: int = 0

    def told(self) -> str:
        """Return it as one line."""
        if not self.orders:
            return "no orders yet"
        share = 100 * len(self.stale_s) / self.orders
        tail = ""
        if self.stale_s:
            p50, p99 = (quantile(self.stale_s, each) for each in (0.5, 0.99))
            tail = f"; by {p50:.3f} s (p50), {p99:.3f} s (p99), {self.stale_s[-1]:.3f} s (max)"
        return (
            f"{len(self.stale_s)} of {self.orders} orders ({share:.1f} %) were enriched with an"
            f" outdated customer{tail}"
        )


def window(
    edits: Mapping[int, Sequence[float]], orders: Iterable[tuple[int, float, int | None]]
) -> Window:
    """Measure the window.

    Args:
        edits: By customer, when each of its revisions was written.
        orders: Customer, when the order was written, and the revision that it shows.

    Example:
        >>> window({1: [0.0, 5.0]}, [(1, 4.0, 0), (1, 7.0, 0), (1, 8.0, 1)])
        Window(orders=3, stale_s=(2.0,), missing=0)
    """
    stale: list[float] = []
    seen = missing = 0
    for customer, ordered_at, revision in orders:
        seen += 1
        if revision is None:
            missing += 1
            continue
        newer = edits[customer][revision + 1 : revision + 2]
        if newer and newer[0] < ordered_at:
            stale.append(ordered_at - newer[0])
    return Window(seen, tuple(sorted(stale)), missing)
