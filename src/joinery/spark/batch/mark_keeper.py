"""Keeps the state of a batch from time to time, beside the queries of a run.

Invariant: nothing that happens here ends a run or holds up a batch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from joinery.errors import JoineryError
from joinery.model.marks import KeptMarks
from joinery.model.warning import RunWarning
from joinery.place.full_disk import full_disk
from joinery.project.marks import MarksSpec
from joinery.spark.recovery.mark import kept_marks, mark_if_due

log = logging.getLogger("joinery.run")
_LOOK_MS = 60_000


class MarkKeeper:
    """Makes the marks of a run, and tells what there is of them, whoever made them.

    Args:
        checkpoints: By query; those on a disk.
        marks: When marks are made; None where the run makes none.
        tell: Given, by query, what there is.
        warn: Takes that a mark could not be made.
    """

    def __init__(
        self,
        checkpoints: Mapping[str, Path],
        marks: MarksSpec | None,
        tell: Callable[[Mapping[str, KeptMarks]], None],
        warn: Callable[[RunWarning], None],
    ) -> None:
        self._checkpoints, self._marks = checkpoints, marks
        self._tell, self._warn = tell, warn
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="joinery-marks", daemon=True)

    def open(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Look once more, so that a run which ends by itself leaves a mark; then end."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._look()

    def _keep(self) -> None:
        every_ms = _LOOK_MS if self._marks is None else min(_LOOK_MS, self._marks.every_ms)
        self._look()
        while not self._over.wait(every_ms / 1000):
            self._look()

    def _look(self) -> None:
        found: dict[str, KeptMarks] = {}
        for query, checkpoint in self._checkpoints.items():
            try:
                if self._marks is not None:
                    mark_if_due(checkpoint, self._marks.every_ms, self._marks.keep)
                kept = kept_marks(checkpoint)
            except (JoineryError, OSError) as error:
                self._warn(_unmarked(query, checkpoint, error))
            except Exception:  # A defect must not end this thread without a word.
                log.exception("state could not be marked", extra={"query": query})
            else:
                found |= {} if kept is None else {query: kept}
        self._tell(found)


def _unmarked(query: str, checkpoint: Path, error: Exception) -> RunWarning:
    why = full_disk(checkpoint) or (error.message if isinstance(error, JoineryError) else error)
    return RunWarning(
        code="WARN_MARK",
        about=f'query "{query}"',
        message=f'the state of query "{query}" could not be marked: {why}',
        hint="It is tried again, every minute at least; joinery mark --list shows what is kept.",
    )
