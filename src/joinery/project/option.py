"""What a kind takes, declared once: the fields of a typed value beside the kind's code.

From the fields follow the names that a project file may use, how each is checked and what
it defaults to, the JSON Schema, the reference page, and what an editor completes. Kinds of
other packages declare theirs in the same way.

    @options
    class FolderOptions:
        path: str = text("The folder; each product gets its own below it.")
        depth: int = count("How many folders deep files may be.", default=1)

Invariant: a message names an option and never its value, which may be a secret.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeGuard, TypeVar, dataclass_transform

from joinery.errors import SpecError
from joinery.project.quantity import duration_ms, size_bytes
from joinery.project.reader import Reader
from joinery.project.tree import Entry, ListTree, MapTree, Scalar, Tree

Fragment = Mapping[str, Any]
Names = Mapping[str, Fragment]
Kind = TypeVar("Kind")
Check = Callable[[Reader, Tree, str], object]
_NEEDED: Any = object()
_PROPERTIES = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean"]},
}


@dataclass(frozen=True, slots=True)
class Target:
    """What a sink keeps, or a lookup store asks for: a table, a topic, a folder.

    A sink and a lookup store of one kind that mean one table have equal targets.

    Attributes:
        kind: Of the server or the file.
        address: Of the server or the file, with what else tells its tables apart; may hold
            secrets, so never shown.
        name: Of the table there.
        noun: What an option gives the name to.
        log: What is written adds to what stands, so that several may write.
    """

    kind: str
    address: str | tuple[str, ...] = dataclasses.field(repr=False)
    name: str
    noun: str = dataclasses.field(default="", compare=False)
    log: bool = dataclasses.field(default=False, compare=False)


class Kinds(Protocol):
    """The kinds that an option chooses from, each with options of its own."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all that are installed."""

    def known(self, name: str) -> Mapping[str, Option] | None:
        """Return the options of one; None where they are not known."""

    def make(self, name: str, given: Mapping[str, object], *where: Any) -> Any:
        """Return what one makes of options."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One kind of several, with what stands beside its name."""

    kinds: Kinds = dataclasses.field(repr=False)
    name: str
    given: Mapping[str, object] = dataclasses.field(default_factory=dict, repr=False)

    def make(self, *where: Any) -> Any:
        """Return what the kind makes of its options.

        Raises:
            SpecError: They are not what it takes, or there is no such kind.
        """
        return self.kinds.make(self.name, self.given, *where)


@dataclass(frozen=True, slots=True)
class Option:
    """One field of a kind's options.

    Attributes:
        fragment: What it holds in a project file, as JSON Schema.
        value: Makes the field's value of what the file holds.
        check: Notes what is wrong with it, where the fragment does not tell.
        needed: It has to be given.
        kinds: It names one of these, whose options stand beside it.
    """

    fragment: Fragment
    value: Callable[[Any], Any] = lambda given: given
    check: Check | None = None
    needed: bool = False
    kinds: Kinds | None = None


def declared(
    option: Option,
    *,
    default: Any = _NEEDED,
    factory: Callable[[], Any] | None = None,
    secret: bool = False,
) -> Any:
    """Return the field of an option; a secret one is left out where options are shown."""
    about = {"option": replace(option, needed=default is _NEEDED)}
    shown = not secret
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=about, repr=shown)
    if default is _NEEDED:
        return dataclasses.field(metadata=about, repr=shown)
    return dataclasses.field(default=default, metadata=about, repr=shown)


def _fragment(description: str, default: Any, **more: Any) -> Fragment:
    known = {} if default in (_NEEDED, None, "") else {"default": default}
    return {**more, **known, "description": description}


def text(
    description: str,
    *,
    default: str = _NEEDED,
    examples: Sequence[str] = (),
    pattern: str = "",
    secret: bool = False,
    check: Check | None = None,
) -> Any:
    """Return a text; an empty default is told by the description."""
    given = {"examples": list(examples), "pattern": pattern}
    more = {name: each for name, each in given.items() if each}
    fragment = _fragment(description, default, type="string", **more)
    return declared(Option(fragment, check=check), default=default, secret=secret)


def flag(description: str, *, default: bool, check: Check | None = None) -> Any:
    """Return true or false."""
    fragment = _fragment(description, default, type="boolean")
    return declared(Option(fragment, check=check), default=default)


def count(description: str, *, default: int | None, minimum: int = 1) -> Any:
    """Return a whole number."""
    fragment = _fragment(description, default, type="integer", minimum=minimum)
    return declared(Option(fragment), default=default)


def word(description: str, known: Sequence[str], *, default: str) -> Any:
    """Return one of some words."""
    return declared(Option(_fragment(description, default, enum=list(known))), default=default)


def duration(description: str, *, default: str | None) -> Any:
    """Return a duration; the field holds milliseconds."""
    fragment = _fragment(description, default, **{"$ref": "#/$defs/duration"})
    known = None if default is None else duration_ms(default)
    return declared(Option(fragment, duration_ms), default=known)


