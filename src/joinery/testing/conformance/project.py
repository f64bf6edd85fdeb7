"""Projects of cases, many of them joined into one so that a single run serves them all.

Invariant: under their prefixes no two cases share a relation or a product.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from joinery.project.load import load_spec
from joinery.project.product import NodeSpec, ProductSpec, ProjectSpec, RelationSpec, SinkSpec

GROUP = "conformance"
_HEAD = """
name: conformance
sources: {changes: {files: {path: in}}}
defaults: {source: changes, format: json}
"""


def load_text(text: str) -> ProjectSpec:
    """Return the project of a file's text, without its source and its name.

    Raises:
        ProjectErrors: The text declares no project.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "joinery.yaml"
        file.write_text(_HEAD + text, encoding="utf-8")
        return load_spec(file)


def prefixed(spec: ProjectSpec, prefix: str) -> ProjectSpec:
    """Return the project with `prefix` before the names of its relations and products."""
    return replace(
        spec,
        relations=tuple(prefixed_relation(each, prefix) for each in spec.relations),
        products=tuple(_product(each, prefix) for each in spec.products),
    )


def joined(specs: Iterable[ProjectSpec]) -> ProjectSpec:
    """Return one project of all relations and products, whose products share one query."""
    parts = list(specs)
    return replace(
        load_text("relations: {}\nproducts: {}"),
        relations=tuple(relation for spec in parts for relation in spec.relations),
        products=tuple(
            replace(product, group=GROUP, sinks=(SinkSpec("files", (("path", "out"),)),))
            for spec in parts
            for product in spec.products
        ),
    )


def prefixed_relation(spec: RelationSpec, prefix: str) -> RelationSpec:
    """Return a relation with `prefix` before its name and its topic."""
    return replace(spec, name=prefix + spec.name, topic=prefix + (spec.topic or spec.name))


def _product(spec: ProductSpec, prefix: str) -> ProductSpec:
    root = replace(_node(spec.root, prefix), name=prefix + spec.name)
    ready = tuple(prefix + each for each in spec.ready)
    return replace(spec, name=prefix + spec.name, root=root, ready=ready)


def _node(spec: NodeSpec, prefix: str) -> NodeSpec:
    embed = tuple(_node(each, prefix) for each in spec.embed)
    return replace(spec, relation=prefix + spec.relation, embed=embed)
