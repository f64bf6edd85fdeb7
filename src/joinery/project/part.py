"""A map of the project file whose keys are the fields of one value, each declared once.

    @part
    class RollingSpec(Part):
        by: tuple[str, ...] = key(SOME_NAMES, "The columns whose values events have in common.")
        retention_us: int = key(SPAN, "How far an event may be late.", default=WEEK_US)

A key is the field's name without its unit, unless it has a `name` of its own; a field without
`key` is given by what reads the map, such as the name that stands before it. Reading with the
place of each problem, writing back, the JSON Schema and the reference page follow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast, dataclass_transform

from joinery.errors import Location
from joinery.project.mark import Path
from joinery.project.option import Names
from joinery.project.reader import Reader
from joinery.project.tree import Tree
from joinery.project.value import At, Value

_REQUIRED: Any = object()
_NOTHING_SHOWN: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class Part:
    """What a map of the project file declares.

    Attributes:
        declared_at: The line of the user's Python that declares it; None of what a file does.
    """

    declared_at: Location | None = dataclasses.field(
        default=None, kw_only=True, compare=False, repr=False
    )

    @classmethod
    def check(cls, reader: Reader, parts: Mapping[str, Tree], what: str) -> None:
        """Note what cannot stand together under the keys that are there."""


Made = TypeVar("Made", bound=Part)


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a map.

    Attributes:
        name: As the file has it.
        field: The field that it fills.
        value: What it holds.
        description: For the page and for editors.
        default: The field's, where the key is not there.
        needed: It has to be there.
        hint: How to write it, where it is needed and lacking.
        shown: Its default is told beside the description, not in it.
    """

    name: str
    field: str
    value: Value
    description: str
    default: Any
    needed: bool
    hint: str
    shown: bool = True

    @property
    def fragment(self) -> Mapping[str, Any]:
        """What it holds, as JSON Schema."""
        known = self.shown and not self.needed and self.default is not None
        default = self.value.write(self.default) if known else None
        told = {} if default in _NOTHING_SHOWN else {"default": default}
        return {**self.value.fragment, **told, "description": self.description}


def key(
    value: Value,
    description: str,
    *,
    default: Any = _REQUIRED,
    name: str = "",
    needed: bool = False,
    hint: str = "",
    secret: bool = False,
    shown: bool = True,
) -> Any:
    """Return the field of a key.

    Args:
        value: What it holds.
        description: For the page and for editors.
        default: Of the field; without one the key is needed, too.
        name: The key, where it is not the field's name.
        needed: A file has to have it, while Python may leave it out.
        hint: How to write it, where it is needed and lacking.
        secret: Left out where the value is shown.
        shown: The default is told beside the description; False where the description has it.
    """
    required = default is _REQUIRED
    about = Key(name, "", value, description, default, needed or required, hint, shown)
    kept: Any = {} if required else {"default": default}
    return dataclasses.field(metadata={"key": about}, repr=not secret, **kept)


@dataclass_transform(frozen_default=True, field_specifiers=(key, dataclasses.field))
def part(kind: type[Made]) -> type[Made]:
    """Make a class the value of a map: frozen, with its keys as fields."""
    return dataclass(frozen=True, slots=True)(kind)


def keys_of(kind: type[Part]) -> Mapping[str, Key]:
    """Return the keys of a map by name, in the order of its fields."""
    fields = dataclasses.fields(cast(Any, kind))
    keys = (_key(each) for each in fields if "key" in each.metadata)
    return {each.name: each for each in keys}


def _key(field: dataclasses.Field[Any]) -> Key:
    about: Key = field.metadata["key"]
    name = about.name or field.name.removesuffix("_ms").removesuffix("_us")
    return dataclasses.replace(about, name=name, field=field.name)


def names_of(kind: type[Part]) -> Names:
    """Return what may stand in the map, as JSON Schema."""
    return {name: each.fragment for name, each in keys_of(kind).items()}


def needed_in(kind: type[Part]) -> tuple[str, ...]:
    """Return the keys that have to be in the map."""
    return tuple(name for name, each in keys_of(kind).items() if each.needed)


def read_part(
    reader: Reader,
    tree: Tree,
    what: str,
    kind: type[Made],
    path: Path = (),
    /,
    *,
    place: Location | None = None,
    **given: object,
) -> Made:
    """Return the value that a map declares.

    What the map needs and lacks is a problem, and has a stand-in.

    Args:
        reader: Takes the problems.
        tree: The map.
        what: The map, for the problems.
        kind: The value's class.
        path: The map's place in the declaration.
        place: Where a lacking key is told; None is where the map begins.
        given: Fields that are not keys.
    """
    found = reader.named(tree, what, keys_of(kind))
    return made_of(reader, found, what, kind, path, place=place or tree.mark.value, **given)


def made_of(
    reader: Reader,
    found: Mapping[str, Tree],
    what: str,
    kind: type[Made],
    path: Path = (),
    /,
    *,
    place: Location | None,
    **given: object,
) -> Made:
    """Return the value that the keys of a map declare, as `read_part`; others are left alone."""
    values = dict(given)
    for name, each in keys_of(kind).items():
        if name in found:
            values[each.field] = each.value.read(At(reader, name, what, (*path, name)), found[name])
        elif each.needed:
            reader.refuse("SPEC_MISSING_KEY", f'{what} needs "{name}"', place, hint=each.hint)
            values[each.field] = each.value.empty
    kind.check(reader, found, what)
    make: Callable[..., Made] = kind
    return make(**values)


def part_data(value: Part) -> dict[str, Any]:
    """Return a value as the map that declares it; defaults are left out."""
    held = ((each, getattr(value, each.field)) for each in keys_of(type(value)).values())
    return {
        each.name: each.value.write(kept)
        for each, kept in held
        if each.needed or kept != each.default
    }


def referred(value: Part) -> tuple[str, ...]:
    """Return the names of relations, products and streams that a value's own keys have."""
    held = (each for each in keys_of(type(value)).values() if each.value.refers)
    return tuple(getattr(value, each.field) for each in held)


def renamed(value: Made, prefix: str) -> Made:
    """Return a value with `prefix` before each name of a relation, a product or a stream."""
    held = (each.field for each in keys_of(type(value)).values() if each.value.refers)
    names = {field: prefix + getattr(value, field) for field in held}
    return cast(Made, dataclasses.replace(cast(Any, value), **names))


def nested(kind: type[Part], name: str) -> Value:
    """Return maps of their own, whose JSON Schema has a `name`."""
    return Value(
        {"$ref": f"#/$defs/{name}"},
        lambda at, tree: read_part(at.reader, tree, at.part, kind, at.path),
        part_data,
        empty=None,
    )
