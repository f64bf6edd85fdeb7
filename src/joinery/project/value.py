"""What a key of the project file may hold, sort by sort.

A sort is read with the place of each problem, written back as a user would write it, and told to
editors as JSON Schema: once, for all keys of the sort.

Invariant: what was written reads as the value that was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from joinery.model.type import TypeTextError, parse_type
from joinery.project.mark import Locations, Path
from joinery.project.quantity import duration_text, micros_text, offset_text, size_text
from joinery.project.reader import Reader
from joinery.project.tree import Entry, ListTree, MapTree, Scalar, Tree
from joinery.project.window import Within

Fragment = Mapping[str, Any]
Pairs: TypeAlias = tuple[tuple[str, str], ...]

_EQUATION = re.compile(r"\s*(?:\w+\.)?(\w+)\s*==?\s*(?:\w+\.)?(\w+)\s*")
_SQL_ORDER = re.compile(r"(.*\S)\s+(asc|desc)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class OrderSpec:
    """One entry of an `order`."""

    expression: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class At:
    """Where a value is read.

    Attributes:
        reader: Takes the problems.
        name: The key that has it.
        what: What has the key, for the problems.
        path: The value's place in the declaration.
    """

    reader: Reader
    name: str
    what: str
    path: Path = ()

    @property
    def part(self) -> str:
        """The value, for the problems; with nothing that has the key, the key alone."""
        return f'"{self.name}" of {self.what}' if self.what else f'"{self.name}"'


@dataclass(frozen=True, slots=True)
class Value:
    """One sort of values.

    Attributes:
        fragment: Its JSON Schema.
        read: Returns the value of a tree; notes what is wrong, and returns a stand-in then.
        write: Returns the value as a file holds it.
        empty: What stands in where a key that is needed is lacking.
        refers: It is the name of a relation, a product or a stream that is read.
    """

    fragment: Fragment
    read: Callable[[At, Tree], Any]
    write: Callable[[Any], Any] = lambda value: value
    empty: Any = ()
    refers: bool = False

    def told(self, **more: Any) -> Value:
        """Return the sort with more of its JSON Schema, such as `examples`."""
        return replace(self, fragment={**self.fragment, **more})


def _ref(name: str) -> Fragment:
    return {"$ref": f"#/$defs/{name}"}


def fields_data(pairs: Pairs) -> list[Any] | dict[str, Any]:
    """Return fields as a list while names stand for themselves, else as a map or a mix."""
    if len({name for name, _ in pairs}) == len(pairs) and all(name != text for name, text in pairs):
        return dict(pairs) if pairs else []
    return [name if name == text else {name: text} for name, text in pairs]


def on_data(pairs: Pairs) -> list[str] | dict[str, str]:
    """Return the pairs of an `on` as a list where the names agree."""
    if all(child == parent for child, parent in pairs):
        return [child for child, _ in pairs]
    return dict(pairs)


def options_data(options: tuple[tuple[str, object], ...]) -> dict[str, Any]:
    """Return the options of a kind as a map."""
    return {name: _option_data(value) for name, value in options}


def _option_data(value: object) -> object:
    """Return an option as data; a tuple of named pairs was a map."""
    if not isinstance(value, tuple):
        return value
    if value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        return {name: _option_data(each) for name, each in value}
    return [_option_data(each) for each in value]


def within_data(within: Within) -> list[str]:
    """Return how far times may be apart, as a list of two."""
    return [offset_text(within.from_us), offset_text(within.to_us)]


def elapsed_data(micros: int) -> str:
    """Return a length of time in the largest unit that tells it exactly."""
    return micros_text(micros) if micros else "0s"


def read_fields(at: At, tree: Tree) -> Pairs:
    """Return names and expressions: from one map, or from a list of names and maps."""
    reader, part = at.reader, at.part
    if reader.mistaken_map(tree, part):
        return ()
    if isinstance(tree, MapTree):
        return _field_map(at, tree)
    if not isinstance(tree, ListTree):
        reader.shape(tree, part, "a list or a map", f"Write [{tree.text}].")
        return ()
    pairs: list[tuple[str, str]] = []
    for item in tree.items:
        if isinstance(item, MapTree):
            pairs += _field_map(at, item)
        else:
            name = reader.text(item, f"an entry of {part}")
            reader.output_name(name or "field", "a field", item.mark.value)
            reader.alias((*at.path, name), item)
            pairs.append((name, name))
    return tuple(pairs)


def _field_map(at: At, tree: MapTree) -> Pairs:
    for entry in tree.entries:
        at.reader.output_name(entry.name, "a field", entry.place)
        at.reader.alias((*at.path, entry.name), entry.value, entry.place)
    return at.reader.pairs(tree, at.part)


def _some_fields(at: At, tree: Tree) -> Pairs:
    fields = read_fields(at, tree)
    if not fields and isinstance(tree, ListTree | MapTree):
        at.reader.refuse("SPEC_SHAPE", f"{at.part} does not name a column", tree.mark.value)
    return fields


def read_on(at: At, tree: Tree) -> Pairs:
    """Return child and parent columns: from a map, or from a list where the names agree."""
    reader, part = at.reader, at.part
    if reader.mistaken_map(tree, part):
        return ()
    if isinstance(tree, ListTree):
        names = reader.texts(tree, part)
        for name, item in zip(names, tree.items, strict=False):
            reader.alias((*at.path, name), item)
        pairs: Pairs = tuple((name, name) for name in names)
    elif isinstance(tree, MapTree):
        entries = reader.entries(tree, part)
        pairs = tuple((each.name, reader.text(each.value, part)) for each in entries)
    else:
        reader.shape(tree, part, "a map or a list", _on_hint(tree.text))
        return ()
    if not pairs:
        reader.refuse("SPEC_SHAPE", f"{part} does not name a column", tree.mark.value)
    return pairs


def _on_hint(written: str) -> str:
    """Return how to write an `on` that was written as one text, such as SQL's equation."""
    if equation := _EQUATION.fullmatch(written):
        return f"Write {{{equation[1]}: {equation[2]}}}."
    return f"Write [{written}]." if written else ""


