"""Makes the queries of a run: their products with the sinks they write to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joinery.dead_letters.place import letter_writer
from joinery.delivery.sent_mark import SentMark
from joinery.lookups.coherence import Coherence, place_of
from joinery.lookups.registry import place_asked
from joinery.plan.nodes import Plan, Product
from joinery.plan.nodes import Sink as SinkPlan
from joinery.project.product import ProjectSpec
from joinery.sinks.protocol import Sink
from joinery.sinks.registry import make_sink
from joinery.spark.batch.outbox import outbox_sink_of
from joinery.spark.batch.place import Place
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.query import ProductSinks, QueryRun
from joinery.spark.batch.query_kernel import asking_of, lower_query
from joinery.spark.batch.ready import Ends
from joinery.spark.batch.spooling import spool_places
from joinery.spark.batch.undertaking import Undertaking
from joinery.spark.recovery.attempt import Attempts
from joinery.spark.source.source import sources_of


class QueryMaker:
    """Makes each query of one run; needs no Spark.

    Args:
        spec: The project.
        plan: Its plan, whose lookups tell which tables' keys must be heard.
        undertaking: Where the queries stand.
        board: Told of what is counted and waited for.
    """

    def __init__(
        self, spec: ProjectSpec, plan: Plan, undertaking: Undertaking, board: ProgressBoard
    ) -> None:
        self._spec = spec
        self._undertaking = undertaking
        self._board = board
        self._coherence = Coherence()
        self._asked = {
            place_asked(each, spec.path_of("."))
            for stream in plan.streams
            for each in stream.lookups
        } - {None}

    def make(self, name: str, products: Sequence[Product]) -> QueryRun:
        """Return the query of some products, which has taken nothing yet."""
        place = self._undertaking.place(name)
        lowered = lower_query(products, self._spec.run)
        ends = Ends(place.checkpoint, sources_of(self._spec, products))
        return QueryRun(
            name,
            [self._member(each, place) for each in products],
            lowered=lowered,
            lease=place.lease,
            dead_letters=letter_writer(self._spec, name),
            wait_for_letters=self._spec.run.dead_letters_wait,
            attempts=Attempts(place.checkpoint.parent, name),
            staging=place.staging,
            sent=SentMark(place.checkpoint, self._spec.path_of(".")),
            board=self._board,
            tombstone_retention_ms=self._spec.run.tombstone_retention_ms,
            delay=self._undertaking.delay(name, products, ends),
            asking=lambda query: asking_of(
                lowered, self._spec, query.ended, self._board.wait, self._coherence
            ),
        )

    def _member(self, product: Product, place: Place) -> ProductSinks:
        sinks = self._sinks(product, place)
        declared = () if product.outbox else product.sinks
        return ProductSinks(
            product, sinks, spool_places(product.name, sinks, declared, place.checkpoint)
        )

    def _sinks(self, product: Product, place: Place) -> tuple[Any, ...]:
        if product.outbox:
            return (outbox_sink_of(product, self._spec, place.checkpoint),)
        folder = self._spec.path_of(".")
        return tuple(self._sink(each, product.name, folder) for each in product.sinks)

    def _sink(self, declared: SinkPlan, name: str, folder: Path) -> Sink:
        """Return a sink, which tells its keys where a lookup asks for the table it keeps."""
        options = dict(declared.options)
        sink = make_sink(declared.kind, name, options, folder)
        place = place_of(declared.kind, options, name, folder)
        return self._coherence.heard(sink, place) if place in self._asked else sink