def rate(description: str, *, default: None = None) -> Any:
    """Return a number above 0."""
    fragment = _fragment(description, default, type="number", exclusiveMinimum=0)
    return declared(Option(fragment), default=default)


def size(description: str, *, default: str) -> Any:
    """Return a size; the field holds bytes."""
    fragment = _fragment(description, default, **{"$ref": "#/$defs/size"})
    return declared(
        Option(fragment, lambda given: size_bytes(str(given))), default=size_bytes(default)
    )


def texts(description: str, *, default: None = None) -> Any:
    """Return a map of texts."""
    shape = {"type": "object", "additionalProperties": {"type": "string"}}
    fragment = _fragment(description, default, **shape)
    return declared(Option(fragment, _map_of_texts), default=default, factory=dict)


def properties(description: str, *, default: None = None, check: Check | None = None) -> Any:
    """Return a map of texts, numbers and booleans, maybe secrets; the field holds texts."""
    fragment = _fragment(description, default, **_PROPERTIES)
    return declared(
        Option(fragment, property_texts, check), default=default, factory=dict, secret=True
    )


def anything(description: str, *, default: None = None) -> Any:
    """Return a map of any depth, which is not looked into."""
    fragment = _fragment(description, default, anyOf=[{"type": "object"}])
    return declared(Option(fragment, _any_map), default=default, factory=dict)


def kind(description: str, kinds: Kinds, *, default: str) -> Any:
    """Return one kind of several by its name; what is not an option here is one of that kind's."""

    def check(reader: Reader, tree: Tree, what: str) -> None:
        if isinstance(tree, Scalar) and isinstance(tree.value, str):
            reader.word(tree, what, kinds.names())
        else:
            check_option(reader, tree, what, fragment)

    fragment = _fragment(description, default, type="string")
    option = Option(fragment, lambda name: Chosen(kinds, name), check, kinds=kinds)
    return declared(option, default=Chosen(kinds, default))


@dataclass_transform(
    frozen_default=True,
    kw_only_default=True,
    field_specifiers=(
        text,
        flag,
        count,
        word,
        duration,
        size,
        texts,
        properties,
        anything,
        kind,
        declared,
    ),
)
def options(kind: type[Kind]) -> type[Kind]:
    """Make a class the options of a kind: a frozen value whose fields are declared as above."""
    return dataclass(frozen=True, slots=True, kw_only=True)(kind)


def path_in(folder: Path, path: str) -> Path:
    """Return a path that an option gives, relative to the project's folder."""
    return (folder / Path(path).expanduser()).absolute()


def options_in(kind: type) -> Mapping[str, Option]:
    """Return the options of a kind, by name."""
    return {each.name: each.metadata["option"] for each in dataclasses.fields(kind)}


def _with_chosen(known: Mapping[str, Option], value: MapTree) -> Mapping[str, Option]:
    """Return options with those of the kind that one of them names.

    Where the name stands elsewhere they are those of all kinds, and any where a kind tells none.
    """
    found = dict(known)
    for name, option in known.items():
        if option.kinds is not None:
            named = value.get(name)
            names = (named.text,) if isinstance(named, Scalar) else option.kinds.names()
            for below in map(option.kinds.known, names):
                anything = {each.name: Option({}) for each in value.entries}
                found = {**(anything if below is None else below), **found}
    return {**known, **found}


def fragments(known: Mapping[str, Option]) -> Names:
    """Return what options hold in a project file, by name, with those of kinds to choose from."""
    kinds = [each.kinds for each in known.values() if each.kinds is not None]
    below = [each.known(name) or {} for each in kinds for name in each.names()]
    found = {name: option for each in reversed(below) for name, option in each.items()}
    return {name: each.fragment for name, each in {**known, **found, **known}.items()}


def options_of(
    kind: type[Kind], given: Mapping[str, object], what: str, error: type[SpecError] = SpecError
) -> Kind:
    """Return the options of a kind with the values that are given, by name.

    Args:
        kind: A class made by `options`.
        given: As a project file holds them, or as Python gives them.
        what: The kind, for messages.
        error: Raised where they are not what the kind takes.
    """
    known = options_in(kind)
    chooser = next((name for name, each in known.items() if each.kinds is not None), None)
    rest = {name: value for name, value in given.items() if name not in known}
    if rest and chooser is None:
        name = next(iter(rest))
        near = difflib.get_close_matches(name, known, n=1)
        raise error(
            f'{what} has no option "{name}"',
            detail=f"Its options are {', '.join(known)}." if known else "It takes none.",
            hint=f'Use "{near[0]}".' if near else "",
        )
    values: dict[str, Any] = {}
    for name, option in known.items():
        value = given.get(name)
        if value is None:
            continue
        if wanted := _wanted_shape(value, option.fragment):
            raise error(f'option "{name}" of {what} is {_isnt(wanted)}')
        try:
            values[name] = option.value(value)
        except TypeError as wrong:
            raise error(f'option "{name}" of {what} is not {wrong}') from wrong
    for name, option in known.items():
        if option.needed and name not in values:
            raise error(f'{what} needs "{name}"', hint=_example(what.split('"')[1], name, option))
    if chooser is not None:
        option = known[chooser]
        chosen = values.get(chooser) or option.value(option.fragment["default"])
        values[chooser] = replace(chosen, given=rest)
    return kind(**values)


