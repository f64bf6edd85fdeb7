"""Lowers a query, and opens the kernel that it needs: of documents, of an outbox, of streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from joinery.lookups.coherence import Coherence
from joinery.model.progress import Waiting
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.stream import Stream
from joinery.project.product import ProjectSpec
from joinery.project.run import RunSpec
from joinery.solutions.spark_state.fingerprint import Fingerprint, fingerprint
from joinery.solutions.spark_state.joining import join
from joinery.solutions.spark_state.ledger import Ledger, stand
from joinery.solutions.spark_state.lower import (
    gathers_in_folds,
    has_cells_in_searches,
    has_deadlines_beside,
    has_former,
    judges_rows_that_come,
    lower,
)
from joinery.solutions.spark_state.lower_stream import LoweredStreams, lower_streams
from joinery.solutions.spark_state.needed import products_read
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.batch.stores import is_store_backed
from joinery.spark.jvm import class_of, load_jar
from joinery.spark.kernel import Kernel, open_kernel
from joinery.spark.reading import reading_of
from joinery.spark.source.feed import open_change_feed
from joinery.spark.source.source import BatchLabel, Topic
from joinery.spark.streams.kernel import StreamKernel, open_stream_kernel
from joinery.spark.streams.lookups import StreamLookups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.spark.kernel import BatchKernel
    from joinery.spark.real_time.uncommitted import PendingRoots


@dataclass(frozen=True, slots=True)
class LoweredQuery:
    """The products of one query, lowered: made once, then used by all that runs the query.

    Attributes:
        products: The members of the query.
        program: Their kernel program, with the limits of the run.
        streams: Their streams as lowered; None where they are documents.
        former: Their program as older checkpoints may have it; None where it is the same.
        earlier: The marks of programs that wrote some of the state before.
    """

    products: tuple[Product, ...]
    program: KernelProgram
    streams: LoweredStreams | None = None
    former: KernelProgram | None = None
    earlier: tuple[str, ...] = ()

    @property
    def relations(self) -> tuple[Relation, ...]:
        """All relations that are read, tables of stores included, each once."""
        if self.streams is not None:
            streams = streams_of(self.products)
            return tuple(dict.fromkeys(each for one in streams for each in one.named_relations))
        return tuple(dict.fromkeys(each for one in self.products for each in one.relations))


def lower_query(
    products: Sequence[Product], run: RunSpec, standing: Fingerprint | None = None
) -> LoweredQuery:
    """Return one query lowered, with the limits of the run.

    Args:
        products: The members of the query.
        run: How the project is run.
        standing: What is noted of the checkpoint that it is to go on from. Where that holds state
            of products that are gone, nodes have the numbers that they have there.
    """
    members, streams = tuple(products), streams_of(products)
    if streams:
        lowered = lowered_streams(streams, run)
        return LoweredQuery(members, lowered.program, lowered)
    program, *others = lower_products(members, run)
    wrote = [
        each
        for each in (program, *others)
        if standing is not None and fingerprint(each).program == standing.program
    ]
    former = next((each for each in (*wrote, *others) if each is not program), None)
    ledger = None if standing is None else standing.ledger
    if ledger is None:
        return LoweredQuery(members, program, former=former)
    if not wrote:
        stood = (stand(each, ledger).program for each in lower_products(members, run, ledger))
        fits = next((each for each in stood if each is not None), None)
        program, former = fits or _as_it_stood(members, run, standing) or program, None
    return LoweredQuery(members, program, former=former, earlier=ledger.earlier)


def _as_it_stood(
    members: Sequence[Product], run: RunSpec, standing: Fingerprint | None
) -> KernelProgram | None:
    """Return products with no state there, lowered to keep of it what they can.

    They are refused in its words: what was built from logs has other names, and what nobody needs
    any more is not missed.
    """
    built = None if standing is None else standing.before or standing
    if built is None or built.ledger is None:
        return None
    return lower_products(members, run, built.ledger)[0]


def lower_products(
    products: Sequence[Product],
    run: RunSpec,
    ledger: Ledger | None = None,
    parts: Mapping[str, int] = MappingProxyType({}),
) -> list[KernelProgram]:
    """Return the program of products, then those that older checkpoints may have instead.

    Args:
        products: The members of the query.
        run: How the project is run.
        ledger: What a checkpoint holds that the program is to keep.
        parts: By product the part that it is to be in, where the ledger does not say it.
    """
    known = parts if ledger is None else {**ledger.parts, **parts}
    placed = {each.name: _parts_of(each, products, known) for each in products}
    members: dict[int | None, list[Product]] = {}
    for each in products:
        for part in placed[each.name]:
            members.setdefault(part, []).append(each)
    # What reads products of several parts is in none of them: it is told as one that changed.
    if not members.keys() - {None} or any(len(each) > 1 for each in placed.values()):
        return _lower_part(products, run, None if ledger is None else ledger.of_part(None))
    parted = sorted(members, key=lambda part: part or 0)
    ways = [
        _lower_part(members[part], run, None if ledger is None else ledger.of_part(part))
        for part in parted
    ]
    return [join(dict(zip(parted, each, strict=True))) for each in product(*ways)]


def _parts_of(
    one: Product, products: Sequence[Product], known: Mapping[str, int]
) -> frozenset[int | None]:
    """Return the part in which a product is; where it reads other products, the parts of these."""
    read = products_read(one)
    found = [_parts_of(each, products, known) for each in products if each.name in read]
    return frozenset[int | None]().union(*found) or frozenset((known.get(one.name),))


def _lower_part(
    products: Sequence[Product], run: RunSpec, ledger: Ledger | None
) -> list[KernelProgram]:
    lower_all = partial(
        lower,
        products,
        tombstone_retention_micros=run.tombstone_retention_ms * 1000,
        max_document_bytes=run.max_document_bytes,
        ledger=ledger,
    )
    program = lower_all()
    ways = [program]
    if has_former(program):
        ways.append(lower_all(former=True))
    if judges_rows_that_come(program):
        ways.append(lower_all(keeps_judged=True))
    if gathers_in_folds(program):
        ways.append(lower_all(keeps_gathers=True))
    if has_deadlines_beside(program):
        ways.append(lower_all(keeps_closings=True))
    if has_cells_in_searches(program):
        ways.append(lower_all(keeps_searched=True))
    return ways


def lowered_streams(streams: Sequence[Stream], run: RunSpec) -> LoweredStreams:
    """Return the streams of one query, with the limits of the run."""
    return lower_streams(
        streams,
        tombstone_retention_micros=run.tombstone_retention_ms * 1000,
        max_document_bytes=run.max_document_bytes,
    )


def streams_of(products: Sequence[Product]) -> list[Stream]:
    """Return the streams among the members of a query: all of them or none."""
    return [each.form for each in products if isinstance(each.form, Stream)]


def lookups_of(
    query: LoweredQuery,
    spec: ProjectSpec,
    ended: Callable[[], bool] = lambda: False,
    tell: Callable[[str, Waiting | None], None] = lambda target, waiting: None,
    coherence: Coherence | None = None,
) -> StreamLookups | None:
    """Return what asks the stores of a query's streams; None where they have none."""
    lowered = query.streams
    if lowered is None or not lowered.asked:
        return None
    names = {node: lowered.program.nodes[node].name for node in lowered.asked}
    return StreamLookups(
        lowered.asked,
        names,
        spec.path_of("."),
        ended=ended,
        tell=tell,
        coherence=coherence,
    )


