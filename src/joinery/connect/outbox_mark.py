"""How far the events of an outbox were sent: by partition of its log, the highest position.

A connector that begins again tells events that it has told before. They stand later in the
log, with the positions they had, so an event at or below the highest position is a repeat;
of those at that very position (rows of one statement) their identities are kept.

Invariant: the marks of a batch depend on its events and on the marks of the batch before,
so a batch that runs again sends the same events.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

NO_POSITION = -1
_KEPT = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """The highest position of a partition, and the identities of its events there."""

    position: int = NO_POSITION
    ids: frozenset[str] = frozenset()

    def seen(self, position: int, id_: str) -> bool:
        """Say whether an event was told before; one without a position never was."""
        if position == NO_POSITION:
            return False
        return position < self.position or (position == self.position and id_ in self.ids)

    def past(self, position: int, id_: str) -> Mark:
        """Return the mark after one more event, which was not seen."""
        if position == NO_POSITION:
            return self
        ids = self.ids if position == self.position else frozenset[str]()
        return Mark(position, ids | {id_})


Marks = Mapping[int, Mark]


class MarkFolder:
    """The marks of the last batches, a file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def before(self, batch_id: int) -> Marks:
        """Return the marks of the batch before; none where that was the first."""
        known = [each for each in self._numbers() if each < batch_id]
        if not known:
            return {}
        told = json.loads(self._file(max(known)).read_text(encoding="utf-8"))
        return {
            int(partition): Mark(each["position"], frozenset(each["ids"]))
            for partition, each in told.items()
        }

    def keep(self, batch_id: int, marks: Marks) -> None:
        """Keep the marks of a batch, durably, and forget those of old ones."""
        self._folder.mkdir(parents=True, exist_ok=True)
        told = {
            str(partition): {"position": mark.position, "ids": sorted(mark.ids)}
            for partition, mark in sorted(marks.items())
        }
        aside = self._file(batch_id).with_suffix(".new")
        with aside.open("w", encoding="utf-8") as file:
            json.dump(told, file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._file(batch_id))
        for old in _but_newest(self._numbers()):
            self._file(old).unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        return [int(each.stem) for each in self._folder.glob("*.json")]

    def _file(self, batch_id: int) -> Path:
        return self._folder / f"{batch_id}.json"


def _but_newest(numbers: Iterable[int]) -> list[int]:
    return sorted(numbers)[:-_KEPT]
