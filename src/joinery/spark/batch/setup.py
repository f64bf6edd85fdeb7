"""Chooses the queries of a run and makes them: their products with their sinks and spools.

Invariant: products of one group are chosen together or not at all. A spool, a folder in the
checkpoint, belongs to one target, so documents are never written to another; one that holds
documents for a target that is no longer spooled stops the run rather than lose them.
"""

from __future__ import annotations

import difflib
import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.dead_letters.open import dead_letter_writer
from joinery.delivery.query_paths import STAGING
from joinery.delivery.restored import Begun
from joinery.delivery.sent_mark import SentMark
from joinery.delivery.spool import DEFAULT_MAX_BYTES, SpoolPlace
from joinery.delivery.task_sink import SinkMaker, Tasks, writes_by_tasks
from joinery.errors import SpecError
from joinery.lookups.coherence import Coherence, TellingSink
from joinery.lookups.registry import lookup_target
from joinery.place.place import Place
from joinery.plan.product import Plan, Product
from joinery.plan.product import Sink as DeclaredSink
from joinery.plan.watermark import watched
from joinery.project.captured import CAPTURED
from joinery.project.kinds import SINKS
from joinery.project.product import ProjectSpec
from joinery.project.quantity import size_bytes
from joinery.sinks.kafka import KafkaSinkOptions
from joinery.sinks.outbox import EventShape, OutboxSink, outbox_sink
from joinery.sinks.protocol import Sink, SinkError, make_sink
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.query import QueryRun
from joinery.spark.batch.query_kernel import lookups_of, lower_query
from joinery.spark.batch.query_sinks import ProductSinks
from joinery.spark.batch.ready import Ends
from joinery.spark.batch.repairs import Repairs
from joinery.spark.batch.staging import Staging
from joinery.spark.batch.stores import is_store_backed
from joinery.spark.batch.watermarks import QueryTimes
from joinery.spark.recovery.attempt import Attempts
from joinery.spark.source.source import sources_of
from joinery.vault.sink import opening_sink

if TYPE_CHECKING:
    from joinery.delivery.query_paths import QueryPaths
    from joinery.spark.batch.mode import RunMode

_MARKS = "outbox"
_SPOOLS = "joinery-spool"


class SelectionError(SpecError):
    """The arguments of a run name something that the project does not have."""

    code = "RUN_SELECTION"


class OutboxRefusedError(SpecError):
    """An outbox cannot do what a run is asked for."""

    code = "RUN_OUTBOX"


def check_runnable(spec: ProjectSpec) -> None:
    """See that a project has something to run, before Spark starts for it.

    Raises:
        SelectionError: It has neither products nor streams that have a name, as a sink gives it.
    """
    if not spec.products and not spec.streams:
        raise _nothing()


def check_selected(spec: ProjectSpec, names: Sequence[str]) -> None:
    """See that no name is that of a stream which only others run.

    Raises:
        SelectionError: One is.
    """
    for name in names:
        if why := spec.why_no_query(name):
            hint = f'Name "{spec.continued_streams[name]}", or give "{name}" a sink.'
            raise SelectionError(why, hint=hint)


def select_queries(
    products: Sequence[Product], names: Sequence[str] = ()
) -> Mapping[str, tuple[Product, ...]]:
    """Return the products to run, by query.

    Args:
        products: All products of the project.
        names: Those to run; empty means all.

    Raises:
        SelectionError: A product is not known, or only a part of a group is named.
    """
    if not products:
        raise _nothing()
    known = tuple(each.name for each in products)
    for name in names:
        if name not in known:
            raise _unknown("product", name, known)
    chosen = tuple(each for each in products if not names or each.name in names)
    queries: dict[str, tuple[Product, ...]] = {}
    for product in chosen:
        queries[product.query] = (*queries.get(product.query, ()), product)
    for query, members in queries.items():
        _check_whole(query, members, products)
    return queries


def _nothing() -> SelectionError:
    return SelectionError(
        "the project has nothing to run",
        detail="It has no products, and none of its streams has a sink.",
        hint="Add a product, or a sink to a stream: in Python end it with .sink(…).",
    )


