"""A sink that keeps each current document as one JSON file.

Invariant: a file holds the newest version its key was given; a delete leaves a file without
a document, so that an older document cannot come back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from joinery.connect.line import DocumentLine, read_lines
from joinery.connect.option import check_names, path_option
from joinery.connect.protocol import StagedBatch


class FolderSink:
    """The documents of one product, a file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> None:
        """Create the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def write(self, batch: StagedBatch) -> None:
        """Replace the files of the batch's documents, each by rename."""
        for line in read_lines(batch.files):
            file = self._folder / f"{_name(line)}.json"
            if _version(file) < line.version:
                part = file.with_suffix(".part")
                part.write_text(_text(line), encoding="utf-8")
                batch.check()
                part.replace(file)

    def close(self) -> None:
        """Nothing is held open."""


def folder_sink(product: str, options: Mapping[str, object], folder: Path) -> FolderSink:
    """Make the sink `{folder: {path: …}}`: the object behind the entry point."""
    check_names("folder", options, ("path",))
    return FolderSink(path_option("folder", options, folder) / product)


def _name(line: DocumentLine) -> str:
    return quote(",".join(str(value) for value in line.key.values()), safe="@,")


def _text(line: DocumentLine) -> str:
    return f'{{"version":{line.version},"document":{line.document or "null"}}}\n'


def _version(file: Path) -> int:
    if not file.is_file():
        return -1
    version: int = json.loads(file.read_text(encoding="utf-8"))["version"]
    return version
