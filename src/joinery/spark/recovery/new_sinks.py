"""Tells which sinks lack what was sent before they were there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from joinery.delivery.sent_mark import SentMark
from joinery.place.place import Place
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.sinks.protocol import make_sink


def new_sinks(
    spec: ProjectSpec, checkpoint: Place, products: Sequence[Product]
) -> Iterator[tuple[str, str]]:
    """Yield the name and the target of each sink that only gets what changes from now on.

    Args:
        spec: The project.
        checkpoint: Of the query.
        products: Those of it whose documents the next run does not send again.
    """
    folder = spec.path_of(".")
    sent = SentMark(checkpoint, folder)
    for product in products:
        for declared in () if product.outbox else product.sinks:
            sink = make_sink(declared.kind, product.name, dict(declared.options), folder)
            if sent.has(product.name, sink.target) is False:
                yield product.name, sink.target
