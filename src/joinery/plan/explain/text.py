"""The logical plan of products as text."""

from __future__ import annotations

from joinery.plan.explain.document import document_lines, scan_root
from joinery.plan.explain.form import shown
from joinery.plan.explain.stream import render_stream
from joinery.plan.explain.words import INDENT
from joinery.plan.product import DocumentForm, OutboxForm, Plan, Product
from joinery.plan.stream import (
    Stream,
)
from joinery.project.form import OutboxSpec


def render_plan(plan: Plan) -> str:
    """Return all products of a plan, an empty line between them."""
    return "\n".join(render_product(product) for product in plan.products)


def render_product(product: Product) -> str:
    """Return the plan of one product.

    Example:
        >>> from joinery.model.type import STRING, Field
        >>> from joinery.plan.node import Node
        >>> from joinery.plan.relation import Computed, Relation
        >>> from joinery.expression.typed import Expression
        >>> user = Relation("user", "", "user", "json", ("id",), (Field("id", STRING),))
        >>> shown = (Computed("id", Expression("id", STRING, frozenset({"id"}))),)
        >>> root = Node("users", "users", "root", user, (), shown)
        >>> print(render_product(Product("users", DocumentForm(root))))
        Emit users by id
          Project id
          Scan user [id]
    """
    head = _emit(product)
    match product.form:
        case Stream():
            return render_stream(product.form)
        case DocumentForm():
            steps = document_lines(product.form)
        case OutboxForm(root, columns):
            head, steps = _relay(product, columns), scan_root(root)
        case flat:
            steps = shown(flat, product.solution).steps
    lines = [head, *(INDENT + line for line in steps)]
    return "\n".join(lines) + "\n"


def _relay(product: Product, outbox: OutboxSpec) -> str:
    topics = ", ".join(str(dict(each.options).get("topic")) for each in product.sinks)
    return f"Relay {outbox.value} of {product.name} by {outbox.key} to kafka {topics}"


def _emit(product: Product) -> str:
    names = [each.name for each in product.key.fields]
    key = ", ".join(product.form.relation.key if product.personal_key else names)
    parts = [f"Emit {product.name} by {key or 'nothing'}"]
    if product.sinks:
        parts.append("to " + ", ".join(sink.kind for sink in product.sinks))
    if product.settle_ms is not None:
        parts.append(f"after {product.settle_ms} ms of quiet")
    if product.removes_erased:
        parts.append("removed once erased")
    if product.ready:
        parts.append(f"ready after {', '.join(product.ready)}")
    return " ".join(parts)
