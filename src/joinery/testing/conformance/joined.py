"""The projects of many cases joined into one, so that a single run serves them all.

Invariant: under their prefixes no two cases share a relation or a product.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from joinery.project.form import FormSpec, PatternSpec, SearchSpec
from joinery.project.kind import SinkSpec
from joinery.project.node import NodeSpec
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.relation import RelationSpec
from joinery.testing.conformance.project import load_text

GROUP = "conformance"


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
    """Return a relation with `prefix` before its name, and before its topic or its product."""
    if spec.product is not None:
        return replace(spec, name=prefix + spec.name, product=prefix + spec.product)
    return replace(spec, name=prefix + spec.name, topic=prefix + (spec.topic or spec.name))


def _product(spec: ProductSpec, prefix: str) -> ProductSpec:
    root = replace(_node(spec.root, prefix), name=prefix + spec.name)
    ready = tuple(prefix + each for each in spec.ready)
    form = _form(spec, prefix)
    return replace(spec, name=prefix + spec.name, root=root, ready=ready, form=form)


def _form(spec: ProductSpec, prefix: str) -> FormSpec:
    form = spec.form
    if isinstance(form, SearchSpec):
        return _search(form, spec.root.relation, prefix)
    if isinstance(form, PatternSpec):
        rules = tuple(replace(each, relation=prefix + each.relation) for each in form.rules)
        return replace(form, rules=rules)
    return form


def _search(spec: SearchSpec, documents: str, prefix: str) -> SearchSpec:
    """Return a search with the prefix also where its fields name the two relations."""
    named = re.compile(rf"\b({re.escape(documents)}|{re.escape(spec.queries)})(?=\.)")
    fields = tuple((name, named.sub(rf"{prefix}\1", text)) for name, text in spec.fields)
    return replace(spec, queries=prefix + spec.queries, fields=fields)


def _node(spec: NodeSpec, prefix: str) -> NodeSpec:
    embed = tuple(_node(each, prefix) for each in spec.embed)
    through = spec.through and replace(spec.through, relation=prefix + spec.through.relation)
    return replace(spec, relation=prefix + spec.relation, embed=embed, through=through)
