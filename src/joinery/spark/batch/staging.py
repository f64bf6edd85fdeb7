"""Where the batches of a query are staged, and whether one is still whole there.

Tasks that do not see the driver's disk leave their parts beside a checkpoint in an object store,
from where the driver copies those that it keeps.

Invariant: the parts of a batch are told all or not at all. Whoever clears a staging folder takes
the marks of its batches first, and whoever lists parts looks for the mark afterwards. Nobody
removes a batch of a run that came after.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from joinery.errors import RunError
from joinery.place.place import Place
from joinery.place.remote_path import RemotePath
from joinery.place.store import StorageError

_MARK = ".staged"


class StagingGoneError(RunError):
    """Somebody has removed a batch that was staged and not yet written."""

    code = "RUN_STAGING"


@dataclass(slots=True)
class Staging:
    """Where the batches of one query are staged, a folder each.

    Attributes:
        folder: The query's own on the driver's disk, from which sinks read.
        beside: The same beside the checkpoint.
        apart: Where tasks leave their parts, since they do not see `folder`; None where they do.
    """

    folder: Path
    beside: Place
    apart: RemotePath | None = None

    def set_apart(self) -> None:
        """Note that tasks run on other machines than the driver."""
        if isinstance(self.beside, RemotePath):
            self.apart = self.beside

    def batch(self, batch_id: int, epoch: int, owner: str) -> StagedFolder:
        """Return where a batch of a run is staged; `owner` names the run."""
        name = f"{epoch}-{batch_id}-{owner}"
        return StagedFolder(self.folder / name, self.apart / name if self.apart else None)

    def clear(self, check: Callable[[], None]) -> None:
        """Remove all batches that are staged, by whichever run.

        Args:
            check: Raises once the lease is not held.
        """
        check()
        clear_staging(self.folder)
        if isinstance(self.beside, RemotePath):
            with suppress(StorageError):  # else the next run does
                found = [each for each, _ in self.beside.listed()]
                check()  # so what was found is of earlier runs: nobody else gives such names
                self.beside.remove_files(found)

    def remove_of(self, owner: str) -> None:
        """Remove the batches of a run that has ended, whoever holds the lease."""
        for folder in self.folder.glob(f"*-{owner}"):
            StagedFolder(folder).remove()
        with suppress(OSError):  # there are others in it
            self.folder.rmdir()
        if isinstance(self.beside, RemotePath):
            with suppress(StorageError):
                for found in self.beside.iterdir():
                    if found.name.endswith(f"-{owner}"):
                        _clear(found)


@dataclass(frozen=True, slots=True)
class StagedFolder:
    """Where one batch is staged.

    Attributes:
        path: The folder.
        apart: Where tasks leave their parts, if not there.
    """

    path: Path
    apart: RemotePath | None = None

    def open(self) -> None:
        """Make it, empty and marked, in place of one that is there."""
        self._remove_here()
        self.path.mkdir(parents=True, exist_ok=True)
        self._mark.touch()

    def parts(self, name: str) -> tuple[Path, ...]:
        """Return the parts of a product, or of the dead letters; none where it has no lines.

        Raises:
            StagingGoneError: Somebody has cleared the folder.
        """
        found = tuple(sorted((self.path / name).glob("part-*.jsonl")))
        self._check()
        return found

    def staged(self) -> frozenset[str]:
        """Return the products that have parts, and of dead letters the folder.

        Raises:
            StagingGoneError: Somebody has cleared the folder.
        """
        found = frozenset(each.name for each in self.path.glob("*/"))
        self._check()
        return found

    def _check(self) -> None:
        if not self._mark.is_file():
            raise StagingGoneError(
                "a batch that was staged and not yet written is gone",
                detail=f"Something has removed {self.path}. The batch was not committed.",
                hint="Keep that folder from being cleaned up, and start the run again: the batch is"
                " run again.",
            )

    def remove(self) -> None:
        """Remove it, as far as it is there."""
        self._remove_here()
        if self.apart is not None:
            _clear(self.apart)

    def _remove_here(self) -> None:
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


def _clear(folder: RemotePath) -> None:
    """Remove what is below a folder, if the store can be asked; else the next run does."""
    with suppress(StorageError):
        folder.remove()