def read_within(at: At, tree: Tree) -> Within:
    """Return how far times may be apart, from a list of two."""
    reader, part = at.reader, at.part
    if not isinstance(tree, ListTree) or len(tree.items) != 2:
        reader.shape(tree, part, "a list of two durations", "Write one such as [0s, 30m].")
        return Within(0, 0)
    first, last = (reader.offset_us(each, f"an end of {part}") for each in tree.items)
    if first > last:
        hint = "Write the earlier end first."
        reader.refuse("SPEC_VALUE", f"{part} does not contain a time", tree.mark.value, hint=hint)
    return Within(first, last)


def _order(at: At, tree: Tree) -> tuple[OrderSpec, ...]:
    """Return what rows are sorted by; `-` in front is descending."""
    return tuple(_order_key(at.reader, item, at.part) for item in at.reader.items(tree, at.part))


def _order_key(reader: Reader, tree: Tree, part: str) -> OrderSpec:
    if isinstance(tree, Scalar) and not isinstance(tree.value, str) and tree.text:
        reader.shape(tree, f"an entry of {part}", "a column or an expression")
        return OrderSpec("")
    text = reader.expression(tree, f"an entry of {part}").strip()
    if spelled := _SQL_ORDER.fullmatch(text):
        sign = "-" if spelled[2].lower() == "desc" else ""
        message, hint = f'an entry of {part} cannot be "{text}"', f"Write {sign}{spelled[1]}."
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
        return OrderSpec("")
    return OrderSpec(text[1:].strip(), True) if text.startswith("-") else OrderSpec(text)


def _order_data(order: Sequence[OrderSpec]) -> list[str]:
    return [f"-{each.expression}" if each.descending else each.expression for each in order]


def _names(at: At, tree: Tree) -> tuple[str, ...]:
    return at.reader.texts(tree, at.part)


def _some_names(at: At, tree: Tree) -> tuple[str, ...]:
    names = _names(at, tree)
    if not names and isinstance(tree, ListTree):
        at.reader.refuse("SPEC_SHAPE", f"{at.part} does not name a column", tree.mark.value)
    return names


def named(noun: str) -> Value:
    """Return names and expressions, where each name becomes a `noun`."""

    def read(at: At, tree: Tree) -> Pairs:
        for entry in at.reader.entries(tree, at.part):
            at.reader.output_name(entry.name, noun, entry.place)
        return at.reader.pairs(tree, at.part) if isinstance(tree, MapTree) else ()

    return Value(_ref("expressions"), read, dict)


