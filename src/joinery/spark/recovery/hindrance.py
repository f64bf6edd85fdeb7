"""Tells what beside its state keeps a checkpoint from being gone on with, for now or for good."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from joinery.errors import RunError, StateMismatchError
from joinery.place.place import Place
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.spark_state.addition import Telling
from joinery.solutions.spark_state.fingerprint import Fingerprint
from joinery.solutions.spark_state.ledger import Ledger, Standing
from joinery.spark.batch.mode import HeldBackError, check_held
from joinery.spark.batch.setup import spooled_products
from joinery.spark.real_time.uncommitted import RealTimeMark
from joinery.spark.recovery.checkpoint import check_sources, last_batch, positions_after, untold
from joinery.spark.recovery.query_change import ApplyError
from joinery.spark.recovery.replacement import next_checkpoint
from joinery.spark.source.kafka import subscription
from joinery.spark.source.source import SourceRead, positions, sources_of


def hindrance(
    query: str, folder: Place, products: Sequence[Product], standing: Fingerprint, stood: Standing
) -> RunError | None:
    """Return why a checkpoint whose state fits cannot be gone on with for now.

    Args:
        query: Its query.
        folder: The checkpoint.
        products: Those of the query as they are now.
        standing: What is noted of it, with a ledger.
        stood: What of the products is in it.
    """
    assert standing.ledger is not None
    telling = untold(folder)
    if telling != standing.telling:
        telling = None  # Nothing of it was begun, and it is taken back.
    if telling is not None and not _takes_back(telling, stood, standing.ledger):
        return ApplyError(
            f'products that were added to query "{query}" are not built yet',
            hint="Build them first, with the project as it was: joinery run --once."
            " Or apply the project without them.",
        )
    _, committed = last_batch(folder)
    if not committed and telling is None:
        return ApplyError(
            f'the last batch of query "{query}" is not finished',
            hint="Finish it first, with the project as it was: joinery run --once.",
        )
    try:
        check_held(folder, products)
    except HeldBackError as error:
        return error
    try:
        check_held(folder, [each for each in products if each.name not in stood.changed])
    except HeldBackError as error:
        return ApplyError(
            f'query "{query}" still holds documents of products that have changed',
            detail=error.detail,
            hint="Send them first, with the project as it was: joinery run --once.",
        )
    return None


def _takes_back(telling: Telling, stood: Standing, ledger: Ledger) -> bool:
    """Return whether what is removed is what was added last, and nothing else changes.

    The batch that was to build it reads nothing, and nobody else hears of it: it may be begun.
    """
    others = stood.added or stood.changed
    return not others and {*stood.removed} == telling.products(ledger)


def in_the_way(
    spec: ProjectSpec, query: str, products: Sequence[Product], stood: Standing
) -> list[str]:
    """Return what beside the state keeps a checkpoint from being gone on with."""
    found, folder = other_sources(spec, query, products), next_checkpoint(spec.checkpoint, query)
    found += _topics_left(folder, sources_of(spec, products))
    if RealTimeMark(folder).is_there:
        found.append("real-time mode ran last: run once without it")
    replaced = (*stood.removed, *stood.changed)
    spooled = (each for each in spooled_products(folder) if each in replaced)
    found += [
        f'a spool of product "{each}" has documents that are not sent yet' for each in spooled
    ]
    return found


def _topics_left(folder: Place, reads: Sequence[SourceRead]) -> Iterator[str]:
    """Yield which topics of Kafka would not be read any more: Spark takes them for lost."""
    last, _ = last_batch(folder)
    for read, at in zip(reads, positions_after(folder, last or 0), strict=False):
        if read.source.kind == "kafka":
            pattern = subscription([*read.relations])
            left = sorted(each for each in positions(at) if not re.fullmatch(pattern, each))
            if left:
                yield f"topics in Kafka would not be read any more: {', '.join(left)}"


def other_sources(spec: ProjectSpec, query: str, products: Sequence[Product]) -> list[str]:
    """Return why the positions of a checkpoint are not those of the sources that are read."""
    folder = next_checkpoint(spec.checkpoint, query)
    try:
        check_sources(folder, query, sources_of(spec, products))
    except StateMismatchError as error:
        return [error.message]
    return []
