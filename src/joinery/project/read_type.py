"""Reads the type of a declared column."""

from __future__ import annotations

from joinery.model.type import TypeTextError, parse_type
from joinery.project.location import Locations
from joinery.project.reader import Reader
from joinery.project.tree import Entry, Scalar


def read_type(reader: Reader, entry: Entry, what: str) -> str:
    """Return the DDL text of a column's type; `what` is whose column it is."""
    part = f'field "{entry.name}" of {what}'
    if not (isinstance(entry.value, Scalar) and isinstance(entry.value.value, str)):
        hint = "Put a type with commas in quotes." if _cut_by_comma(entry) else ""
        reader.shape(entry.value, part, "a type", hint)
        return "string"
    text = entry.value.value
    try:
        parse_type(text)
    except TypeTextError as error:
        place = Locations({(): entry.value.mark}).within((), error.offset)
        hint = "Put a type with commas in quotes." if _unclosed(text) else error.hint
        message = f"{part}: {error.message}"
        reader.refuse(error.code, message, place, detail=error.detail, hint=hint)
        return "string"
    return text


def _cut_by_comma(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and entry.name.rstrip().endswith((")", ">"))


def _unclosed(text: str) -> bool:
    """Say whether a flow map has cut `decimal(10,2)` or `struct<a: int, …>` at its comma."""
    return text.count("(") > text.count(")") or text.count("<") > text.count(">")