def _check_whole(query: str, members: Sequence[Product], products: Sequence[Product]) -> None:
    missing = [each.name for each in products if each.query == query and each not in members]
    if missing:
        raise SelectionError(
            f'products of group "{query}" run together',
            detail=f"Left out: {', '.join(missing)}.",
            hint=f"Name them too: {' '.join(f'--product {name}' for name in missing)}.",
        )


def _unknown(kind: str, name: str, known: Sequence[str]) -> SelectionError:
    near = difflib.get_close_matches(name, known, n=1)
    return SelectionError(
        f'there is no {kind} "{name}"',
        detail=f"Known: {', '.join(known)}.",
        hint=f'Use "{near[0]}".' if near else "",
    )


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


def make_queries(
    spec: ProjectSpec,
    plan: Plan,
    chosen: Mapping[str, Sequence[Product]],
    mode: RunMode,
    board: ProgressBoard,
    tasks: Tasks,
) -> list[QueryRun]:
    """Return the queries of a run, which have taken nothing yet; needs no Spark.

    Args:
        spec: The project.
        plan: Its plan, whose lookups tell which sinks must report the keys they write.
        chosen: The products to run, by query.
        mode: Where the queries are kept, and when they send.
        board: Notified of what is counted and waited for.
        tasks: Write to the sinks that tasks may write to.
    """
    sinks = _ProductSinks(spec, plan, mode)
    return [
        _query(spec, name, products, mode, board, sinks, tasks) for name, products in chosen.items()
    ]


def _query(
    spec: ProjectSpec,
    name: str,
    products: Sequence[Product],
    mode: RunMode,
    board: ProgressBoard,
    sinks: _ProductSinks,
    tasks: Tasks,
) -> QueryRun:
    paths = mode.paths(name)
    lowered = lower_query(products, spec.run, mode.standing(name))
    ends = Ends(paths.checkpoint, sources_of(spec, products))
    return QueryRun(
        name,
        [sinks.of(each, paths) for each in products],
        lowered=lowered,
        lease=paths.lease,
        dead_letters=dead_letter_writer(spec, name),
        wait_for_letters=spec.run.dead_letters_wait,
        attempts=Attempts(paths.checkpoint.parent, name),
        staging=Staging(spec.scratch / STAGING / paths.staging.name, paths.staging),
        times=QueryTimes(
            lowered.relations,
            watched=[log for each in products for log in watched(each.form)],
            checkpoint=paths.checkpoint,
        ),
        begun=partial(Begun.of, paths.query, paths.checkpoint),
        sent=SentMark(paths.checkpoint, spec.path_of(".")),
        board=board,
        tombstone_retention_ms=spec.run.tombstone_retention_ms,
        outlets=mode.outlets(name, products, ends),
        repairs=Repairs(paths, spec.path_of("."))
        if mode.sends_between and not spec.run.real_time
        else None,
        tasks=tasks,
        lookups=lambda query: lookups_of(lowered, spec, query.ended, board.wait, sinks.coherence),
    )


class _ProductSinks:
    """Makes the sinks of products; those whose table a lookup asks for report its keys."""

    def __init__(self, spec: ProjectSpec, plan: Plan, mode: RunMode) -> None:
        self._spec = spec
        self._rebuilds = not mode.sends_between
        self.coherence = Coherence()
        self._asked = {
            lookup_target(each, spec.path_of("."))
            for stream in plan.streams
            for each in stream.lookups
        } - {None}

    def of(self, product: Product, paths: QueryPaths) -> ProductSinks:
        """Return a product with its sinks, not yet opened, and their spools."""
        declared, sinks = product.sinks, tuple[Any, ...]()
        if product.outbox:
            declared, sinks = (), (outbox_sink_of(product, self._spec, paths.on_disk("an outbox")),)
        else:
            sinks = tuple(self._sink(each, product) for each in declared)
        spools = spool_places(product.name, sinks, declared, paths.checkpoint)
        makers = tuple(map(partial(self._maker, product), sinks, declared))
        return ProductSinks(product, sinks, spools, makers)

    def _maker(self, product: Product, sink: Sink, declared: DeclaredSink) -> SinkMaker | None:
        """Return what tasks make a sink from; None where the driver writes to it."""
        options = dict(declared.options)
        what = f'sink "{declared.kind}" of product "{product.name}"'
        holds = [*holds_of(product, sink, options)]
        if not writes_by_tasks(sink, options.get("parallel"), holds, what) or self._rebuilds:
            return None
        return SinkMaker(declared.kind, product.name, options, self._spec.path_of("."))

    def _sink(self, declared: DeclaredSink, product: Product) -> Sink:
        options, folder, name = dict(declared.options), self._spec.path_of("."), product.name
        sink = make_sink(declared.kind, name, options, folder)
        sink = opening_sink(self._spec, product, declared, sink)
        target = SINKS.target(declared.kind, options, name, folder)
        return self.coherence.heard(sink, target) if target in self._asked else sink


