"""A project file from a text, and the problems that loading it finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec

HEAD = """\
relations:
  user: {key: [id], fields: {id: long, name: string}}
  star: {key: [id], fields: {id: long, user_id: long, at: timestamp}}
"""
ROOT = HEAD + "products:\n  profile:\n    root: user\n"


def load(folder: Path, text: str, settings: tuple[str, ...] = ()) -> ProjectSpec:
    """Load `text` as a project file."""
    file = folder / "joinery.yaml"
    file.write_text(text, encoding="utf-8")
    return load_spec(file, settings=settings)


def problems(folder: Path, text: str, settings: tuple[str, ...] = ()) -> list[str]:
    """Load a broken file, and return its problems as `line:column code message`."""
    with pytest.raises(ProjectErrors) as caught:
        load(folder, text, settings)
    return [
        f"{each.location.line}:{each.location.column} {each.code} {each.message}"
        for each in caught.value.problems
        if each.location
    ]


def hints(folder: Path, text: str) -> list[str]:
    """Load a broken file, and return the hints."""
    with pytest.raises(ProjectErrors) as caught:
        load(folder, text)
    return [each.hint for each in caught.value.problems]
