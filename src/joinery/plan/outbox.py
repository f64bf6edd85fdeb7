"""Whether a relation can be an outbox, and which of its columns make an event."""

from __future__ import annotations

import re
from dataclasses import replace

from joinery.model.type import Array, Map, Struct
from joinery.plan.context import Context
from joinery.plan.relation import Relation
from joinery.project.form import OutboxSpec
from joinery.project.kafka import pattern_of
from joinery.project.product import ProductSpec

_HEADERS = (("id", "id"), ("eventType", "type"))
ROUTE = re.compile(r"\{([^{}]*)\}")


def columns_of_route(topic: str) -> tuple[str, ...]:
    """Return the columns that a topic such as `orders.{type}` is made of.

    Example:
        >>> columns_of_route("outbox.{aggregatetype}")
        ('aggregatetype',)
    """
    return tuple(ROUTE.findall(topic))


def outbox_of(
    context: Context, spec: ProductSpec, outbox: OutboxSpec, relation: Relation
) -> OutboxSpec:
    """Return the outbox of a product with all of its headers.

    Args:
        context: Takes the problems.
        spec: The product.
        outbox: What it declares.
        relation: Its root.
    """
    path = ("products", spec.name, "outbox")
    known = [each.name for each in relation.columns]
    headers = outbox.headers
    if headers is None:
        headers = tuple(each for each in _HEADERS if each[1] in known)
    for name in (outbox.key, outbox.value, *(column for _, column in headers)):
        _check_column(context, relation, name, path, known)
    if relation.derived or relation.where:
        message = f'relation "{relation.name}" is an outbox, which has neither derive nor where'
        context.refuse("PLAN_OUTBOX", message, path)
    if pattern_of(relation.topic) is not None:
        message = f'relation "{relation.name}" is an outbox and reads several topics'
        context.refuse("PLAN_OUTBOX", message, path, hint="Give each topic a relation.")
    _check_sinks(context, spec, relation, known)
    return replace(outbox, headers=headers)


def _check_column(
    context: Context, relation: Relation, name: str, path: tuple[str, ...], known: list[str]
) -> None:
    if name not in known:
        message = f'relation "{relation.name}" has no field "{name}"'
        context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=known)
    elif isinstance(relation.type_of(name), Array | Map | Struct):
        message = f'"{name}" of relation "{relation.name}" is {relation.type_of(name)}'
        hint = "Name columns of a simple type; a payload in JSON is a string."
        context.refuse("PLAN_OUTBOX", message, path, hint=hint)


def _check_sinks(context: Context, spec: ProductSpec, relation: Relation, known: list[str]) -> None:
    path = ("products", spec.name, "sink")
    for sink in spec.sinks:
        kind, options = sink.kind, dict(sink.options)
        if sink.use is not None:
            found = dict(context.spec.sinks).get(sink.use)
            kind = found.kind if found else "kafka"
            options = {**(dict(found.options) if found else {}), **options}
        if kind != "kafka":
            hint = "Write {kafka: {topic: …}}."
            message = f'product "{spec.name}" has an outbox, whose events go to Kafka'
            context.refuse("PLAN_OUTBOX", message, path, hint=hint)
        for name in columns_of_route(str(options.get("topic", ""))):
            _check_column(context, relation, name, (*path, "kafka", "topic"), known)
    if len(spec.sinks) > 1:
        message = f'product "{spec.name}" has an outbox, whose events go to one sink'
        context.refuse("PLAN_OUTBOX", message, path)