def holds_of(product: Product, sink: Sink, options: Mapping[str, object]) -> Iterator[str]:
    """Yield what of a product has the driver hold or read the documents of one of its sinks."""
    if any(each.personal is not None for each in product.relations):
        yield "personal columns"
    if options.get("spool") is True:
        yield "spool: true"
    if product.settle_ms is not None:
        yield "emit: {settle: …}"
    if product.ready:
        yield "ready"
    if is_store_backed([product]):
        yield f"solution: {product.solution}"
    if isinstance(sink, TellingSink):
        yield "the lookup of the same table"


def outbox_sink_of(product: Product, spec: ProjectSpec, checkpoint: Path) -> OutboxSink:
    """Return where the events of an outbox go."""
    (sink,) = product.sinks
    outbox = product.outbox
    assert outbox is not None  # asked for before
    options = SINKS.read(sink.kind, dict(sink.options))
    assert isinstance(options, KafkaSinkOptions)  # an outbox has no other sink
    relation = product.root.relation
    kinds = {each.name: each.kind for each in spec.sources}
    shape = EventShape(
        topic=options.topic,
        id=relation.key,
        key=outbox.key,
        value=outbox.value,
        headers=outbox.headers or (),
    )
    files = kinds.get(relation.source) in ("files", *CAPTURED)
    return outbox_sink(options, shape, checkpoint / _MARKS, one_log=files)


def spool_places(
    product: str, sinks: Sequence[Sink], declared: Sequence[DeclaredSink], checkpoint: Place
) -> tuple[SpoolPlace | None, ...]:
    """Return the spool of each sink, None for one that is written directly.

    Raises:
        SinkError: A spool holds documents for a target that has no spool any more.
    """
    if not isinstance(checkpoint, Path):  # where there are none
        return (None,) * len(sinks)
    root = checkpoint / _SPOOLS / product
    places = tuple(
        _place(root, sink, dict(each.options)) for sink, each in zip(sinks, declared, strict=False)
    )
    known = {each.folder for each in places if each is not None}
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder not in known and any(folder.iterdir()):
            raise SinkError(
                f'a spool of product "{product}" holds documents for a sink without a spool',
                detail=f"It is {folder}.",
                hint="Run once with the sink as it was, or remove the folder to discard them.",
            )
    return places


def spooled_products(checkpoint: Place) -> list[str]:
    """Return the products of which a spool of a checkpoint holds something."""
    root = checkpoint / _SPOOLS
    if not isinstance(root, Path) or not root.is_dir():  # in a store there are none
        return []
    return [each.name for each in sorted(root.iterdir()) if any(each.rglob("*.*"))]


def forget_spools(checkpoint: Path) -> None:
    """Remove all that spools of a checkpoint hold."""
    root = checkpoint / _SPOOLS
    if root.exists():
        shutil.rmtree(root)


def _place(root: Path, sink: Sink, options: dict[str, object]) -> SpoolPlace | None:
    if options.get("spool") is not True:
        return None
    name = hashlib.sha256(sink.target.encode()).hexdigest()[:16]
    most = size_bytes(str(options.get("spool_max_bytes", DEFAULT_MAX_BYTES)))
    return SpoolPlace(root / name, most or DEFAULT_MAX_BYTES)
