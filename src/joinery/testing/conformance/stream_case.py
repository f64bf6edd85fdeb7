"""A case of a stream: a sentence, a project, batches, and what each must send.

Invariant: a case tells values literally; nothing in it is computed by Joinery.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from joinery.testing.changes import RowChange
from joinery.testing.driver import Emission

NEXT = "1s"


@dataclass(frozen=True, slots=True)
class StreamStep:
    """One batch.

    Attributes:
        changes: Of tables and events, in log order.
        emissions: What the sink must receive, in any order of the keys; values as in JSON.
        dead: The keys of events that must become dead letters.
        after: How long after the batch before it; `NEXT` where it does not matter.
    """

    changes: tuple[RowChange, ...]
    emissions: tuple[Emission, ...] = ()
    dead: tuple[Any, ...] = ()
    after: str = NEXT


@dataclass(frozen=True, slots=True)
class StreamCase:
    """One thing that every runtime of streams must do.

    Attributes:
        sentence: What holds.
        project: The `relations` and `streams` of a project file; the stream under test is
            the last one.
        stored: Whether the tables stand in a store, which holds a batch's changes before
            its events come.
    """

    sentence: str
    project: str
    steps: tuple[StreamStep, ...]
    stored: bool = False

    @property
    def timed(self) -> bool:
        """Whether it needs the clock to be moved between batches."""
        return any(each.after != NEXT for each in self.steps)

    def __str__(self) -> str:
        return self.sentence


def stream_case(sentence: str, project: str, *steps: StreamStep) -> StreamCase:
    """Return a case of these batches."""
    return StreamCase(sentence, project, steps, stored="read: database" in project)


def batch(
    *changes: RowChange,
    sends: Iterable[Emission] = (),
    dead: Iterable[Any] = (),
    after: str = NEXT,
) -> StreamStep:
    """Return a batch of `changes`, after which exactly `sends` is sent."""
    return StreamStep(changes, tuple(sends), tuple(dead), after)
