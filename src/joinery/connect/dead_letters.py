"""Dead letters in a folder: JSON lines, one file a batch and query.

Invariant: a record that a query could not use stands there once, also after a replay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from joinery.connect.batch_folder import BatchFolder


class DeadLetterFolder:
    """The dead letters of one query; several queries share the folder."""

    def __init__(self, path: Path, query: str) -> None:
        self._folder = BatchFolder(path, prefix=f"{query}-")

    @property
    def path(self) -> Path:
        """Where the letters stand."""
        return self._folder.path

    def put(
        self, parts: Sequence[Path], *, query_id: str, batch_id: int, check: Callable[[], None]
    ) -> Path | None:
        """Put the letters of one batch in place; without any, nothing is written."""
        return self._folder.put(parts, query_id=query_id, batch_id=batch_id, check=check)
