"""What reads the dead letters of a folder, wherever that is."""

from __future__ import annotations

from pathlib import Path

from joinery.dead_letters.folder import DeadLetterFolderReader
from joinery.dead_letters.remote import RemoteDeadLettersReader
from joinery.place.place import Place

SizedReader = DeadLetterFolderReader | RemoteDeadLettersReader
"""Both tell how many bytes there are, before anything is read."""


def folder_reader(folder: Place) -> SizedReader:
    """Return what reads the dead letters of a folder."""
    if isinstance(folder, Path):
        return DeadLetterFolderReader(folder)
    return RemoteDeadLettersReader(folder)
