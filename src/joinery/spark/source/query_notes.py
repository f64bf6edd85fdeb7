"""What one query notes of its sources, in a file beside the positions of its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from joinery.files import write_whole
from joinery.place.place import Place

Note = TypeVar("Note")


class QueryNotes(Generic[Note]):
    """Notes by source; one thread at a time uses them.

    Args:
        file: Where they stand, as a JSON object.
        check: Raises once another run has taken over.
        to_json: Returns a note as JSON has it.
        of_json: Reads it back; a ValueError or a TypeError where it cannot be.
    """

    def __init__(
        self,
        file: Place,
        check: Callable[[], None],
        to_json: Callable[[Note], object],
        of_json: Callable[[object], Note],
    ) -> None:
        self._file, self._check = file, check
        self._to_json, self._of_json = to_json, of_json
        self._every: Mapping[str, Note] | None = None

    def get(self, source: str) -> Note | None:
        """Return the note of a source; None where there is none."""
        return self._read().get(source)

    def put(self, source: str, note: Note) -> None:
        """Keep the note of a source."""
        self._check()
        every = {**self._read(), source: note}
        told = {name: self._to_json(each) for name, each in every.items()}
        write_whole(self._file, f"{json.dumps(told, sort_keys=True)}\n", synced=False)
        self._every = every

    def _read(self) -> Mapping[str, Note]:
        if self._every is None:  # nobody else writes it while the lease is held
            try:
                told = json.loads(self._file.read_text(encoding="utf-8"))
                self._every = {name: self._of_json(each) for name, each in told.items()}
            except (FileNotFoundError, ValueError, TypeError, AttributeError):
                self._every = {}  # not told yet, or cut off with its machine
        return self._every
