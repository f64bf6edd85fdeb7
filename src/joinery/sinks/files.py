"""The files sink: one file of JSON lines a batch, under `<path>/<product>`.

Invariant: name order is emission order, and no line stands there twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from joinery.model.type import Struct
from joinery.project.option import Target, check_path, options, path_in, text
from joinery.sinks.batch_folder import BatchFolder
from joinery.sinks.files_reader import FilesReader
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import Guarantee, Promise, SinkError, StagedBatch, Written

_GUARANTEE = Guarantee(
    summary="Every emission is kept once, in order; a batch that runs again replaces its file.",
    keeps="log",
    gaps={
        Promise.FENCE: "a folder cannot refuse a writer; the lease is checked before the rename",
    },
)


class FilesSink:
    """Keeps every emission of one product, batch by batch."""

    guarantee = _GUARANTEE
    waits_for_disk = True

    def __init__(self, path: Path) -> None:
        self.target = f"files {path}"
        self._folder = BatchFolder(path)

    def open(self) -> None:
        """Create the folder."""
        try:
            self._folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._failed(error) from error

    def write(self, batch: StagedBatch) -> Written:
        """Put the batch's file in place; a batch without documents leaves none."""
        try:
            self._folder.put(
                batch.files,
                query_id=batch.query_id,
                batch_id=batch.batch_id,
                check=batch.check,
                after=batch.after,
            )
        except OSError as error:
            raise self._failed(error) from error
        return Written()

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the root keys whose newest line is not a tombstone."""
        newest: dict[str, tuple[int, bool]] = {}
        for row in read_rows(self._folder.standing()):
            if row.version >= newest.get(row.key, (0, False))[0]:
                newest[row.key] = (row.version, row.value is not None)
        yield from (key for key, (_, stands) in newest.items() if stands)

    def last_batch(self, batch: StagedBatch) -> int | None:
        """Return the last batch of the checkpoint that has a file."""
        return self._folder.last_batch(batch.query_id)

    def close(self) -> None:
        """Nothing is held open."""

    def _failed(self, error: OSError) -> SinkError:
        return SinkError(
            f'sink "files" could not write into {self._folder.path}: {error.strerror or error}',
            hint="Choose a writable folder, and make sure its disk has free space.",
        )


@options
class FilesOptions:
    """`{files: {path: out}}`."""

    keeps_all: ClassVar[bool] = True
    path: str = text("The folder; each product gets its own below it.", check=check_path)

    def make(self, product: str, folder: Path) -> FilesSink:
        """Return the sink of a product."""
        return FilesSink(path_in(folder, self.path) / product)

    def target(self, product: str, folder: Path) -> Target:
        """Return the product's folder."""
        return Target("files", str(path_in(folder, self.path)), product)

    def emptied(self, product: str, folder: Path) -> Path | None:
        """Return the product's folder, if it has no file of a batch."""
        held = BatchFolder(path_in(folder, self.path) / product)
        return None if held.path.is_dir() and held.standing() else held.path

    def reader(self, product: str, folder: Path, key: Struct, value: Struct) -> FilesReader:
        """Return what reads the documents of a product."""
        return FilesReader(path_in(folder, self.path) / product)
