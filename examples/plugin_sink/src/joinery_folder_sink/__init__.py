"""A sink that keeps each current document as one JSON file.

Invariant: a file holds the newest version its key was given; a delete leaves a file without
a document, so that an older document cannot come back.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from joinery.project.option import Target, options, path_in, text
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Guarantee, Promise, StagedBatch, Written

_GUARANTEE = Guarantee(
    summary="A file holds the newest document of its key.",
    gaps={
        Promise.FENCE: "a folder cannot refuse a writer; the lease is checked before each rename",
        Promise.ATOMIC: "files are replaced one after the other",
    },
)


class FolderSink:
    """The documents of one product, a file each."""

    guarantee = _GUARANTEE

    def __init__(self, folder: Path) -> None:
        self.target = f"folder {folder}"
        self._folder = folder

    def open(self) -> None:
        """Create the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def write(self, batch: StagedBatch) -> Written:
        """Replace the files of the batch's documents, each by rename."""
        for row in read_rows(batch.files):
            file = self._folder / f"{_name(row)}.json"
            if _version(file) < row.version:
                part = file.with_suffix(".part")
                part.write_text(_text(row), encoding="utf-8")
                batch.check()
                part.replace(file)
        return Written()

    def close(self) -> None:
        """Nothing is held open."""


@options
class FolderOptions:
    """`{folder: {path: documents}}`: the object behind the entry point."""

    path: str = text("The folder; each product gets its own below it.")

    def make(self, product: str, folder: Path) -> FolderSink:
        """Return the sink of a product."""
        return FolderSink(path_in(folder, self.path) / product)

    def target(self, product: str, folder: Path) -> Target:
        """Return the product's folder."""
        return Target("folder", str(path_in(folder, self.path)), product)


def _name(row: StagedRow) -> str:
    return quote(",".join(str(value) for value in row.key_values().values()), safe="@,")


def _text(row: StagedRow) -> str:
    return f'{{"version":{row.version},"document":{row.value or "null"}}}\n'


def _version(file: Path) -> int:
    if not file.is_file():
        return -1
    version: int = json.loads(file.read_text(encoding="utf-8"))["version"]
    return version
