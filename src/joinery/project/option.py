"""The options of a kind, checked against the fragments of the grammar.

Invariant: a message names an option and never its value, which may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeGuard

from joinery.project import grammar
from joinery.project.quantity import duration_ms, size_bytes
from joinery.project.reader import Reader
from joinery.project.schema_registry import check_registry
from joinery.project.tree import Entry, ListTree, MapTree, Scalar, Tree


def check_options(
    reader: Reader, entry: Entry, part: str, known: grammar.Names, needed: tuple[str, ...] = ()
) -> None:
    """Note every problem of the options that stand under a kind."""
    found = reader.named(entry.value, part, known)
    for name, value in found.items():
        if name == "registry":
            check_registry(reader, value, f'"{name}" of {part}')
            continue
        check_option(reader, value, f'"{name}" of {part}', known[name])
    for name in needed:
        if name not in found and isinstance(entry.value, MapTree | Scalar):
            reader.refuse("SPEC_MISSING_KEY", f'{part} needs "{name}"', entry.place)


def check_option(reader: Reader, tree: Tree, what: str, fragment: grammar.Fragment) -> None:
    """Note what is wrong with one option; a fragment of another shape takes anything."""
    if "enum" in fragment:
        reader.word(tree, what, fragment["enum"])
    elif wanted := wanted_instead(_plain(tree), fragment):
        reader.refuse("SPEC_SHAPE", f"{what} needs {wanted}", tree.mark.value)


def wanted_instead(value: object, fragment: grammar.Fragment) -> str:
    """Return what an option should be instead of `value`; empty where it may be that."""
    if "enum" in fragment:
        return "" if value in fragment["enum"] else f"one of {', '.join(fragment['enum'])}"
    if _shape(fragment) == "integer":
        least = fragment.get("minimum", 1)
        return "" if _whole(value) and value >= least else f"a whole number from {least}"
    wanted, holds = _SHAPES.get(_shape(fragment), ("", lambda value: True))
    if not holds(value):
        return wanted
    fits = "pattern" not in fragment or re.search(fragment["pattern"], str(value))
    return "" if fits else f"a text such as {fragment['examples'][0]}"


def _shape(fragment: grammar.Fragment) -> str:
    return str(fragment.get("$ref") or fragment.get("type") or "")


def _plain(tree: Tree) -> object:
    """Return a tree as `Reader.options` gives it, as far as shapes need."""
    if isinstance(tree, Scalar):
        return tree.value
    if isinstance(tree, ListTree):
        return [_plain(each) for each in tree.items]
    return tuple((each.name, _plain(each.value)) for each in tree.entries)


def _text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _scalars(value: object) -> bool:
    """Return whether `value` is a map of texts, numbers and booleans."""
    pairs = tuple(value.items()) if isinstance(value, Mapping) else value
    return isinstance(pairs, tuple) and all(
        isinstance(each, tuple) and isinstance(each[1], str | int | float) for each in pairs
    )


_SHAPES = {
    "string": ("a text", _text),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "object": ("a map of texts, numbers and booleans", _scalars),
    "#/$defs/duration": (
        "a duration such as 500ms, 2s, 5m, 1h or 7d",
        lambda value: isinstance(value, str) and duration_ms(value) is not None,
    ),
    "#/$defs/size": (
        "a size such as 1000000 or 8 MiB",
        lambda value: not isinstance(value, bool) and size_bytes(str(value)) is not None,
    ),
}
