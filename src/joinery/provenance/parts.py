"""The rows that a document is made of, each with the part of the document that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from joinery.model.change import Key, Row
from joinery.plan.node import Node
from joinery.semantics.assemble import Assembled, Assembler, Gathered
from joinery.semantics.render import map_key_text
from joinery.semantics.rows import JoinValue, Matching, values_reader

ROOT = "(root)"


@dataclass(frozen=True, slots=True)
class Level:
    """One embed of one row of a document.

    Attributes:
        path: The part of the document: `orders[0].items`.
        above: That of the row above: `orders[0]`; empty for the root.
        node: The embed.
        parent: The row above.
        joins_on: What it joins on; None where a column is null.
        gathered: What it found, with what it keeps back.
        assembler: Of the embed.
        shown: Whether the document shows the row above.
    """

    path: str
    above: str
    node: Node
    parent: Row
    joins_on: JoinValue | None
    gathered: Gathered
    assembler: Assembler
    shown: bool

    @property
    def most(self) -> int | None:
        """How many objects it shows; None for all."""
        return 1 if self.node.cardinality == "one" else self.node.limit

    def objects(self) -> Iterator[tuple[str, Assembled, bool]]:
        """Yield each object with its path, and whether the document shows it."""
        for place, each in enumerate(self.gathered.objects):
            shown = self.shown and (self.most is None or place < self.most)
            yield self._path(place, each), each, shown

    def _path(self, place: int, each: Assembled) -> str:
        if self.node.cardinality == "one":
            return self.path
        if not self.node.keyed:
            return f"{self.path}[{place}]"
        relation = self.node.relation
        types = [relation.type_of(column) for column in relation.key]
        return f"{self.path}[{map_key_text(key_of(self.node, each.row), types)}]"


def key_of(node: Node, row: Row) -> Key:
    """Return the key of a row of a node."""
    key: Key = values_reader(node.relation.key)(row)
    return key


def levels(assembler: Assembler, root: Row, rows: Matching) -> Iterator[Level]:
    """Yield all embeds of all rows of a document, from the top."""
    yield from _below(assembler, "", root, rows, shown=True)


def _below(
    assembler: Assembler, path: str, row: Row, rows: Matching, *, shown: bool
) -> Iterator[Level]:
    for below, value, gathered in assembler.below(row, rows):
        name = f"{path}.{below.node.name}" if path else below.node.name
        level = Level(name, path, below.node, row, value, gathered, below, shown)
        yield level
        for at, each, is_shown in level.objects():
            yield from _below(below, at, each.row, rows, shown=is_shown)
