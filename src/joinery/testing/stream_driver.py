"""A stream under test: changes and events in, what it sends out, without Spark or servers.

Invariant: each `send` is one batch, and the driver's clock moves one second a batch unless
it is told more, so equal sends give equal emissions, versions included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from typing import Protocol

from joinery.model.change import Change, DocumentChange
from joinery.plan.stream import Stream
from joinery.project.quantity import given_duration_ms
from joinery.semantics.stream_reference import StreamReference
from joinery.solutions.protocol import DeadDocument, Emissions
from joinery.testing.changes import ChangeError, RowChange, flat, shown
from joinery.testing.driver import DriverError, Emission


class PlannedStream(Protocol):
    """Anything that has a stream's plan, such as a stream of a loaded project."""

    @property
    def plan(self) -> Stream:
        """The stream's logical plan."""


class StreamDriver:
    """Runs one stream on the reference semantics and shows what it sends.

    Args:
        stream: A stream's plan, or a stream of a loaded project.
    """

    def __init__(self, stream: Stream | PlannedStream) -> None:
        self.stream = _plan(stream)
        self.counters: Counter[str] = Counter()
        self.dead_letters: list[DeadDocument] = []
        self._solution = StreamReference(self.stream)
        self._before: StreamReference | None = None
        self._last: tuple[tuple[Change, ...], int] | None = None
        self._relations = {each.name: each for each in self.stream.named_relations}
        self._time_us = 0

    def send(
        self, *changes: Change | RowChange | Iterable[Change | RowChange], after: str = "1s"
    ) -> list[Emission]:
        """Send one batch, in log order, and return its emissions.

        Args:
            *changes: Rows of the tables and events, as `insert`, `update` and `delete` tell.
            after: How long after the last batch it is.

        Raises:
            DriverError: `after` is no duration.
        """
        batch = tuple(self._change(each) for each in flat(changes))
        self._time_us += _micros(after)
        self._before = deepcopy(self._solution)
        self._last = batch, self._time_us
        return self._emitted(self._solution.apply(batch, self._time_us))

    def erase(self, relation: str, subject: object) -> list[Emission]:
        """Erase a subject of a relation, as one batch, and return its emissions.

        They are the events that are sent again, and those whose time to wait is over. The batch
        cannot be replayed.

        Args:
            relation: One with personal columns.
            subject: Whose values they are, in clear.

        Raises:
            DriverError: Nothing of the relation is personal.
        """
        found = self._relations.get(relation)
        if found is None or found.personal is None:
            raise DriverError(f'stream "{self.stream.name}" reads nothing personal of "{relation}"')
        self._time_us += _micros("1s")
        self._before = self._last = None
        return self._emitted(self._solution.erase(relation, subject, self._time_us))

    def replay(self) -> list[Emission]:
        """Run the last batch again, from the state before it, as after a crash."""
        if self._last is None or self._before is None:
            raise DriverError("there is no batch to replay", hint="Send one first.")
        self._solution = deepcopy(self._before)
        emitted = self._solution.apply(*self._last)
        return [self._emission(each) for each in emitted.documents]

    def _emitted(self, emitted: Emissions) -> list[Emission]:
        """Note what a batch counted and refused, and return what it sends."""
        self.counters.update(emitted.counters)
        self.dead_letters.extend(emitted.dead_letters)
        return [self._emission(each) for each in emitted.documents]

    def _change(self, told: Change | RowChange) -> Change:
        if isinstance(told, Change):
            return told
        if told.relation not in self._relations:
            raise ChangeError(
                f'stream "{self.stream.name}" reads no relation "{told.relation}"',
                detail=f"It reads {', '.join(self._relations)}.",
            )
        return told.change(self._relations[told.relation])

    def _emission(self, document: DocumentChange) -> Emission:
        values = tuple(document.key.values())
        key = values[0] if len(values) == 1 else values
        return Emission(key, shown(document.value, self.stream.output), document.version)


def _plan(stream: object) -> Stream:
    """Return the plan of a stream, in one of the ways in which it is given."""
    plan = getattr(stream, "plan", stream)  # of a project's stream, or of what is none
    if isinstance(plan, Stream):
        return plan
    raise DriverError(
        f"an object of type {type(stream).__name__} is not a stream",
        hint='Pass one such as project.streams["enriched"].',
    )


def _micros(after: str) -> int:
    return given_duration_ms(after, DriverError) * 1000
