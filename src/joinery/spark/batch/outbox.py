"""How a run treats an outbox: where its events go, and what it cannot do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.project.product import ProjectSpec
from joinery.sinks.outbox import EventShape, OutboxSink, outbox_sink

_MARKS = "outbox"


class OutboxRefusedError(SpecError):
    """An outbox cannot do what a run is asked for."""

    code = "RUN_OUTBOX"


def outbox_sink_of(product: Product, spec: ProjectSpec, checkpoint: Path) -> OutboxSink:
    """Return where the events of an outbox go."""
    (sink,) = product.sinks
    options, outbox = dict(sink.options), product.outbox
    assert outbox is not None  # asked for before
    relation = product.root.relation
    kinds = {each.name: each.kind for each in spec.sources}
    shape = EventShape(
        topic=str(options["topic"]),
        id=relation.key,
        key=outbox.key,
        value=outbox.value,
        headers=outbox.headers or (),
    )
    files = kinds.get(relation.source) == "files"
    return outbox_sink(options, shape, checkpoint / _MARKS, one_log=files)


def check_rebuildable(chosen: Mapping[str, Sequence[Product]]) -> None:
    """Refuse to rebuild an outbox: its events would all be sent again.

    Raises:
        OutboxRefusedError: There is one among the products.
    """
    for products in chosen.values():
        for product in products:
            if product.outbox:
                raise OutboxRefusedError(
                    f'product "{product.name}" has an outbox, which cannot be rebuilt',
                    detail="Its events were sent, and would all be sent again.",
                    hint="Name the products to rebuild: --product NAME.",
                )
