"""Where the batches of a query are staged, and whether one is still whole there.

Invariant: the parts of a batch are told all or not at all. Whoever clears a staging folder takes
the marks of its batches first, and whoever lists parts looks for the mark afterwards.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from joinery.errors import RunError

_MARK = ".staged"


class StagingGoneError(RunError):
    """Somebody has removed a batch that was staged and not yet written."""

    code = "RUN_STAGING"


@dataclass(frozen=True, slots=True)
class StagedFolder:
    """Where one batch is staged.

    Attributes:
        path: The folder.
    """

    path: Path

    def open(self) -> None:
        """Make it anew, empty and marked."""
        self.remove()
        self.path.mkdir(parents=True, exist_ok=True)
        self._mark.touch()

    def parts(self, name: str) -> tuple[Path, ...]:
        """Return the parts of a product, or of the dead letters; none where it has no lines.

        Raises:
            StagingGoneError: Somebody has cleared the folder.
        """
        found = tuple(sorted((self.path / name).glob("part-*.jsonl")))
        if not self._mark.is_file():
            raise StagingGoneError(
                "a batch is gone that was staged and not yet written",
                detail=f"Something has removed {self.path}. The batch was not committed.",
                hint="Let nothing clean up that folder, and start the run again: it runs again.",
            )
        return found

    def remove(self) -> None:
        """Remove it, as far as it is there."""
        self._mark.unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def _mark(self) -> Path:
        return self.path / _MARK


def clear_staging(folder: Path) -> None:
    """Remove all batches that are staged below a folder."""
    for mark in folder.glob(f"*/{_MARK}"):
        mark.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
