"""The project that a case declares, from its text."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec

_HEAD = """
name: conformance
sources: {changes: {files: {path: in}}}
defaults: {source: changes, format: json}
"""


@lru_cache(maxsize=1024)
def load_text(text: str) -> ProjectSpec:
    """Return the project of a file's text, without its source and its name.

    Cases that share a text share it, and each store is examined with the same cases.

    Raises:
        ProjectErrors: The text declares no project.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "joinery.yaml"
        file.write_text(_HEAD + text, encoding="utf-8")
        return load_spec(file)
