"""The JSON Schema of a project file, made from the grammar, so that editors complete it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from joinery.project import grammar
from joinery.project.form import FORMS, RuleSpec
from joinery.project.kinds import LOOKUP_STORES, SINKS, SOLUTIONS, SOURCES, VAULTS, Registry
from joinery.project.node import EMBED
from joinery.project.option import Fragment, Names, Option, fragments
from joinery.project.part import Part, names_of, needed_in
from joinery.project.read_window import WINDOW, needed_in_window
from joinery.project.relation import RelationSpec
from joinery.project.step import STEPS, StepSpec, is_flat
from joinery.project.vault import VaultSpec

_VARIABLE = {"type": "string", "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}"}
_EXPRESSION = {"type": ["string", "number", "boolean"], "description": "A Spark SQL expression."}
_OPTIONS = {"type": ["object", "null"]}
_OFFSET = r"^([+-]?\d+\s*(us|ms|s|m|h|d|w|(second|minute|hour|day|week)s?)|.*\$\{.*)$"
_DURATION = r"^(\d+\s*(us|ms|s|m|h|d|w|(second|minute|hour|day|week)s?)|.*\$\{.*)$"
_SPAN = r"^(\d+\s*(us|ms|s|m|h|d|w|(second|minute|hour|day|week|month)s?)|.*\$\{.*)$"


def schema_text() -> str:
    """Return the schema as JSON text."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def schema() -> dict[str, Any]:
    """Return the schema of a project file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Joinery project",
        **_object(grammar.PROJECT),
        "$defs": _definitions(),
    }


def _definitions() -> dict[str, Any]:
    return {
        "relation": {
            **_part(RelationSpec),
            "anyOf": [
                {"required": ["key", "fields"]},
                {"properties": {"append": {"const": True}}, "required": ["append", "fields"]},
                {"required": ["product"]},
            ],
        },
        "product": {
            **_object(grammar.PRODUCT),
            "oneOf": [
                {"required": [word, *needed_in(kind), *kind.later]} for word, kind in FORMS.items()
            ],
        },
        "embed": {
            **_object(EMBED, required=("on",)),
            "oneOf": [{"required": ["one"]}, {"required": ["many"]}],
        },
        **{name: _part(kind) for name, kind in grammar.PARTS.items() if name != "rule"},
        "vault": {
            "type": "object",
            "properties": {
                **{kind: _under(VAULTS.known(kind)) for kind in VAULTS.names()},
                **_part(VaultSpec)["properties"],
            },
            "additionalProperties": False,
            "required": list(needed_in(VaultSpec)),
            "minProperties": 2,
            "maxProperties": 2,
        },
        "rules": {
            "type": "object",
            "additionalProperties": _part(RuleSpec),
            "minProperties": 1,
        },
        "state": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1},
        "when": {"type": "object", "additionalProperties": _reference("expressions")},
        "window": {
            "anyOf": [
                _object(names, required=needed_in_window(kind)) for kind, names in WINDOW.items()
            ]
        },
        "step": {"anyOf": [_step(kind) for kind in STEPS.values()]},
        "store": _kinds(LOOKUP_STORES),
        "through": {
            "type": "object",
            "additionalProperties": _reference("on"),
            "minProperties": 1,
            "maxProperties": 1,
        },
        "source": _kinds(SOURCES),
        "solution": {
            "anyOf": [
                {"type": "string", "examples": list(SOLUTIONS.names())},
                _kinds(SOLUTIONS),
            ],
        },
        "solutions": _each_kind(SOLUTIONS),
        "sink_map": _kinds(SINKS),
        "sink": {"anyOf": [_reference("sink_map"), {"type": "string"}, _use()]},
        "sinks": {
            "anyOf": [_reference("sink"), {"type": "array", "items": _reference("sink")}],
        },
        "expression": _EXPRESSION,
        "expressions": {"type": "object", "additionalProperties": _reference("expression")},
        "fields": {
            "anyOf": [
                _reference("expressions"),
                {
                    "type": "array",
                    "items": {"anyOf": [{"type": "string"}, _reference("expressions")]},
                },
            ],
        },
        "on": {
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ],
        },
        "duration": {"type": "string", "pattern": _DURATION},
        "span": {"type": "string", "pattern": _SPAN},
        "within": {
            "type": "array",
            "items": {"type": "string", "pattern": _OFFSET},
            "minItems": 2,
            "maxItems": 2,
        },
        "size": {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^(\d+\s*(B|KiB|MiB|GiB)?|.*\$\{.*)$"},
            ],
        },
    }


def _step(kind: type[StepSpec]) -> dict[str, Any]:
    return _part(kind) if is_flat(kind) else _object({kind.word: _part(kind)}, (kind.word,))


def _part(kind: type[Part]) -> dict[str, Any]:
    return _object(names_of(kind), required=needed_in(kind))


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _object(names: Names, required: tuple[str, ...] = ()) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "object",
        "properties": {name: _or_variable(shape) for name, shape in names.items()},
        "additionalProperties": False,
    }
    return {**made, "required": list(required)} if required else made


def _or_variable(shape: Fragment) -> dict[str, Any]:
    """Return `shape`, or the environment variable that gives it."""
    if shape.get("type") not in ("integer", "boolean") and "enum" not in shape:
        return dict(shape)
    told = {key: value for key, value in shape.items() if key in ("description", "default")}
    rest = {key: value for key, value in shape.items() if key not in told}
    return {**told, "anyOf": [rest, _VARIABLE]}


def _use() -> dict[str, Any]:
    named = {"type": "string", "description": "The name of a sink under sinks."}
    return {"type": "object", "properties": {"use": named}, "required": ["use"]}


def _each_kind(registry: Registry) -> dict[str, Any]:
    """Return kinds, each with its options; a package's may have any where it declares none."""
    return {
        "type": "object",
        "properties": {kind: _under(registry.known(kind)) for kind in registry.names()},
        "additionalProperties": False,
    }


def _kinds(registry: Registry) -> dict[str, Any]:
    """Return one kind with its options."""
    made = _each_kind(registry)
    del made["additionalProperties"]
    return {**made, "minProperties": 1, "maxProperties": 1}


def _under(known: Mapping[str, Option] | None) -> dict[str, Any]:
    """Return what may stand under a kind."""
    if known is None:
        return dict(_OPTIONS)
    return {"anyOf": [_object(fragments(known)), {"type": "null"}]}
