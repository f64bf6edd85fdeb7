"""Cuts a published schema down to what the manifests of `ops/kubernetes` touch.

Of each object on the way all names are kept, with the schemas of those that a manifest uses: a
name that is not known stays refused, at a hundredth of the size.

    python tests/unit/ops/prune.py SCHEMA MANIFEST [VERSION] > tests/unit/ops/schemas/NAME.json

SCHEMA is a CustomResourceDefinition (with VERSION of it), or the JSON Schema of a kind of
Kubernetes beside its `_definitions.json`, as the package kubernetes-validate has them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

KEPT = ("type", "enum", "required", "pattern", "minimum")


def pruned(schema: Mapping[str, Any], value: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a schema a value touches."""
    if "$ref" in schema:
        return pruned(definitions[schema["$ref"].rpartition("/")[2]], value, definitions)
    found: dict[str, Any] = {name: schema[name] for name in KEPT if name in schema}
    if choices := schema.get("anyOf", schema.get("oneOf")):
        found["anyOf"] = [{"type": each["type"]} for each in choices]
    properties = schema.get("properties", {})
    if properties:
        used = value if isinstance(value, Mapping) else {}
        found["properties"] = {
            name: pruned(each, used[name], definitions) if name in used else {}
            for name, each in sorted(properties.items())
        }
        found["additionalProperties"] = False
    elif isinstance(extra := schema.get("additionalProperties"), Mapping):
        found["additionalProperties"] = pruned(extra, None, definitions)
    if "items" in schema:
        items = value if isinstance(value, Sequence) else []
        found["items"] = pruned(schema["items"], _joined(items), definitions)
    return found


def _joined(items: Sequence[Any]) -> Any:
    """Return one value that has what any of some has."""
    if items and all(isinstance(each, Mapping) for each in items):
        return {name: value for each in items for name, value in each.items()}
    return items[0] if items else None


def main(schema: str, manifest: str, version: str = "") -> None:
    """Write the schema of one kind, as its first manifest in a file needs it."""
    told = YAML(typ="safe").load(Path(schema).read_text(encoding="utf-8"))
    definitions: dict[str, Any] = {}
    if version:
        kind = told["spec"]["names"]["kind"]
        found = next(each for each in told["spec"]["versions"] if each["name"] == version)
        told = found["schema"]["openAPIV3Schema"]
        # Kubernetes knows these of every kind, so a definition need not tell them.
        told["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {"type": "object"}}
    else:
        beside = Path(schema).with_name("_definitions.json")
        definitions = json.loads(beside.read_text(encoding="utf-8"))["$defs"]
        kind = told["properties"]["kind"]["enum"][0]
    manifests = YAML(typ="safe").load_all(Path(manifest).read_text(encoding="utf-8"))
    value = next(each for each in manifests if each["kind"] == kind)
    json.dump(pruned(told, value, definitions), sys.stdout, indent=1, sort_keys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
