"""A map of the project file whose keys are the fields of one value, each told once.

The fields are declared as the options of a kind are (`project/option.py`); a key is the field's
name without its unit. Reading, writing, the JSON Schema and the reference page follow from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from joinery.project.option import Fragment, Names
from joinery.project.quantity import duration_text
from joinery.project.reader import Reader
from joinery.project.tree import Tree

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Part = TypeVar("Part", bound=DataclassInstance)


def names_of(kind: type[DataclassInstance]) -> Names:
    """Return what may stand in the map, as JSON Schema."""
    return {key: _fragment(each) for key, each in _fields(kind).items()}


def read_part(
    reader: Reader,
    tree: Tree | None,
    what: str,
    kind: type[Part],
    reserved: Collection[str] = (),
) -> Part:
    """Return the value that a map declares; without a map it has its defaults.

    What the map needs and lacks is a problem; the value has an empty text there.

    Args:
        reader: Takes the problems.
        tree: The map.
        what: The map, for the problems.
        kind: The value's class.
        reserved: Keys that are specified and not there yet.
    """
    known = _fields(kind)
    found = reader.named(tree, what, known, reserved) if tree is not None else {}
    lacking = [key for key, each in known.items() if _is_needed(each) and key not in found]
    for key in lacking:
        place = tree.mark.value if tree is not None else None
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "{key}"', place)
    return kind(
        **{known[key].name: "" for key in lacking},
        **{
            known[key].name: _read(reader, each, f'"{key}" of {what}', _fragment(known[key]))
            for key, each in found.items()
        },
    )


def part_data(value: DataclassInstance) -> dict[str, Any]:
    """Return a value as the map that declares it; defaults are left out."""
    return {
        key: _written(getattr(value, each.name), _fragment(each))
        for key, each in _fields(type(value)).items()
        if getattr(value, each.name) != each.default
    }


def _fields(kind: type[DataclassInstance]) -> Mapping[str, dataclasses.Field[Any]]:
    return {each.name.removesuffix("_ms"): each for each in dataclasses.fields(kind)}


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return bool(field.metadata["option"].needed)


def _fragment(field: dataclasses.Field[Any]) -> Fragment:
    fragment: Fragment = field.metadata["option"].fragment
    return fragment


def _read(reader: Reader, tree: Tree, what: str, fragment: Fragment) -> object:
    if "enum" in fragment:
        return reader.word(tree, what, fragment["enum"])
    match fragment.get("$ref") or fragment["type"]:
        case "string":
            return reader.text(tree, what)
        case "#/$defs/duration":
            return reader.duration_ms(tree, what)
        case "integer":
            return reader.count(tree, what, least=fragment.get("minimum", 1))
        case "number":
            return reader.rate(tree, what)
        case other:
            raise AssertionError(f"no reader for a key of {other}")


def _written(value: Any, fragment: Fragment) -> object:
    return duration_text(value) if "$ref" in fragment else value