def check_options(
    reader: Reader, entry: Entry, part: str, known: Mapping[str, Option], *, whole: bool = True
) -> None:
    """Note every problem of the options that stand under a kind; a part may lack needed ones."""
    if isinstance(entry.value, Scalar) and entry.value.value is not None:
        needed = [name for name, option in known.items() if option.needed]
        hint = f"Write {{{entry.name}: {{{needed[0]}: …}}}}." if needed else ""
        reader.shape(entry.value, part, "a map", hint)
        return
    if isinstance(entry.value, MapTree):
        known = _with_chosen(known, entry.value)
    found = reader.named(entry.value, part, known)
    for name, value in found.items():
        option, what = known[name], f'"{name}" of {part}'
        if option.check is not None:
            option.check(reader, value, what)
        else:
            check_option(reader, value, what, option.fragment)
    for name, option in known.items() if whole else ():
        if option.needed and name not in found and isinstance(entry.value, MapTree | Scalar):
            hint = _example(entry.name, name, option)
            reader.refuse("SPEC_MISSING_KEY", f'{part} needs "{name}"', entry.place, hint=hint)


def _example(kind: str, name: str, option: Option) -> str:
    examples = option.fragment.get("examples")
    return f"Write {{{kind}: {{{name}: {examples[0]}}}}}." if examples else ""


def check_path(reader: Reader, tree: Tree, what: str) -> None:
    """Note a path that is not text, or an address: only what is mounted has a path."""
    check_option(reader, tree, what, {"type": "string"})
    kind, found, _ = str(tree.value if isinstance(tree, Scalar) else "").partition("://")
    if found:
        message = f"{what} is not a path: addresses of {kind}:// are not supported here"
        hint = "Mount it where the driver and all executors see it under the same path."
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)


def check_option(reader: Reader, tree: Tree, what: str, fragment: Fragment) -> None:
    """Note what is wrong with one option; a fragment of another shape takes anything."""
    if "enum" in fragment:
        reader.word(tree, what, fragment["enum"])
    elif wanted := wanted_instead(_plain(tree), fragment):
        reader.refuse("SPEC_SHAPE", f"{what} needs {wanted}", tree.mark.value)


def wanted_instead(value: object, fragment: Fragment) -> str:
    """Return what an option should be instead of `value`; empty where it may be that."""
    if wanted := _wanted_shape(value, fragment):
        return wanted
    fits = "pattern" not in fragment or re.search(fragment["pattern"], str(value))
    return "" if fits else f"a text such as {fragment['examples'][0]}"


def plain(value: object) -> Any:
    """Return an option as maps and lists; a spec holds a map as a tuple of pairs.

    Example:
        >>> plain((("number_of_shards", 2), ("tags", ("a", "b"))))
        {'number_of_shards': 2, 'tags': ['a', 'b']}
    """
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if not isinstance(value, tuple | list):
        return value
    if value and all(_pair(each) for each in value):
        return {name: plain(each) for name, each in value}
    return [plain(each) for each in value]


def _pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _any_map(value: object) -> dict[str, Any]:
    found = plain(value) or {}
    if not isinstance(found, dict):
        raise TypeError("a map")
    return found


def _map_of_texts(value: object) -> dict[str, str]:
    found = _any_map(value)
    if not all(isinstance(each, str) for each in found.values()):
        raise TypeError("a map of texts")
    return found


def property_texts(value: object) -> dict[str, str]:
    """Return properties of Kafka as its clients take them: `true` for a boolean."""
    return {
        name: str(each).lower() if isinstance(each, bool) else str(each)
        for name, each in _any_map(value).items()
    }


def _isnt(wanted: str) -> str:
    if wanted == "true or false":
        return "neither true nor false"
    return f"none of {wanted[7:]}" if wanted.startswith("one of ") else f"not {wanted}"


def _wanted_shape(value: object, fragment: Fragment) -> str:
    if "enum" in fragment:
        return "" if value in fragment["enum"] else f"one of {', '.join(fragment['enum'])}"
    if _shape(fragment) == "integer":
        least = fragment.get("minimum", 1)
        return "" if _whole(value) and value >= least else f"a whole number from {least}"
    wanted, holds = _SHAPES.get(_shape(fragment), ("", lambda value: True))
    return "" if holds(value) else wanted


def _shape(fragment: Fragment) -> str:
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