def read_type(reader: Reader, entry: Entry, what: str) -> str:
    """Return the DDL text of a column's type; `what` is whose column it is."""
    part = f'field "{entry.name}" of {what}'
    if not (isinstance(entry.value, Scalar) and isinstance(entry.value.value, str)):
        hint = "Put a type with commas in quotes." if _cut_by_comma(entry) else ""
        reader.shape(entry.value, part, "a type", hint)
        return "string"
    return entry.value.value if is_type(reader, entry.value, entry.value.value, part) else "string"


def is_type(reader: Reader, tree: Tree, text: str, part: str) -> bool:
    """Return whether a text, which `tree` begins with, is the DDL of a type; note why not."""
    try:
        parse_type(text)
    except TypeTextError as error:
        place = Locations({(): tree.mark}).within((), error.offset)
        hint = "Put a type with commas in quotes." if _unclosed(text) else error.hint
        message = f"{part}: {error.message}"
        reader.refuse(error.code, message, place, detail=error.detail, hint=hint)
        return False
    return True


def _cut_by_comma(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and entry.name.rstrip().endswith((")", ">"))


def _unclosed(text: str) -> bool:
    """Say whether a flow map has cut `decimal(10,2)` or `struct<a: int, …>` at its comma."""
    return text.count("(") > text.count(")") or text.count("<") > text.count(">")


def read_columns(at: At, tree: Tree) -> Pairs:
    """Return new columns and their types."""
    entries = at.reader.entries(tree, at.part)
    for each in entries:
        at.reader.output_name(each.name, "a column", each.place)
    if not entries:
        at.reader.refuse("SPEC_SHAPE", f"{at.part} does not name a column", tree.mark.value)
    return tuple((each.name, read_type(at.reader, each, at.what)) for each in entries)


def _group(at: At, tree: Tree) -> str:
    name = at.reader.text(tree, at.part)
    if name:
        at.reader.folder_name(name, "a group", tree.mark.value)
    return name


TEXT = Value({"type": "string"}, lambda at, tree: at.reader.text(tree, at.part), empty="")
OTHER = replace(TEXT, refers=True)
GROUP = replace(TEXT, read=_group)
FLAG = Value({"type": "boolean"}, lambda at, tree: at.reader.flag(tree, at.part))
RATE = Value(
    {"type": "number", "exclusiveMinimum": 0}, lambda at, tree: at.reader.rate(tree, at.part)
)
DURATION = Value(
    _ref("duration"),
    lambda at, tree: at.reader.duration_ms(tree, at.part),
    lambda milliseconds: duration_text(milliseconds) if milliseconds else "0s",
    empty=0,
)
SIZE = Value(_ref("size"), lambda at, tree: at.reader.size_bytes(tree, at.part), size_text, empty=1)
ELAPSED = Value(
    _ref("span"), lambda at, tree: at.reader.elapsed_us(tree, at.part), elapsed_data, empty=0
)
SPAN = Value(
    _ref("span"),
    lambda at, tree: at.reader.elapsed_us(tree, at.part, least=1),
    elapsed_data,
    empty=1,
)
WITHIN = Value(_ref("within"), read_within, within_data, empty=Within(0, 0))
EXPRESSION = Value(
    _ref("expression"), lambda at, tree: at.reader.expression(tree, at.part), empty=""
)
EXPRESSIONS = Value(_ref("expressions"), lambda at, tree: at.reader.pairs(tree, at.part), dict)
PLAIN = replace(EXPRESSIONS, fragment={"type": "object"})
NEW_COLUMNS = named("a column")
VALUES = named("a value")
FIELDS = Value(_ref("fields"), read_fields, fields_data)
SOME_FIELDS = replace(FIELDS, read=_some_fields)
ON = Value(_ref("on"), read_on, on_data)
ORDER = Value({"type": "array", "items": {"type": "string"}}, _order, _order_data)
NAMES = Value({"type": "array", "items": {"type": "string"}}, _names, list)
SOME_NAMES = replace(NAMES, read=_some_names)
COLUMNS = Value({"type": "object", "additionalProperties": {"type": "string"}}, read_columns, dict)


def count(minimum: int = 1) -> Value:
    """Return whole numbers from `minimum`."""
    return Value(
        {"type": "integer", "minimum": minimum},
        lambda at, tree: at.reader.count(tree, at.part, least=minimum),
    )


def one_of(known: Sequence[str]) -> Value:
    """Return one of some words; the first stands in for another."""

    def read(at: At, tree: Tree) -> str:
        word = at.reader.word(tree, at.part, known)
        return word if word in known else known[0]

    return Value({"enum": list(known)}, read, empty=known[0])
