"""The examples of the project file's page, merged into one project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

FILE = Path(__file__).parents[3] / "docs" / "project_file.md"


PAGE = FILE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


# What examples of one section take from the rest of a project.
REST = """
sources: {changes: {files: {path: data}}}
defaults: {source: changes}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
  order: {key: [number], fields: {number: long, customer_id: long, amount: double}}
products:
  shown: {root: customer, sink: {files: {path: shown}}}
"""


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return both maps, the parts of the project (two levels) united."""
    names = {**one, **other}
    return {
        name: {**one[name], **other[name]} if name in one and name in other else value
        for name, value in names.items()
    }


def used_keys(value: object) -> set[str]:
    if isinstance(value, Mapping):
        return {*map(str, value), *(key for each in value.values() for key in used_keys(each))}
    if isinstance(value, list):
        return {key for each in value for key in used_keys(each)}
    return set()


@cache
def keys_of_examples() -> frozenset[str]:
    yaml = YAML(typ="safe")
    return frozenset(key for each in EXAMPLES for key in used_keys(yaml.load(each)))
