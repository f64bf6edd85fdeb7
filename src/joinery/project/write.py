"""Writes a spec back as plain data, in the shorthand a user would choose.

Invariant: reading what was written gives an equal spec; defaults are left out.

"""

from __future__ import annotations

from typing import Any

from joinery.project.form import DocumentSpec, is_below
from joinery.project.kind import Options, sink_data
from joinery.project.part import part_data
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.read_window import window_data
from joinery.project.relation import relation_data
from joinery.project.value import options_data

Data = dict[str, Any]


def section(name: str, value: Any) -> Data:
    """Return `value` under `name`, or nothing where it is the default."""
    return {name: value} if value else {}


def kind_data(kind: str, options: Options) -> Data:
    """Return a kind with its options."""
    return {kind: options_data(options)}


def project_data(spec: ProjectSpec) -> Data:
    """Return a project as the maps, lists and scalars of its file."""
    data: Data = {"joinery": 1, "name": spec.name}
    data |= section(
        "sources", {each.name: kind_data(each.kind, each.options) for each in spec.sources}
    )
    data |= section("defaults", part_data(spec.defaults))
    data["relations"] = {each.name: relation_data(each) for each in spec.relations}
    if spec.products or not spec.streams:
        data["products"] = {each.name: product_data(each) for each in spec.products}
    data |= section("streams", {each.name: part_data(each) for each in spec.streams})
    data |= section("windows", {name: window_data(each) for name, each in spec.windows})
    data |= section("sinks", {name: sink_data(each) for name, each in spec.sinks})
    if spec.vault is not None:
        data["vault"] = kind_data(spec.vault.kind, spec.vault.options) | part_data(spec.vault)
    return data | section("run", part_data(spec.run))


def product_data(spec: ProductSpec) -> Data:
    """Return a product as the map under its name."""
    return _form(spec) | part_data(spec)


def _form(spec: ProductSpec) -> Data:
    relation, data = spec.root.relation, part_data(spec.form)
    if isinstance(spec.form, DocumentSpec):
        data = part_data(spec.root)
    if is_below(type(spec.form)):
        return {spec.form.word: {"relation": relation, **data} if data else relation}
    return {spec.form.word: relation, **data}
