"""A stream as a product, for whatever asks for name, query, key, value and sinks alone."""

from __future__ import annotations

from joinery.plan.nodes import Node, Plan, Product
from joinery.plan.stream import Stream


def product_of(stream: Stream) -> Product:
    """Return a stream as a product: its events are the documents."""
    root = Node(stream.name, stream.name, "root", stream.relation)
    return Product(stream.name, root, sinks=stream.sinks, group=stream.group, stream=stream)


def outputs_of(plan: Plan) -> tuple[Product, ...]:
    """Return all that a project sends: its products, then its streams."""
    return plan.products + tuple(product_of(each) for each in plan.streams)
