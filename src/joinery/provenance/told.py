"""How rows and places of logs are named in answers."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from joinery.expression.literal import timestamp_of
from joinery.model.change import Change, Key, Row
from joinery.model.type import WHOLE_NUMBERS, DataType
from joinery.plan.relation import Relation
from joinery.provenance.live_rows import Record
from joinery.semantics.render import document_json, map_key_text

_DECODE = json.JSONDecoder(parse_float=Decimal).decode
_RESPELLED = (Decimal, float, datetime)
"""What has several spellings."""

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
        return called(relation.name, key_text(relation, key))

    def place(self, change: Change | Record) -> str:
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


def called(relation: str, key: str) -> str:
    """Return how a row is called by its key; one of a log without key has the relation's name.

    Example:
        >>> called("order", "7"), called("view", "")
        ('order 7', 'view')
    """
    return f"{relation} {key}" if key else relation


def file_names(files: Mapping[str, Mapping[int, Path]]) -> dict[str, dict[int, str]]:
    """Return the names of files, which stand in the folders of their topics."""
    return {
        name: {number: path.name for number, path in listed.items()}
        for name, listed in files.items()
    }


def key_text(relation: Relation, key: Key) -> str:
    """Return a key as commands take it: its text, or the JSON array of several columns.

    It is empty for the rows of a log without key, which only their places tell apart.
    """
    if not relation.key:
        return ""
    return asked_text(key, [relation.type_of(column) for column in relation.key])


def asked_text(values: Sequence[Any], types: Sequence[DataType]) -> str:
    """Return the values of a key as commands take them; an empty text is an array, to be seen.

    Example:
        >>> from joinery.model.type import STRING
        >>> asked_text(["a"], [STRING]), asked_text([""], [STRING])
        ('a', '[""]')
    """
    return map_key_text(values, types) or '[""]'


def keys_named(relation: Relation, keys: Collection[Key], text: str) -> list[Key]:
    """Return the keys that a text names, of those that are known.

    Commas in their values may have it name several; the one of this very text then counts alone.

    Args:
        relation: Whose keys they are.
        keys: Those that are known.
        text: As `names_key` takes it.
    """
    types = [relation.type_of(column) for column in relation.key]
    own = next((each for each in keys if map_key_text(each, types) == text), None)
    if own is not None:
        return [own]
    return [each for each in keys if names_key(text, each, types)]


def is_part_of_key(relation: Relation, text: str) -> bool:
    """Return whether a text has too few values for a key of several columns.

    Args:
        relation: Whose key is meant.
        text: As `names_key` takes it.

    Example:
        >>> from joinery.model.type import STRING, Field
        >>> columns = (Field("owner", STRING), Field("name", STRING))
        >>> repo = Relation("repo", "s", "repo", "json", ("owner", "name"), columns)
        >>> [is_part_of_key(repo, text) for text in ("ada", '["ada"]', "ada,x", '["ada","x"]')]
        [True, True, False, False]
    """
    told = _values_in(text)
    count = text.count(",") + 1 if told is None else len(told)
    return count < len(relation.key)


def _values_in(text: str) -> Sequence[Any] | None:
    """Return the values of a JSON array; None for another text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        return list(_DECODE(text))
    except ValueError:
        return None


def keys_meant(relation: Relation, text: str) -> list[Key] | None:
    """Return the keys that a text may name; None where only those that are known tell that.

    Args:
        relation: Whose keys they are.
        text: As `names_key` takes it.
    """
    types = [str(relation.type_of(column)) for column in relation.key]
    if any(each != "string" and each not in WHOLE_NUMBERS for each in types):
        return None
    found: list[Key] = []
    parts = text.split(",") if len(types) > 1 else [text]
    if len(parts) == len(types):
        values = tuple(map(_meant, parts, types))
        found += [] if None in values else [values]
    if (told := _values_in(text)) is not None:
        wanted = [str if each == "string" else int for each in types]
        found += [tuple(told)] if [type(each) for each in told] == wanted else []
    return found if found or len(types) == 1 else None


def _meant(text: str, kind: str) -> str | int | None:
    if kind == "string":
        return text
    return int(text) if re.fullmatch(r"0|-?[1-9][0-9]*", text, re.ASCII) else None


def json_values(values: Sequence[Any], types: Sequence[DataType]) -> list[Any]:
    """Return the values of a key as its JSON text gives them."""
    return [
        _DECODE(document_json(value, type_)) for value, type_ in zip(values, types, strict=True)
    ]


def names_values(told: Sequence[Any], values: Sequence[Any], types: Sequence[DataType]) -> bool:
    """Return whether the values of a JSON array are those of a key, however they are spelled."""
    return len(told) == len(values) and all(
        each == own or (isinstance(each, str) and _reads(each, value))
        for each, own, value in zip(told, json_values(values, types), values, strict=True)
    )


def names_texts(texts: Sequence[str], values: Sequence[Any], types: Sequence[DataType]) -> bool:
    """Return whether texts are those of a key's values, a number or a time spelled otherwise."""
    if len(texts) != len(values) or not any(isinstance(each, _RESPELLED) for each in values):
        return False
    return all(
        each == map_key_text([value], [type_]) or _reads(each, value)
        for each, value, type_ in zip(texts, values, types, strict=True)
    )


def _reads(text: str, value: Any) -> bool:
    """Return whether a text spells a number or a time as the log does not: `0` for `0.00`."""
    try:
        match value:
            case Decimal() | float():
                return Decimal(text) == Decimal(str(value))
            case datetime(tzinfo=None):
                return datetime.fromisoformat(text) == value
            case datetime():
                return timestamp_of(text) == value
            case _:
                return False
    except (ValueError, ArithmeticError, TypeError):
        return False


def names_key(text: str, values: Sequence[Any], types: Sequence[DataType]) -> bool:
    """Return whether a text names a key.

    Args:
        text: The JSON array of its values, or their texts with commas; of a number or a time in
            any spelling.
        values: Those of the key.
        types: Of its columns.

    Example:
        >>> from joinery.model.type import LONG, STRING
        >>> from joinery.model.type import Decimal as DecimalType
        >>> [names_key(text, [7, "a"], [LONG, STRING]) for text in ("7,a", '[7, "a"]', "7")]
        [True, True, False]
        >>> [names_key(text, [""], [STRING]) for text in ("", '[""]', "null")]
        [True, True, False]
        >>> price = [Decimal("0.00")], [DecimalType(6, 2)]
        >>> [names_key(text, *price) for text in ("0", "[0.0]", "1")]
        [True, True, False]
    """
    each = (map_key_text([value], [type_]) for value, type_ in zip(values, types, strict=True))
    if text == map_key_text(values, types) or (values and text == ",".join(each)):
        return True
    if (told := _values_in(text)) is not None:
        return names_values(told, values, types)
    return names_texts(text.split(",") if len(types) > 1 else [text], values, types)
