"""The tables of the project file's reference page, made from the grammar that the reader uses.

A page marks where a table goes: `<!-- keys: relation -->`, then the table. `with_tables` fills
each in, so that a key, its type and its default are written down once, in the grammar.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from joinery.project import grammar
from joinery.project.kinds import LOOKUP_STORES, SINKS, SOLUTIONS, SOURCES, VAULTS
from joinery.project.node import EMBED
from joinery.project.option import Fragment, Names, fragments, options_in
from joinery.project.part import names_of, needed_in
from joinery.project.read_window import WINDOW, needed_in_window
from joinery.project.relation import RelationSpec
from joinery.project.schema_registry import RegistryOptions
from joinery.project.step import STEPS
from joinery.project.vault import VaultSpec

_STEP_MAPS = {word: kind for word, kind in STEPS.items() if {*names_of(kind)} != {word}}
"""The steps of several keys, each of which has a table."""
SECTIONS: Mapping[str, Names] = {
    **{name: names_of(kind) for name, kind in grammar.PARTS.items()},
    "project": grammar.PROJECT,
    "relation": names_of(RelationSpec),
    "vault": names_of(VaultSpec),
    "product": grammar.PRODUCT,
    "embed": EMBED,
    **{f"window {kind}": names for kind, names in WINDOW.items()},
    "outbox": grammar.OUTBOX,
    "step": grammar.STEP,
    **{word: names_of(kind) for word, kind in _STEP_MAPS.items()},
    "registry": names_of(RegistryOptions),
    "delivery": fragments(SINKS.beside),
    **{
        f"{registry.noun.split()[-1]} {kind}": fragments(options_in(registry.find(kind)))
        for registry in (SOURCES, SINKS, LOOKUP_STORES, SOLUTIONS, VAULTS)
        for kind in registry.built_in
    },
}
_NEEDED: Mapping[str, Sequence[str]] = {
    **{name: needed_in(kind) for name, kind in grammar.PARTS.items()},
    "relation": ("key", "fields"),
    "vault": needed_in(VaultSpec),
    "product": ("root",),
    "embed": ("on",),
    **{f"window {kind}": needed_in_window(kind) for kind in WINDOW},
    "outbox": ("relation",),
    **{word: needed_in(kind) for word, kind in _STEP_MAPS.items()},
    "registry": needed_in(RegistryOptions),
    **{
        f"{registry.noun.split()[-1]} {kind}": [
            name for name, each in options_in(registry.find(kind)).items() if each.needed
        ]
        for registry in (SOURCES, SINKS, LOOKUP_STORES, SOLUTIONS, VAULTS)
        for kind in registry.built_in
    },
}
# What a referenced shape is called on the page, with the section that describes it.
_SHAPES: Mapping[str, str] = {
    "duration": "[duration](#values)",
    "span": "[duration](#values)",
    "within": "list of two [durations](#values), which may have a sign",
    "size": "[size](#values)",
    "expression": "[expression](expressions.md)",
    "expressions": "map of names to [expressions](expressions.md)",
    "fields": "[fields](#fields)",
    "on": "map of columns, or list",
    "defaults": "[map](#defaults)",
    "relation": "[relation](#relations)",
    "product": "[product](#products)",
    "embed": "[embed](#embeds)",
    "through": "[map](#through-another-relation)",
    "hot": "[map](#through-another-relation)",
    "rules": "map of [rules](#patterns)",
    "emit": "[map](#emit)",
    "expect": "[map](#emit)",
    "audit": "[map](#audit)",
    "marks": "[map](#marks)",
    "window": "[window](#windows)",
    "state": "map of names to types",
    "when": "map of kinds to [expressions](expressions.md)",
    "stream": "[stream](#streams)",
    "step": "[step](#steps)",
    "watermark": "[map](#relations)",
    "clocks": "[map](#relations)",
    "personal": "[map](#personal-columns)",
    "vault": "[map](#personal-columns)",
    "cache": "[map](#stores-that-lookups-query)",
    "limits": "[map](#stores-that-lookups-query)",
    "store": "[store](#stores-that-lookups-query)",
    "source": "[source](#sources)",
    "sink": "[sink](#sinks)",
    "sink_map": "[sink](#sinks)",
    "sinks": "[sink](#sinks), its name, or a list",
    "solution": "[solution](#solutions)",
    "solutions": "map of [solutions](#solutions)",
    "run": "[map](#run)",
    "lineage": "[map](#lineage)",
}
_MARK = re.compile(r"<!-- keys: (?P<section>[\w -]+?) -->\n(?:\|.*\n|It has no options\.\n)*")
_BY_DEFAULT = re.compile(r"[;,] (?P<value>[^;]+) by default\.$|; by default (?P<text>[^;]+)\.$")


def with_tables(page: str) -> str:
    r"""Return a page with each of its tables made anew.

    Raises:
        KeyError: A mark names no section of the grammar.

    Example:
        >>> print(with_tables("<!-- keys: emit -->\n"))  # doctest: +ELLIPSIS
        <!-- keys: emit -->
        | key | type | default | meaning |
        | --- | --- | --- | --- |
        | `settle` | [duration](#values) | | ...
        <BLANKLINE>
    """
    return _MARK.sub(lambda mark: f"{mark[0].splitlines()[0]}\n{_table(mark['section'])}", page)


def sections_of(page: str) -> tuple[str, ...]:
    """Return the sections whose tables a page shows, in its order."""
    return tuple(mark["section"] for mark in _MARK.finditer(page))


def _table(section: str) -> str:
    names, needed = SECTIONS[section], _NEEDED.get(section, ())
    if not names:
        return "It has no options.\n"
    rows = [_row(name, shape, name in needed) for name, shape in names.items()]
    return "".join(["| key | type | default | meaning |\n| --- | --- | --- | --- |\n", *rows])


def _row(name: str, shape: Fragment, needed: bool) -> str:
    default, meaning = _default(shape)
    cells = (f"`{name}`", _type(shape), "**required**" if needed else default, meaning)
    return "| " + " | ".join(cells).replace("|  |", "| |") + " |\n"


def _default(shape: Fragment) -> tuple[str, str]:
    """Return the default and the meaning without it."""
    meaning = str(shape.get("description", ""))
    if "default" in shape:
        return f"`{_word(shape['default'])}`", meaning
    found = _BY_DEFAULT.search(meaning)
    if found is None:
        return "", meaning
    return found["value"] or found["text"], meaning[: found.start()] + "."


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _type(shape: Fragment) -> str:
    if "$ref" in shape:
        return _SHAPES[shape["$ref"].rsplit("/", 1)[-1]]
    if "anyOf" in shape:
        return " or ".join(dict.fromkeys(_type(each) for each in shape["anyOf"]))
    if "enum" in shape:
        return ", ".join(dict.fromkeys(f"`{_word(each)}`" for each in shape["enum"]))
    if "const" in shape:
        return f"`{_word(shape['const'])}`"
    return _plain_type(shape)


def _plain_type(shape: Fragment) -> str:
    match shape["type"]:
        case "string":
            return f"text, such as `{shape['examples'][0]}`" if "examples" in shape else "text"
        case "boolean":
            return "`true` or `false`"
        case "integer":
            return f"whole number from {shape['minimum']}"
        case "number":
            return "number above 0"
        case "array":
            return f"list of {_many(shape['items'])}"
        case "object":
            below = shape.get("additionalProperties")
            return f"map of {_many(below)}" if below else "map"
        case other:
            raise ValueError(f"the reference has no word for the type {other}")


def _many(shape: Fragment) -> str:
    if shape.get("type") == "string":
        return "texts"
    if shape.get("type") == "array":
        return "lists"
    return f"{_type(shape)}s" if "$ref" in shape else "values"
