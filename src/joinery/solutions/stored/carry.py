"""Join state carried from one store into another: rows, and what sinks hold.

Limits: the keys of one relation, and all documents, are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from joinery.model.change import Key
from joinery.plan.nodes import Product
from joinery.semantics.document import SentDocument
from joinery.solutions.stored.state import Batch, Emitted, JoinState, PortableState

_AT_ONCE = 20_000


def carry(
    source: PortableState, target: JoinState, products: Sequence[Product], last: Batch
) -> None:
    """Let `target` hold what `source` holds, as if it had taken all batches itself.

    Args:
        source: Of a query that does not run.
        target: It is emptied first.
        products: Of the query.
        last: The batch that both have acknowledged last from then on.

    Raises:
        StoreError: One of the two cannot be used; `target` is not to be gone on with.
    """
    target.begin(replace(last, number=0))
    for relation in dict.fromkeys(each.name for one in products for each in one.relations):
        for keys in _some(source, relation):
            standing = source.rows(relation, keys)
            target.rows(relation, keys)  # what is not there is written faster
            target.write(relation, standing)
    emitted = {each.name: Emitted(silent=_documents(source, each.name)) for each in products}
    target.acknowledge(last, emitted)


def _some(source: PortableState, relation: str) -> Iterator[list[Key]]:
    keys = iter(source.keys(relation))
    while some := list(islice(keys, _AT_ONCE)):
        yield some


def _documents(source: PortableState, product: str) -> dict[Key, SentDocument]:
    return dict(source.sent(product, source.roots(product)))
