"""Remembers how often a batch could not be worked off, so that a third attempt looks first.

Only failures of the work itself count: not those of sinks, and not a run that was stopped.

Invariant: a batch that went through leaves no trace.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of one batch.

    Attributes:
        batch_id: The batch.
        count: How often it failed in a row.
        why: The last reason.
        searched: Whether its records were searched for poison already.
    """

    batch_id: int
    count: int
    why: str
    searched: bool = False


class Attempts:
    """The attempts of one query at its next batch.

    Args:
        root: The folder of the query's checkpoint folder.
        query: The query's name.
    """

    def __init__(self, root: Path, query: str) -> None:
        self._file = root / "_attempts" / f"{query}.json"

    def read(self) -> Failures | None:
        """Return what is remembered."""
        try:
            return Failures(**json.loads(self._file.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            return None

    def failed(self, batch_id: int, why: str) -> None:
        """Count a failure."""
        stood = self.read()
        same = stood is not None and stood.batch_id == batch_id
        count = stood.count + 1 if stood and same else 1
        searched = bool(stood and same and stood.searched)
        self._write(Failures(batch_id, count, why, searched))

    def searched(self, failures: Failures) -> None:
        """Note that the batch's records were searched."""
        self._write(Failures(failures.batch_id, failures.count, failures.why, searched=True))

    def passed(self) -> None:
        """Forget the failures: the batch went through."""
        self._file.unlink(missing_ok=True)

    def _write(self, failures: Failures) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._file.with_suffix(".part")
        fresh.write_text(json.dumps(asdict(failures)), encoding="utf-8")
        fresh.replace(self._file)
