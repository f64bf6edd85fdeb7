"""What is read, written back and read again is the same, for each example and each key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.unit.project.examples import EXAMPLES, REST, keys_of_examples, merged, used_keys

from joinery.project.load import dump_spec, load_spec
from joinery.project.product import ProjectSpec
from joinery.project.schema import schema

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "examples").rglob("joinery*.yaml"))
KINDS = {"sinks": "sink_map", "sources": "source"}
SCHEMA = schema()
WORDS = {"starting": "latest", "registry": "http://host:8081"}
"""Values of options whose texts are looked into."""


def value_of(shape: Mapping[str, Any]) -> object:
    """Return a value that is not the default, of the shape that the schema gives an option."""
    if "anyOf" in shape:
        return value_of({**shape["anyOf"][0], **{k: v for k, v in shape.items() if k != "anyOf"}})
    if "$ref" in shape:
        return {"duration": "90s", "size": "3 MiB"}[shape["$ref"].rsplit("/", 1)[-1]]
    if "enum" in shape:
        return shape["enum"][-1]
    if "examples" in shape:
        return shape["examples"][0]
    match shape["type"]:
        case "boolean":
            return not shape.get("default", False)
        case "integer":
            return 7
        case "array":
            return [value_of(shape["items"])]
        case "object" if "properties" in shape:
            return {name: value_of(each) for name, each in shape["properties"].items()}
        case "object":
            return {"name": "value"}
        case _:
            return "text"


def options_of(kind: Mapping[str, Any]) -> dict[str, object]:
    """Return every option of a kind of the schema, with a value."""
    found = {name: value_of(each) for name, each in kind["anyOf"][0]["properties"].items()}
    return {**found, **{name: word for name, word in WORDS.items() if name in found}}


def kinds_of(name: str) -> dict[str, dict[str, dict[str, object]]]:
    kinds = SCHEMA["$defs"][name]["properties"]
    return {kind: {kind: options_of(each)} for kind, each in kinds.items()}


def every_kind() -> dict[str, Any]:
    """Return a project with each kind of each sort, with all of its options."""
    kinds = SCHEMA["$defs"]["solutions"]["properties"]
    solutions = {kind: options_of(each) for kind, each in kinds.items()}
    del solutions["kv"]["store"]  # without it the options of all stores may stand here
    lookups = [
        {"lookup": "customer", "on": {"id": "customer_id"}, "read": "database", "store": each}
        for each in kinds_of("store").values()
    ]
    return {
        **{section: kinds_of(name) for section, name in KINDS.items()},
        "relations": {
            "customer": {"key": ["id"], "fields": {"id": "long"}},
            "order": {"append": True, "fields": {"customer_id": "long"}},
        },
        "streams": {"orders": {"from": "order", "steps": lookups}},
        "run": {"solutions": solutions},
    }


def written(project: Mapping[str, Any]) -> str:
    """Return a project as JSON, which is YAML."""
    return json.dumps(project)


def load(folder: Path, text: str) -> ProjectSpec:
    file = folder / "joinery.yaml"
    file.write_text(text, encoding="utf-8")
    return load_spec(file)


def check_round_trip(text: str, folder: Path) -> None:
    spec = load(folder, text)

    assert spec == load(folder, dump_spec(spec))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_an_example_is_written_back(file: Path, tmp_path: Path) -> None:
    text = re.sub(r"\$\{\w+\}", "1000", file.read_text(encoding="utf-8"))

    check_round_trip(text, tmp_path)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_reference_is_written_back(example: str, tmp_path: Path) -> None:
    yaml = YAML(typ="safe")

    check_round_trip(written(merged(yaml.load(REST), yaml.load(example))), tmp_path)


def test_each_option_of_each_kind_is_written_back(tmp_path: Path) -> None:
    check_round_trip(written(every_kind()), tmp_path)


def keys(shape: object) -> Iterator[str]:
    """Yield every key that the schema, or a part of it, knows."""
    if isinstance(shape, Mapping):
        named = shape.get("properties", {})
        yield from named
        below = [each for name, each in shape.items() if name not in ("properties", "$defs")]
        for each in (*below, *named.values(), *shape.get("$defs", {}).values()):
            yield from keys(each)
    elif isinstance(shape, list):
        for each in shape:
            yield from keys(each)


def test_each_key_of_the_schema_is_among_what_is_written_back() -> None:
    assert set() == set(keys(SCHEMA)) - keys_of_examples() - used_keys(every_kind())
