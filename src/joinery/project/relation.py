"""A relation, keyed rows maintained by a changelog: its keys, each declared once.

`key` and `fields` have to be there but where `append` or `product` says otherwise, so the reader
asks for them, and the writer puts them first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from joinery.project.kind import FORMAT
from joinery.project.mark import Path
from joinery.project.part import Part, keys_of, made_of, nested, part, part_data, read_part
from joinery.project.part import key as keyed  # where a field is named key
from joinery.project.reader import Reader
from joinery.project.stream import ClocksSpec, WatermarkSpec
from joinery.project.tree import Entry, ListTree, MapTree, Tree
from joinery.project.value import (
    COLUMNS,
    EXPRESSION,
    FLAG,
    NAMES,
    SOME_NAMES,
    TEXT,
    At,
    Pairs,
    Value,
    named,
    one_of,
    read_type,
)

_OF_PRODUCT = ("product", "derive", "where", "time", "watermark")
"""The keys of a relation that is a product: its columns, its key and their order are there."""
_RESERVED_COLUMNS = ("__op", "__position", "__deleted")
_PERSONAL_HINT = "Write {subject: id, fields: [email]}."


@part
class PersonalSpec(Part):
    """Which columns of a relation are a person's own.

    Attributes:
        subject: The column that says whose they are.
        fields: The columns.
        join: Those of them that relations may be joined on.
    """

    subject: str = keyed(
        TEXT,
        "The column that says whose the values are, such as the key.",
        hint=_PERSONAL_HINT,
    )
    fields: tuple[str, ...] = keyed(
        NAMES, "The columns that are sealed when they are decoded.", hint=_PERSONAL_HINT
    )
    join: tuple[str, ...] = keyed(
        NAMES,
        "Those of them that relations may be joined on, by a blind index.",
        default=(),
    )


def _read_columns(at: At, tree: Tree) -> Pairs:
    entries = at.reader.entries(tree, at.part)
    return tuple((each.name, _read_column(at, each)) for each in entries)


def _read_column(at: At, entry: Entry) -> str:
    if entry.name in _RESERVED_COLUMNS or entry.name.startswith("__agg_") or not entry.name:
        at.reader.output_name(entry.name, "a field", entry.place)
    return read_type(at.reader, entry, at.what)


def _read_unique(at: At, tree: Tree) -> tuple[tuple[str, ...], ...]:
    if not isinstance(tree, ListTree):
        at.reader.shape(tree, at.part, "a list of lists", "Write [[column]].")
        return ()
    return tuple(at.reader.texts(item, at.part) for item in tree.items)


def _read_time(at: At, tree: Tree) -> str | ClocksSpec:
    if isinstance(tree, MapTree):
        return read_part(at.reader, tree, at.part, ClocksSpec)
    return at.reader.text(tree, at.part)


_FIELDS = replace(COLUMNS, read=_read_columns)
_UNIQUE = Value(
    {"type": "array", "items": NAMES.fragment},
    _read_unique,
    lambda unique: [list(each) for each in unique],
)
_TIME = Value(
    {"anyOf": [{**TEXT.fragment, "description": "The column."}, {"$ref": "#/$defs/clocks"}]},
    _read_time,
    lambda time: part_data(time) if isinstance(time, ClocksSpec) else time,
)


@part
class RelationSpec(Part):
    """Keyed rows maintained by a changelog; `fields` are names and Spark DDL types.

    Attributes:
        key: Empty, as `fields` are, where `product` has them.
        append: True for a log of events, whose rows never change; its key may be empty.
        time: The column that tells when an event was, or from when a version is valid; or the
            columns of three clocks that tell it together.
        product: The product of the same query that is read, in place of a topic.
        personal: The columns that are sealed when they are decoded; None where none are.
    """

    name: str
    topic: str | None = keyed(
        TEXT,
        "The topic, or `pattern:` and a regular expression; by default the relation's name.",
        default=None,
    )
    source: str | None = keyed(
        TEXT,
        "The name of its source; by default that of `defaults`, or the only one.",
        default=None,
    )
    format: str | None = keyed(
        FORMAT, "What a message looks like; by default that of `defaults`.", default=None
    )
    key: tuple[str, ...] = keyed(SOME_NAMES, "The primary key's columns, in order.", default=())
    fields: Pairs = keyed(_FIELDS, "The columns and their Spark DDL types.", default=())
    derive: Pairs = keyed(
        named("a derived column"),
        "Computed columns, usable wherever columns are, but not in `key`.",
        default=(),
    )
    position: str | None = keyed(
        TEXT,
        "The column that orders the changes of a key; by default the format's own position.",
        default=None,
    )
    time_unit: Literal["micros", "millis", "nanos"] = keyed(
        one_of(("micros", "millis", "nanos")),
        "The unit of timestamps that arrive as numbers without a schema.",
        default="micros",
    )
    images: Literal["full", "key"] = keyed(
        one_of(("full", "key")),
        "What `before` holds: a hint for the plan, never needed to be right.",
        default="full",
    )
    unique: tuple[tuple[str, ...], ...] = keyed(
        _UNIQUE,
        "Sets of columns that identify a row: the plan may treat them as keys.",
        default=(),
    )
    where: str | None = keyed(
        EXPRESSION, "Rows for which it is not true do not exist for products.", default=None
    )
    append: bool = keyed(
        FLAG,
        "A log of events: rows are inserted and never change, and `key` may be left out.",
        default=False,
    )
    time: str | ClocksSpec | None = keyed(
        _TIME,
        "The column with the time of an event, or the time from which a row is valid; or three"
        " clocks.",
        default=None,
    )
    watermark: WatermarkSpec | None = keyed(
        nested(WatermarkSpec, "watermark"), "How late a row may be in event time.", default=None
    )
    personal: PersonalSpec | None = keyed(
        nested(PersonalSpec, "personal"),
        "The columns that are a [person's own](erasure.md).",
        default=None,
    )
    product: str | None = keyed(
        TEXT,
        "Instead of `key` and `fields`: the product of the same query that is read as a relation.",
        default=None,
    )


def read_relation(reader: Reader, entry: Entry, path: Path) -> RelationSpec:
    """Return the relation that an entry of `relations` declares."""
    what, tree = f'relation "{entry.name}"', entry.value
    reader.folder_name(entry.name, "a relation", entry.place)
    if not isinstance(tree, MapTree):
        reader.shape(tree, what, "a map")
        return RelationSpec(entry.name)
    parts = reader.named(tree, what, keys_of(RelationSpec))
    if "product" in parts:
        parts = _of_product(reader, entry, parts, what)
    made = made_of(reader, parts, what, RelationSpec, path, place=entry.place, name=entry.name)
    needed = () if "product" in parts else ("fields",) if made.append else ("key", "fields")
    for name in (each for each in needed if each not in parts):
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "{name}"', entry.place)
    return made


def _of_product(
    reader: Reader, entry: Entry, parts: Mapping[str, Tree], what: str
) -> Mapping[str, Tree]:
    """Return the keys of a relation whose rows are what a product is sent as; refuse others."""
    for name in (each for each in parts if each not in _OF_PRODUCT):
        hint = f"Its keys are {', '.join(_OF_PRODUCT)}."
        message = f'{what} is a product, and cannot have "{name}"'
        reader.refuse("SPEC_VALUE", message, parts[name].mark.key or entry.place, hint=hint)
    kept = {name: parts[name] for name in parts if name in _OF_PRODUCT}
    if isinstance(time := kept.get("time"), MapTree):
        reader.text(time, f'"time" of {what}')
        del kept["time"]
    return kept


def relation_data(spec: RelationSpec) -> dict[str, Any]:
    """Return a relation as the map under its name, what its rows are first."""
    first: dict[str, Any] = {"product": spec.product}
    if spec.product is None:
        first = {"key": list(spec.key)} if spec.key else {}
        first["fields"] = dict(spec.fields)
    return first | part_data(spec)
