"""Lets a checkpoint be moved: Spark keeps absolute paths of its state's schemas in it.

Invariant: only the folder before `state/` of a path changes, and a file is replaced whole.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from joinery.files import write_whole
from joinery.place.place import Place, matching

_PATH = re.compile(r'"(?:file|s3a|hdfs):([^"]*)(/state/\d+/_stateSchema/[^"]*)"')


def relocate(checkpoint: Place) -> int:
    """Let the paths that Spark keeps in a checkpoint name the folder where it stands now.

    Args:
        checkpoint: The checkpoint of one query.

    Returns:
        How many files were rewritten; 0 where the checkpoint was not moved.
    """
    at = f"file:{checkpoint.absolute()}" if isinstance(checkpoint, Path) else str(checkpoint)
    here, moved = json.dumps(at)[:-1], 0
    for file in matching(checkpoint, "state/*/_metadata/*/*"):
        if file.name.isdigit():
            text = file.read_text(encoding="utf-8")
            renamed = _PATH.sub(lambda found: f'{here}{found[2]}"', text)
            if renamed != text:
                replace_file(file, renamed)
                moved += 1
    return moved


def replace_file(file: Place, text: str) -> None:
    """Replace a file of Spark's local file system; its checksum no longer holds."""
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    write_whole(file, text, synced=False)
