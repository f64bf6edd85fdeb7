"""Which events of an outbox were sent last.

A connector that begins again tells events that it has told before: later in the log, at the
positions that they had. A position alone does not show that: transactions arrive in the order of
their commits, each change with the position at which it was made, so positions fall wherever
two transactions overlap; and a dead letter that is put back comes after newer
events. So the events themselves are remembered.

Limits: of the last events, in batches, each in a file; what is told again later than that is
taken for new, and sent twice.

Invariant: an event is known only if it was sent; one without a position never is. What is known
before a batch depends on the batches before it alone, so a batch that runs again sends the same
events.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from joinery.files import sync_folder, write_whole

NO_POSITION = -1
_EVENTS = 100_000
_BATCHES = 1_000
_ENDING = ".jsonl"


class SentEvent(NamedTuple):
    """What tells an event from all others.

    Attributes:
        partition: Of the outbox's log.
        position: The source's, or `NO_POSITION`.
        id: The values of the columns that identify it, as JSON text.
    """

    partition: int
    position: int
    id: str


class SentEvents:
    """The events of the last batches of a query.

    Args:
        folder: The query's own, of one sink at a time.
        events: At least as many are remembered, whole batches of them, unless `batches` have
            fewer; of one batch no more.
        batches: At most as many of them are remembered; a batch that sent nothing is none.
    """

    def __init__(self, folder: Path, *, events: int = _EVENTS, batches: int = _BATCHES) -> None:
        self._folder = folder
        self._most_events, self._most_batches = events, batches
        self._batches: dict[int, tuple[SentEvent, ...]] = {}  # the oldest first
        self._known: set[SentEvent] = set()
        self._left_out: list[int] = []
        self._next = -1  # the batch that these are known before

    def before(self, batch_id: int) -> Collection[SentEvent]:
        """Return the events that are known before a batch; they change with the next `keep`."""
        if batch_id != self._next:
            self._read_before(batch_id)
        return self._known

    def keep(self, batch_id: int, sent: Iterable[SentEvent]) -> None:
        """Remember, durably, what a batch sent; `before` was called for it.

        What the batch did not know any more is forgotten on the disk only now: until it was
        kept it might run again.
        """
        self._next = batch_id + 1
        events = tuple(each for each in sent if each.position != NO_POSITION)
        events = events[-self._most_events :]
        if not events:
            return
        lines = "".join(f"{json.dumps(each)}\n" for each in events)
        write_whole(self._file(batch_id), lines, synced=True)
        sync_folder(self._folder)
        for old in self._left_out:
            self._file(old).unlink(missing_ok=True)
        self._left_out.clear()
        self._batches[batch_id] = events
        self._known.update(events)
        while self._has_too_many():
            self._leave_out_oldest()

    def _has_too_many(self) -> bool:
        oldest = next(iter(self._batches.values()), ())
        spare = len(self._known) - len(oldest) >= self._most_events
        return spare or len(self._batches) > self._most_batches

    def _leave_out_oldest(self) -> None:
        oldest = next(iter(self._batches))
        self._known.difference_update(self._batches.pop(oldest))
        self._left_out.append(oldest)

    def _read_before(self, batch_id: int) -> None:
        """Read the newest batches before one, as many as `keep` would have left."""
        numbers = sorted((each for each in self._numbers() if each < batch_id), reverse=True)
        self._known, self._left_out, self._next = set(), [], batch_id
        read: dict[int, tuple[SentEvent, ...]] = {}
        for number in numbers:
            if len(self._known) >= self._most_events or len(read) == self._most_batches:
                self._left_out.append(number)
            else:
                read[number] = self._events_of(number)
                self._known.update(read[number])
        self._batches = dict(reversed(read.items()))

    def _events_of(self, number: int) -> tuple[SentEvent, ...]:
        lines = self._file(number).read_text(encoding="utf-8").splitlines()
        return tuple(SentEvent(*json.loads(line)) for line in lines)

    def _numbers(self) -> list[int]:
        names = (each.name.removesuffix(_ENDING) for each in self._folder.glob(f"*{_ENDING}"))
        return [int(each) for each in names if each.isdecimal()]

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}{_ENDING}"
