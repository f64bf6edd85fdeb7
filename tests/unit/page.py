"""A page of the docs: its text, its blocks of code by their words, and the projects in them."""

from __future__ import annotations

import re
from pathlib import Path

import joinery as jn

DOCS = Path(__file__).parents[2] / "docs"


class Page:
    """What a page shows.

    Attributes:
        text: All of it.
        found: Its blocks in order, each with the words behind its fence.
        blocks: The first block under each such words.
    """

    def __init__(self, name: str) -> None:
        self.text = (DOCS / name).read_text(encoding="utf-8")
        self.found: list[tuple[str, str]] = re.findall(
            r"^```(\w[\w ]*)\n(.*?)^```", self.text, re.DOTALL | re.MULTILINE
        )
        self.blocks = dict(reversed(self.found))

    def lines(self, block: str) -> list[str]:
        """Return the lines of a block."""
        return self.blocks[block].splitlines()

    def written(self, folder: Path, block: str = "yaml") -> Path:
        """Return the project file of a block, written into a folder."""
        file = folder / "joinery.yaml"
        file.write_text(self.blocks[block], encoding="utf-8")
        return file

    def declared(self) -> jn.Project:
        """Return the project that the page's Python declares."""
        names: dict[str, object] = {}
        exec(self.blocks["python"], names)
        project = names["project"]
        assert isinstance(project, jn.Project)
        return project
