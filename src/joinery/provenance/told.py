"""How rows and places of logs are named in answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from joinery.model.change import Change, Key, Row
from joinery.plan.nodes import Relation
from joinery.semantics.render import document_json, map_key_text

Files = Mapping[str, Mapping[int, str]]
"""The names of a relation's files, by the number that places have."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names of rows and of records.

    Attributes:
        topics: The topic of each relation.
        files: Of each relation, the files of its topic by their numbers.
    """

    topics: Mapping[str, str] = field(default_factory=dict)
    files: Files = field(default_factory=dict)

    def row(self, relation: Relation, key: Key) -> str:
        """Return how a row is called: `order 7`, `star ["ada","charles"]`."""
        return f"{relation.name} {key_text(relation, key)}"

    def place(self, change: Change) -> str:
        """Return where a record stands: `user/1.jsonl/7`, or `orders/0/1042`."""
        topic = self.topics.get(change.relation, change.relation)
        if change.place is None:
            return topic
        major, minor = change.place
        part = self.files.get(change.relation, {}).get(major, str(major))
        return f"{topic}/{part}/{minor}"

    def columns(self, relation: Relation, row: Row, names: Iterable[str]) -> str:
        """Return the values of those columns that a relation has: `price = 3, city = "Ulm"`."""
        own = [each.name for each in relation.row.fields if each.name in set(names)]
        return self.pairs(relation, row, own)

    def pairs(self, relation: Relation, row: Row, columns: Sequence[str]) -> str:
        """Return the values of columns: `price = 3, city = "Ulm"`."""
        return ", ".join(
            f"{name} = {document_json(row[name], relation.type_of(name))}" for name in columns
        )


def key_text(relation: Relation, key: Key) -> str:
    """Return a key as commands take it: its text, or the JSON array of several columns."""
    return map_key_text(key, [relation.type_of(column) for column in relation.key])


def key_named(relation: Relation, keys: Iterable[Key], text: str) -> Key | None:
    """Return the key that a text names, of those that are known; None for none of them.

    Args:
        relation: Whose keys they are.
        keys: Those that are known.
        text: The text of one column; of several their JSON array, or their texts with commas.
    """
    plain = "".join(text.split()) if text.lstrip().startswith("[") else None
    for key in keys:
        told = key_text(relation, key)
        if text == told or (plain is not None and plain == "".join(told.split())):
            return key
        if len(key) > 1 and text == ",".join(
            map_key_text([value], [relation.type_of(column)])
            for column, value in zip(relation.key, key, strict=True)
        ):
            return key
    return None
