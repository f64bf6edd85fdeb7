"""Reads what a product with `fold` says: numbers, kinds, the state, and what events make of it."""

from __future__ import annotations

from collections.abc import Mapping

from joinery.model.type import TypeTextError, parse_type
from joinery.project.form import FoldSpec, StateSpec
from joinery.project.reader import Reader
from joinery.project.tree import Entry, Locations, MapTree, Scalar, Tree
from joinery.project.value import Pairs

_STATE_HINT = "Write a type such as long, and its first value after =: long = 0."


def read_fold(reader: Reader, parts: Mapping[str, Tree], entry: Entry, by: Pairs) -> FoldSpec:
    """Return what a product folds.

    Args:
        reader: Takes the problems.
        parts: The keys of the product.
        entry: The product.
        by: Whose events have one state.
    """
    what = f'product "{entry.name}"'
    default = FoldSpec()
    for name, hint in (
        ("sequence", "Write sequence: COLUMN, with the number of an event, from 1."),
        ("state", "Write state: {balance: decimal(18,2) = 0}, the value in quotes."),
    ):
        if name not in parts:
            message = f'{what} needs "{name}"'
            reader.refuse("SPEC_MISSING_KEY", message, entry.place, hint=hint)
    texts = {
        name: reader.text(parts[name], f'"{name}" of {what}')
        for name in ("sequence", "kind")
        if name in parts
    }
    wait_us = default.wait_us
    if "wait" in parts:
        wait_us = reader.elapsed_us(parts["wait"], f'"wait" of {what}')
    return FoldSpec(
        by=by,
        sequence=texts.get("sequence", ""),
        kind=texts.get("kind", default.kind),
        state=_state(reader, parts["state"], what) if "state" in parts else (),
        when=read_when(reader, parts["when"], what) if "when" in parts else (),
        wait_us=wait_us,
    )


def _state(reader: Reader, tree: Tree, what: str) -> tuple[StateSpec, ...]:
    part = f'"state" of {what}'
    entries = reader.entries(tree, part)
    if isinstance(tree, MapTree) and not entries:
        reader.refuse("SPEC_SHAPE", f"{part} names no column", tree.mark.value, hint=_STATE_HINT)
    return tuple(_column(reader, each, part) for each in entries)


def _column(reader: Reader, entry: Entry, what: str) -> StateSpec:
    part = f'column "{entry.name}" of {what}'
    reader.output_name(entry.name, "a column of a state", entry.place)
    if not (isinstance(entry.value, Scalar) and isinstance(entry.value.value, str)):
        reader.shape(entry.value, part, "a type", _STATE_HINT)
        return StateSpec(entry.name, "string")
    declared, equals, value = entry.value.value.partition("=")
    kind, initial = declared.strip(), value.strip()
    if equals and not initial:
        message = f'{part} has nothing after "="'
        reader.refuse("SPEC_VALUE", message, entry.value.mark.value, hint=_STATE_HINT)
    try:
        parse_type(kind)
    except TypeTextError as error:
        place = Locations({(): entry.value.mark}).within((), error.offset)
        cut = kind.count("(") > kind.count(")") or kind.count("<") > kind.count(">")
        hint = "Put a type with commas in quotes." if cut else error.hint
        message = f"{part}: {error.message}"
        reader.refuse(error.code, message, place, detail=error.detail, hint=hint)
        return StateSpec(entry.name, "string", initial or None)
    return StateSpec(entry.name, kind, initial or None)


def read_when(reader: Reader, tree: Tree, what: str) -> tuple[tuple[str, Pairs], ...]:
    """Return what events make of the state, by kind; `what` is the product."""
    part = f'"when" of {what}'
    return tuple(
        (each.name, reader.pairs(each.value, f'"{each.name}" of {part}'))
        for each in reader.entries(tree, part)
    )