def open_batch_kernel(
    spark: SparkSession,
    query: LoweredQuery,
    spec: ProjectSpec,
    lookups: StreamLookups | None = None,
) -> BatchKernel:
    """Open the kernel of one query in a session; of one with a store, what decodes its changes.

    Args:
        spark: The session.
        query: What is to run.
        spec: The project.
        lookups: Of the stores of its streams, opened.
    """
    products = query.products
    if products[0].outbox:
        return open_relay(spark, query.program, products[0].root.relation)
    if is_store_backed(products):
        return open_change_feed(spark, products)
    return open_level_kernel(spark, query, spec, lookups)


def open_level_kernel(
    spark: SparkSession,
    query: LoweredQuery,
    spec: ProjectSpec,
    lookups: StreamLookups | None = None,
) -> Kernel | StreamKernel:
    """Open the kernel of a query whose state is Spark's; see `open_batch_kernel`."""
    if query.streams is not None:
        folder = spec.path_of(".")
        return open_stream_kernel(spark, query.streams, query.relations, folder, lookups)
    settling = frozenset(each.name for each in query.products if each.settle_ms is not None)
    kernel = open_kernel(spark, query.program, query.relations, query.earlier)
    return replace(kernel, settling=settling)


_RELAY = "dev.joinery.kernel.door.Relay"


@dataclass(frozen=True, slots=True)
class Relay:
    """An outbox in a session's JVM.

    Attributes:
        program: Of the product whose root is the outbox.
        relations: The outbox alone.
    """

    session: SparkSession
    program: KernelProgram
    relations: Sequence[Relation]
    _jvm_relay: Any

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Return the rows that were inserted, in no order; to be given to `stage`.

        There are no documents, so none are pending.
        """
        reading = reading_of(self.session, self.program, self.relations, raw, topics)
        return DataFrame(self._jvm_relay.chain(reading), self.session)

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> dict[str, dict[str, dict[str, int]]]:
        """Run a batch once, in the order of its log; see `Kernel.stage`."""
        counts: dict[str, dict[str, dict[str, int]]] = json.loads(
            self._jvm_relay.stage(batch._jdf, str(folder))
        )
        return counts


def open_relay(session: SparkSession, program: KernelProgram, relation: Relation) -> Relay:
    """Open an outbox in the JVM of `session`.

    Raises:
        SessionError: The session is of Spark Connect.
    """
    load_jar(session)
    jvm_relay = class_of(session, _RELAY).open(program.to_json())
    return Relay(session, program, (relation,), jvm_relay)
