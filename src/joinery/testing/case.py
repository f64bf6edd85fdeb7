"""A test case of a project: rows in steps, and what each step must leave or send.

Typed values of what a case writes in YAML: by the declared type, each problem at its place.
"""

from __future__ import annotations

import datetime as dt
import decimal
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joinery.errors import Location
from joinery.model.change import Change
from joinery.model.type import Array, Atomic, DataType, Decimal, Field, Map, Struct
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.stream import Stream
from joinery.project.reader import Reader
from joinery.project.tree import ListTree, MapTree, Scalar, Tree
from joinery.semantics.read_change import typed
from joinery.testing.changes import fits

DELETED = "__deleted"
POSITION = "__position"
_TRUTHS = {"true": True, "false": False}
_DASHED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ]|$)")


@dataclass(frozen=True, slots=True)
class Target:
    """What a case tests: a product, whose documents stand, or a stream, which sends events.

    Attributes:
        plan: The product or stream.
        project: The names of all relations of its project; rows of those that it does not read
            may be given, too, and change nothing.
    """

    plan: Product | Stream
    project: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """`product` or `stream`."""
        return "stream" if isinstance(self.plan, Stream) else "product"

    @property
    def key(self) -> Struct:
        """What identifies a document or an event."""
        return self.plan.key

    @property
    def output(self) -> Struct:
        """What a document or an event shows."""
        return self.plan.output

    @property
    def relations(self) -> Mapping[str, Relation]:
        """Those it reads, by name; those of stores included."""
        plan = self.plan
        found = plan.named_relations if isinstance(plan, Stream) else plan.relations
        return {each.name: each for each in found}

    def __str__(self) -> str:
        return f'{self.kind} "{self.plan.name}"'


@dataclass(frozen=True, slots=True)
class CaseStep:
    """One batch of a case.

    Attributes:
        changes: In the order of the file.
        after: How long after the batch before it, such as `5m`; for streams alone.
        expect: The documents that stand after it, or the events that it sends, as written;
            None where the step expects nothing in particular.
        dead: The dead letters that it must give, as written; none where empty.
        place: Where the step stands.
        until_closed: Whether all logs have ended after it, so that no window stays open.
    """

    changes: Sequence[Change]
    after: str
    expect: ListTree | None
    dead: ListTree
    place: Location
    until_closed: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        name: A sentence.
        target: What it tests.
        steps: At least one.
        place: Where the case stands.
    """

    name: str
    target: Target
    steps: Sequence[CaseStep]
    place: Location

    def __str__(self) -> str:
        return self.name


_WHOLE = ("byte", "short", "int", "long")
_EXAMPLES = {
    "timestamp": "2026-01-31T12:00:00Z",
    "timestamp_ntz": "2026-01-31T12:00:00",
    "date": "2026-01-31",
    "boolean": "true or false",
}


def read_value(reader: Reader, tree: Tree, type_: DataType, path: str, owner: str = "") -> Any:
    """Return the value of `type_` that a part of a case writes.

    An object may leave fields out; they are null. A number, `true` or `false` in the place
    of a text is the text as written.

    Args:
        reader: Takes the problems.
        tree: The part.
        type_: As declared.
        path: To it, as a problem names it, such as `orders[0].amount`.
        owner: What it is of, such as `a row of "order"`.
    """
    if isinstance(tree, Scalar) and tree.value is None:
        return None
    match type_:
        case Struct(fields):
            return _struct(reader, tree, fields, path, owner)
        case Array(element):
            if not isinstance(tree, ListTree):
                reader.shape(tree, _what(path, owner), "a list")
                return []
            return [
                read_value(reader, each, element, f"{path}[{index}]", owner)
                for index, each in enumerate(tree.items)
            ]
        case Map(key, of):
            return _map(reader, tree, key, of, path, owner)
        case Atomic() | Decimal():
            return _simple(reader, tree, type_, _what(path, owner))


def _map(
    reader: Reader, tree: Tree, key: DataType, of: DataType, path: str, owner: str
) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for entry in reader.entries(tree, _what(path, owner)):
        name = read_value(reader, Scalar(entry.name, entry.name), key, path, owner)
        if name is not None and name in found:
            message = f'{_what(path, owner)} has the key "{entry.name}" twice'
            reader.refuse("TEST_CASE", message, entry.place, hint="Remove one of the two.")
        found[name] = read_value(reader, entry.value, of, f"{path}.{entry.name}", owner)
    return found


def _what(path: str, owner: str) -> str:
    return f'"{path}" of {owner}'


def _struct(
    reader: Reader, tree: Tree, fields: tuple[Field, ...], path: str, owner: str
) -> dict[str, Any]:
    types = {each.name: each.type for each in fields}
    found: dict[str, Any] = dict.fromkeys(types)
    for entry in reader.entries(tree, _what(path, owner)):
        if entry.name in types:
            part = f"{path}.{entry.name}"
            found[entry.name] = read_value(reader, entry.value, types[entry.name], part, owner)
        else:
            near = difflib.get_close_matches(entry.name, types, n=1)
            reader.refuse(
                "TEST_CASE",
                f'{_what(path, owner)} has no field "{entry.name}"',
                entry.place,
                detail=f"Its fields are {', '.join(types)}.",
                hint=f'Use "{near[0]}".' if near else "",
            )
    return found


def _simple(reader: Reader, tree: Tree, type_: DataType, what: str) -> Any:
    if isinstance(tree, MapTree | ListTree):
        reader.shape(tree, what, f"a value of type {type_}")
        return None
    try:
        found = typed(_plain(tree, type_), type_)
        fitting = found is not None and fits(found, type_) and not _unread(tree, found)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        fitting = False
    if fitting:
        return found
    example = _EXAMPLES.get(str(type_))
    reader.refuse(
        "TEST_CASE",
        f'{what} cannot be "{tree.text}"',
        tree.mark.value,
        detail=f"It is declared {type_}.",
        hint=f"Write it as {example}." if example else "",
    )
    return None


def _unread(tree: Scalar, found: Any) -> bool:
    """Return whether a run refuses a record with this value.

    That is a decimal of more decimals than its type, and a time that is written without dashes.
    """
    match found:
        case decimal.Decimal():
            return found != decimal.Decimal(tree.text)
        case dt.date():  # or a time
            return not _DASHED.match(tree.text)
        case _:
            return False


def _plain(tree: Scalar, type_: DataType) -> Any:
    """Return what `typed` takes: numbers with a fraction, and texts, as they were written."""
    match type_:
        case Decimal():
            return None if isinstance(tree.value, bool) else tree.text
        case Atomic("string" | "float" | "double"):
            return tree.text
        case Atomic(name) if name in _WHOLE and not tree.mark.raw:
            return int(tree.text)  # a key of a map is a text in YAML, whatever its type
        case Atomic("boolean") if not tree.mark.raw:
            return _TRUTHS.get(tree.text, tree.value)
    return tree.value
