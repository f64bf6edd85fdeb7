"""An event on its way through the steps of a stream, and what a step makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from joinery.model.change import Row

Identity = tuple[Any, ...]


class Place(NamedTuple):
    """Where an event comes from; of two with one identity the higher one is the newer.

    Attributes:
        arrived: Whether it came with this batch; a lookup kept it from an earlier one if not.
        log: The name of its relation; two logs have no order of their own.
        number: Rises within the log.
    """

    arrived: bool
    log: str
    number: int


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it stands between two steps.

    Attributes:
        key: What identifies it: its key columns, or its place in the log.
        row: Its columns.
        place: Where it comes from.
        correction: Whether it was sent before, with other columns.
    """

    key: Row
    row: Row
    place: Place
    correction: bool = False

    @property
    def identity(self) -> Identity:
        """What two events that are one have in common."""
        return tuple(_identity(each) for each in self.key.values())

    def with_row(self, row: Mapping[str, Any]) -> Event:
        """Return the event with other columns."""
        return replace(self, row=row)

    def kept(self) -> Event:
        """Return the event as a lookup keeps it for a later batch."""
        return replace(self, place=self.place._replace(arrived=False, number=0))

    def corrected(self) -> Event:
        """Return the event as one that is sent again."""
        return replace(self, correction=True)


def _identity(part: Any) -> Any:
    """Return a part of a key as it is compared: of a pair the other's key is an object."""
    return tuple(part.values()) if isinstance(part, Mapping) else part


@dataclass(frozen=True, slots=True)
class DeadEvent:
    """An event that ends in the dead letters.

    Attributes:
        reason: A stable word: `lookup_miss`, `event_without_time`, `event_too_late` or
            `map_failed`.
        detail: A sentence of facts.
    """

    event: Event
    reason: str
    detail: str


@dataclass(slots=True)
class Findings:
    """What the steps of one batch met on their way."""

    dead: list[DeadEvent] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
