"""The node of the kernel's program that folds the events of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TransitionProgram:
    """The assembler of the state after an event of a kind, over the one before and the event."""

    kind: str
    assembler: int


@dataclass(frozen=True, slots=True)
class EventFold:
    """Remembers the events of a log by their numbers, and the states that they make.

    Attributes:
        relation: The log.
        input: The assembler, over a row as products see it: the columns that tell states apart,
            the event's number, its time where there is one.
        by: How many columns tell states apart.
        timed: Whether `input` tells a time.
        event_kind: Over a row as products see it, what has happened.
        compared: Over the same, the columns in which two events of one number differ.
        initial: The assembler, over a state of nulls, of the one before the first event.
        when: What events make of it, by kind.
        wait_micros: How long events behind a gap wait for the numbers that are missing; 0 for
            not by time.
        wait_events: How many of them wait before those numbers are given up; None for not by their
            number.
    """

    name: str
    level: int
    relation: int
    input: int
    by: int
    timed: bool
    event_kind: int
    compared: tuple[int, ...]
    initial: int
    when: tuple[TransitionProgram, ...]
    wait_micros: int
    product: int
    wait_events: int | None = None
    kind: Literal["event_fold"] = "event_fold"

    @property
    def waits_by_clock(self) -> bool:
        """Whether the clock tells how long events have waited, as they have no times."""
        return self.wait_micros > 0 and not self.timed
