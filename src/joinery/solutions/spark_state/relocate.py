"""Lets a checkpoint be moved: Spark keeps absolute paths of its state's schemas in it.

Invariant: only the folder before `state/` of a path changes, and a file is replaced whole.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

_PATH = re.compile(r'"file:([^"]*)(/state/\d+/_stateSchema/[^"]*)"')


def relocate(checkpoint: Path) -> int:
    """Let the paths that Spark keeps in a checkpoint name the folder where it stands now.

    Args:
        checkpoint: The checkpoint of one query, on a local or mounted file system.

    Returns:
        How many files were rewritten; 0 where the checkpoint was not moved.
    """
    here = json.dumps(f"file:{checkpoint.absolute()}")[:-1]
    moved = 0
    for file in sorted(checkpoint.glob("state/*/_metadata/*/*")):
        if file.name.isdigit():
            text = file.read_text(encoding="utf-8")
            renamed = _PATH.sub(lambda found: f'{here}{found[2]}"', text)
            if renamed != text:
                _replace(file, renamed)
                moved += 1
    return moved


def _replace(file: Path, text: str) -> None:
    """Replace a file of Spark's local file system; its checksum no longer holds."""
    fresh = file.with_name(f".{file.name}.part")
    fresh.write_text(text, encoding="utf-8")
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    fresh.replace(file)
