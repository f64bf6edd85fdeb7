"""The join state of a standing checkpoint, carried over to another solution.

The query does not run meanwhile. What its store holds is copied into a store of the other
solution, beside a copy of the checkpoint that stands where it stood in its sources; then the
copy takes the checkpoint's place, as a rebuild does. Nothing is read from the sources, and
nothing is sent.

Invariant: until the copy is marked as whole, the query goes on from where it was.

Join state carried from one store into another: rows, and what sinks hold.

Limits: the keys of one relation, and all documents, are in memory at a time.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from joinery.delivery.query_paths import SWAPPED, QueryPaths, rebuild_paths
from joinery.errors import RunError
from joinery.model.change import Key
from joinery.place.place import local
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec, with_solution
from joinery.semantics.document import SentDocument
from joinery.slices import slices
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.spark_state.decoded import decoded_relations
from joinery.solutions.spark_state.fingerprint import (
    FILE_NAME,
    SPARK_STATE,
    claim_checkpoint,
    fingerprint,
    standing_solution,
)
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.groups import stored_relations
from joinery.solutions.stored.state import Batch, Emitted, JoinState, PortableState
from joinery.solutions.trigger.options import TriggerOptions
from joinery.spark.batch.query_kernel import lower_query
from joinery.spark.batch.stores import FILE_NAME as STORE_NAME
from joinery.spark.batch.stores import FOLDER, METADATA, place_of, solution_of, statements_of
from joinery.spark.recovery.checkpoint import claim_sources, last_batch
from joinery.spark.recovery.replacement import mark_done, put_in_place
from joinery.spark.source.source import sources_of

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
    for relation in dict.fromkeys(each.name for one in products for each in stored_relations(one)):
        for keys in slices(source.keys(relation), _AT_ONCE):
            standing = source.rows(relation, keys)
            target.rows(relation, keys)  # what is not there is written faster
            target.write(relation, standing)
    emitted = {each.name: Emitted(silent=_documents(source, each.name)) for each in products}
    target.acknowledge(last, emitted)


def _documents(source: PortableState, product: str) -> dict[Key, SentDocument]:
    return dict(source.sent(product, source.roots(product)))


_WHAT = "--bootstrap-from checkpoint"
_HINT = "Use --bootstrap-from source."


class TakeoverError(RunError):
    """The join state of a checkpoint cannot be carried over to another solution."""

    code = "RUN_TAKEOVER"


def take_over(
    spec: ProjectSpec, origin: ProjectSpec, query: str, products: Sequence[Product]
) -> bool:
    """Let a query go on with another solution from where its checkpoint stands.

    Args:
        spec: The project, with the solution that is to go on.
        origin: The same with the solutions that the file names, whose options they have.
        query: Its name.
        products: Those of the query, by `spec`.

    Returns:
        Whether anything was carried over; False where the checkpoint is of that solution.

    Raises:
        TakeoverError: It cannot be; nothing was changed.
        LeaseHeldError: The query runs.
    """
    root = local(spec.checkpoint, _WHAT)
    lease = QueryPaths.of(root, query).lease
    lease.take()
    try:
        put_in_place(root, query)
        standing, new = QueryPaths.of(root, query).on_disk(_WHAT), solution_of(products)
        old = standing_solution(standing)
        if old == new:
            return False
        number = _last(query, standing, old, new)
        held = _with(origin, old or "", query)
        _check_columns(held, products)
        check_statements(held, products)
        _copy(spec, origin, query, products, number)
        return put_in_place(root, query)
    finally:
        lease.release()


def _last(query: str, standing: Path, old: str | None, new: str) -> int:
    """Return the last batch of a checkpoint whose state can be carried over."""
    if old is None:
        raise TakeoverError(f'query "{query}" has no checkpoint to start from', hint=_HINT)
    if SPARK_STATE in (old, new):
        raise TakeoverError(
            f'the join state of query "{query}" cannot be carried from {old} to {new}',
            detail="Spark's state store holds it by node and address, with only the columns that"
            " a node needs, not as rows.",
            hint=_HINT,
        )
    number, committed = last_batch(standing)
    if number is None or not committed:
        raise TakeoverError(
            f'the last batch of query "{query}" is not finished',
            hint=f"Finish it first: joinery run --once --solution {old}.",
        )
    return number


def _check_columns(held: Sequence[Product], wanted: Sequence[Product]) -> None:
    """Refuse a store that lacks columns which the other solution keeps.

    Args:
        held: The products of the query, by the solution that keeps them now.
        wanted: The same by the one that is to go on.
    """
    kept = {each.name: each.columns for each in decoded_relations(held)}
    for relation in decoded_relations(wanted):
        lacking = [each.name for each in relation.columns if each not in kept[relation.name]]
        if lacking:
            old, new = solution_of(held), solution_of(wanted)
            raise TakeoverError(
                f'the store of query "{held[0].query}" lacks columns that {new} needs',
                detail=f"{old} does not keep columns that no product reads; of {relation.name}:"
                f" {', '.join(lacking)}.",
                hint=_HINT,
            )


def check_statements(held: Sequence[Product], wanted: Sequence[Product]) -> None:
    """Refuse documents that one solution makes by statements of the user, and the other does not.

    Args:
        held: The products of the query, by the solution that keeps them now.
        wanted: The same by the one that is to go on.

    Raises:
        TakeoverError: Their statements differ.
    """
    if statements_of(held) != statements_of(wanted):
        raise TakeoverError(
            f'the documents of query "{held[0].query}" are made by different statements',
            detail='The option "sql" of rdbms-trigger is part of their plan.',
            hint=_HINT,
        )


def _copy(
    spec: ProjectSpec, origin: ProjectSpec, query: str, products: Sequence[Product], number: int
) -> None:
    """Make the checkpoint that is to go on, with its store, and mark it as whole."""
    root = local(spec.checkpoint, _WHAT)
    standing = QueryPaths.of(root, query).on_disk(_WHAT)
    fresh = rebuild_paths(root, query).on_disk(_WHAT)
    old, new = standing_solution(standing) or "", solution_of(products)
    lowered, kept = lower_query(products, spec.run), _with(origin, old, query)
    program = claim_checkpoint(
        standing,
        query,
        lowered.program,
        old,
        statements=statements_of(kept),
        former=lowered.former,
    )
    claim_sources(standing, query, sources_of(spec, products))
    shutil.rmtree(fresh, ignore_errors=True)
    left = shutil.ignore_patterns(FOLDER, STORE_NAME, FILE_NAME, SWAPPED)
    shutil.copytree(standing, fresh, ignore=left)
    noted = fingerprint(program, new, statements_of(products)).to_json()
    (fresh / FILE_NAME).write_text(noted, encoding="utf-8")
    last = Batch(_query_id(standing), number, 0, 0)
    source = _opened(kept, place_of(spec, query, standing, beside=False))
    try:
        target = _opened(products, place_of(spec, query, fresh, beside=True))
        try:
            _carry(source, target, products, last)
        finally:
            target.close()
    finally:
        source.close()
    mark_done(fresh)


def _carry(
    source: StoreDriver, target: StoreDriver, products: Sequence[Product], last: Batch
) -> None:
    held = source.portable
    if held is None:
        raise TakeoverError(
            f'the store of "{products[0].query}" cannot list everything it holds',
            detail="The stores of rdbms-store, rdbms-trigger, and kv in RocksDB or Redis can.",
            hint=_HINT,
        )
    if held.last_number(last.query_id) != last.number:
        raise TakeoverError(
            f'the store of "{products[0].query}" is not at the checkpoint\'s last batch',
            hint=_HINT,
        )
    carry(held, target.state, products, last)


def _with(origin: ProjectSpec, solution: str, query: str) -> Sequence[Product]:
    """Return the products of a query by the solution that keeps them now, with its options."""
    plan = build_plan(with_solution(origin, solution))
    return [each for each in plan.products if each.query == query]


def _opened(products: Sequence[Product], place: SolutionPlace) -> StoreDriver:
    name, options = solution_of(products), dict(products[0].solution_options)
    place.folder.mkdir(parents=True, exist_ok=True)
    solution = open_solution(name, products, options, place)
    triggered = TriggerOptions.of(products[0])
    queued = triggered is not None and triggered.queued
    if isinstance(solution, StoreDriver) and not queued:
        return solution
    solution.close()
    raise TakeoverError(
        f'the join state of "{name}" cannot be carried over the way it is used here',
        detail="It can between rdbms-store, rdbms-trigger with publish: batch, and kv.",
        hint=_HINT,
    )


def _query_id(checkpoint: Path) -> str:
    return str(json.loads((checkpoint / METADATA).read_text(encoding="utf-8"))["id"])
