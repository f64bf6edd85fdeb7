"""Contracts of small projects."""

from __future__ import annotations

from joinery.contract.contract import Contract, Value
from joinery.contract.derive import contracts_of
from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text

RELATIONS = """\
relations:
  user: {key: [id], fields: {id: long, name: string, size: int, price: "decimal(10,2)"}}
  order: {key: [id], fields: {id: long, user_id: long, amount: double, at: timestamp}}
"""


def contract(product: str, relations: str = RELATIONS) -> Contract:
    """Return the contract of a product, given as the map that declares it."""
    return contracts(f"{{p: {product}}}", relations)[0]


def contracts(products: str, relations: str = RELATIONS) -> tuple[Contract, ...]:
    """Return the contracts of products, given as one map."""
    spec = load_text(f"{relations}products: {products}\n")
    return contracts_of(spec, build_plan(spec))


def stream_contract(stream: str, relations: str) -> Contract:
    """Return the contract of a stream, given as the map that declares it."""
    spec = load_text(f"{relations}streams: {{s: {stream}}}\n")
    return contracts_of(spec, build_plan(spec))[0]


def nullable(found: Contract) -> dict[str, bool]:
    """Return for each name of a document whether it may be null."""
    return {each.name: each.value.nullable for each in found.value.members}


def value(found: Contract, name: str) -> Value:
    """Return what is promised of one name of a document."""
    return next(each.value for each in found.value.members if each.name == name)
