"""What the project as it is now means for the checkpoints that stand, and going on from them.

A query whose products were removed or put into another order goes on from its state: what is left
of it is found again by what it is, and its nodes keep their numbers (see the ledger of them).
So nothing is read again and nothing is sent. Products that were added are told the rows that stand,
by a batch of the next run. What else changed is rebuilt.

Invariant: a checkpoint is the former program's until what is noted of it is replaced, which is one
file; from then on it is the new one's. State is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

from joinery.delivery.query_paths import QueryPaths, rebuild_paths
from joinery.delivery.sent_mark import SentMark
from joinery.errors import RunError, StateMismatchError
from joinery.files import write_whole
from joinery.observe.status import read_status
from joinery.place.place import Place, numbers_in
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.spark_state.addition import Telling, add, read_again
from joinery.solutions.spark_state.fingerprint import (
    FILE_NAME,
    SPARK_STATE,
    Fingerprint,
    carried_fingerprint,
    differences,
    standing_fingerprint,
)
from joinery.solutions.spark_state.ledger import Ledger, Standing, stand
from joinery.solutions.spark_state.needed import needed_columns, products_read
from joinery.spark.batch.mode import HeldBackError, check_held
from joinery.spark.batch.query_kernel import lower_products, lower_query
from joinery.spark.batch.setup import spooled_products
from joinery.spark.batch.stores import solution_of, statements_of
from joinery.spark.real_time.uncommitted import RealTimeMark
from joinery.spark.recovery.checkpoint import (
    check_sources,
    last_batch,
    positions_after,
    unbuilt,
    untold,
)
from joinery.spark.recovery.replacement import next_checkpoint, put_in_place
from joinery.spark.source.again import LogAgain, logs_again
from joinery.spark.source.kafka import subscription
from joinery.spark.source.source import SourceRead, positions, sources_of

Outcome = Literal["unchanged", "new", "carried", "rebuilt", "left"]
ProductChange = Literal["unchanged", "changed", "added", "removed"]


class ApplyError(RunError):
    """The state of a checkpoint cannot be kept for the project as it is now."""

    code = "RUN_APPLY"


@dataclass(frozen=True, slots=True)
class QueryChange:
    """What the project as it is now means for the checkpoint of one query.

    Attributes:
        query: Its name.
        outcome: `unchanged`: a run goes on; `new`: there is no checkpoint; `carried`: its state
            fits once it is applied; `rebuilt`: it does not; `left`: the project has no such query.
        products: What became of each, those of the project first, in its order.
        why: What changed, and what keeps state from being carried over, in words.
        relations: What a rebuild reads again.
        documents: How many the last run of the query sent; None where that is not known.
        noted: What is to be noted of the checkpoint where its state is carried over.
        hindrance: What is in the way of that for now; None where nothing is.
        unbuilt: The products that were added to it and that its next run is to build.
        again: What the next run reads again to build what was added.
    """

    query: str
    outcome: Outcome
    products: Mapping[str, ProductChange]
    why: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    documents: int | None = None
    noted: Fingerprint | None = None
    hindrance: RunError | None = None
    unbuilt: tuple[str, ...] = ()
    again: tuple[LogAgain, ...] = ()


def compare_all(
    spec: ProjectSpec, queries: Mapping[str, Sequence[Product]]
) -> Iterator[QueryChange]:
    """Yield what becomes of each query of a project, then of checkpoints of others.

    Args:
        spec: The project.
        queries: Its products, by query.
    """
    for query, products in queries.items():
        yield compare(spec, query, products)
    root = spec.checkpoint
    folders: list[Place] = [*root.iterdir()] if root.exists() else []
    for folder in sorted(folders, key=lambda each: each.name):
        if not folder.name.startswith("_") and folder.name not in queries and _has_begun(folder):
            standing = standing_fingerprint(folder)
            yield QueryChange(folder.name, "left", dict.fromkeys(_known(standing), "removed"))


def compare(spec: ProjectSpec, query: str, products: Sequence[Product]) -> QueryChange:
    """Return what the products of a query, as they are now, mean for its checkpoint."""
    folder = next_checkpoint(spec.checkpoint, query)
    relations = tuple(dict.fromkeys(each.name for one in products for each in one.relations))
    found = QueryChange(
        query, "new", dict.fromkeys((each.name for each in products), "added"), (), relations
    )
    if not _has_begun(folder):
        return found
    standing, solution = standing_fingerprint(folder), solution_of(products)
    found = replace(found, documents=_sent(spec, query))
    lowered = lower_query(products, spec.run, standing)
    ours = [each for each in (lowered.program, lowered.former) if each is not None]
    statements = statements_of(products)
    told, *others = (differences(folder, each, solution, statements=statements) for each in ours)
    if not all((told, *others)):
        same: dict[str, ProductChange] = {each.name: "unchanged" for each in products}
        moved = tuple(_other_sources(spec, query, products))
        found = replace(found, products=same, why=moved, unbuilt=tuple(sorted(unbuilt(folder))))
        return replace(found, outcome="rebuilt" if moved else "unchanged")
    found = replace(found, outcome="rebuilt", why=tuple(told), products=_named(products, standing))
    if standing is None:
        return found
    if (kept := {solution, standing.solution} - {SPARK_STATE}) or lowered.streams:
        whose = f"of solution {min(kept)}" if kept else "of streams"
        return replace(found, why=(*told, f"the state {whose} cannot be carried over"))
    if standing.ledger is None:
        why = "the numbers of its nodes are not noted yet: run the project once as it was"
        return replace(found, why=(*told, why))
    ledger = standing.ledger
    ways = [stand(each, ledger) for each in lower_products(products, spec.run, ledger)]
    stood = min(ways, key=lambda each: (each.program is None, len(each.changed)))
    found = replace(found, products=_by_ledger(products, stood))
    if stood.added and not stood.changed:
        found = _added(found, spec, products, standing, ledger, stood, told)
        if found.noted is not None:
            return found
    elif stood.program is None:
        found = replace(found, why=tuple(_why_not(told, found.products, stood)) or tuple(told))
    if stood.program is None:
        return _read_again(found, spec, products, standing, ledger, stood, told)
    return _carried(found, spec, products, standing, ledger, stood, told)


def _added(
    found: QueryChange,
    spec: ProjectSpec,
    products: Sequence[Product],
    standing: Fingerprint,
    ledger: Ledger,
    stood: Standing,
    told: Sequence[str],
) -> QueryChange:
    """Return what was found where products were added, and none changed."""
    ways = [add(each, ledger) for each in lower_products(products, spec.run, ledger)]
    addition = next((each for each in ways if each.program is not None), ways[0])
    if addition.program is None:
        names = ", ".join(f'"{each}"' for each in stood.added)
        whose = f"{names} cannot be built from the state of the others"
        return replace(found, why=(whose, *addition.why))
    joined = replace(stood, program=addition.program)
    found = _carried(found, spec, products, standing, ledger, joined, told)
    if found.noted is None:
        return found
    folder = next_checkpoint(spec.checkpoint, found.query)
    last, _ = last_batch(folder)
    assert last is not None, "it has begun"
    anew = _sent_before(spec, folder, stood.added)
    telling = Telling(last + 1, addition.retracts, len(ledger.nodes), anew=anew)
    return replace(found, noted=replace(found.noted, telling=telling))


def _read_again(
    found: QueryChange,
    spec: ProjectSpec,
    products: Sequence[Product],
    standing: Fingerprint,
    ledger: Ledger,
    stood: Standing,
    told: Sequence[str],
) -> QueryChange:
    """Return what was found where products are built from the logs, up to the checkpoint.

    These are those that were added, and those that changed, whose state stays where it is, unread.
    """
    anew = _changed(products, spec, ledger) if stood.changed else ()
    names = {*stood.added, *anew}
    if not names:
        return found
    found = replace(found, products=_by_ledger(products, replace(stood, changed=anew)))
    if why := [*_unreadable([each for each in products if each.name in names])]:
        return _refused_for(found, stood, why)
    if len(names) == len(products):
        return replace(found, why=(*found.why, "nothing of the state would be kept"))
    part = ledger.next_part
    ways = lower_products(products, spec.run, ledger, dict.fromkeys(names, part))
    found_ways = [read_again(each, ledger, names) for each in ways]
    addition = next((each for each in found_ways if each.program is not None), found_ways[0])
    if addition.program is None:
        return _refused_for(found, stood, addition.why)
    joined = replace(stood, program=addition.program, changed=anew)
    carried = _carried(found, spec, products, standing, ledger, joined, told)
    if carried.noted is None:
        return carried
    folder = next_checkpoint(spec.checkpoint, found.query)
    last, _ = last_batch(folder)
    assert last is not None, "it has begun"
    wanted = {each.name for each in addition.program.decoded if each.part == part}
    reads, at = sources_of(spec, products), positions_after(folder, last)
    logs = tuple(logs_again(spec, folder, reads, at, wanted))
    if why := [each.why for each in logs if each.why]:
        return _refused_for(found, stood, why)
    before = _sent_before(spec, folder, stood.added)
    telling = Telling(last + 1, (), len(ledger.nodes), part, (*anew, *before))
    return replace(carried, noted=replace(carried.noted, telling=telling), again=logs)


def _sent_before(spec: ProjectSpec, folder: Place, added: Sequence[str]) -> tuple[str, ...]:
    """Return the products that come back to a query: sinks may hold what they had when they left.

    What they lost since then nobody has told.
    """
    sent = SentMark(folder, spec.path_of("."))
    return tuple(each for each in added if sent.knows(each))


def _refused_for(found: QueryChange, stood: Standing, why: Sequence[str]) -> QueryChange:
    """Return what was found, and why products cannot be built from logs.

    That comes before what changed, which may be much, and after what the state lacks.
    """
    told = (*why, *found.why) if stood.changed else (*found.why, *why)
    return replace(found, why=tuple(dict.fromkeys(told)))


def _changed(products: Sequence[Product], spec: ProjectSpec, ledger: Ledger) -> tuple[str, ...]:
    """Return the products of a ledger that are others by now, each judged without the others.

    Beside one that reads a further column of a relation, all that read it would look changed.
    """
    found = []
    for one in (each for each in products if each.name in ledger.products):
        alone = _with_what_it_reads(one, products)
        ways = [stand(each, ledger) for each in lower_products(alone, spec.run, ledger)]
        if all(each.program is None for each in ways):
            found.append(one.name)
    return tuple(found)


def _with_what_it_reads(product: Product, products: Sequence[Product]) -> list[Product]:
    names, left = set[str](), [product]
    while left:
        one = left.pop()
        names.add(one.name)
        left += [each for each in products if each.name in products_read(one) - names]
    return [each for each in products if each.name in names]


def _unreadable(added: Sequence[Product]) -> Iterator[str]:
    """Yield why added products cannot be built from logs, whatever these have."""
    names = {each.name for each in added}
    for name, (relation, _) in needed_columns(added).items():
        if relation.product is not None and relation.product.name not in names:
            yield f'"{name}" is a product that was there, whose documents are in no log'
        if relation.personal is not None:
            yield f'relation "{name}" has personal columns, which are not read again'
        if relation.watermark is not None or relation.clocks is not None:
            yield f'relation "{name}" has a watermark, by which its rows are not read again'


def _carried(
    found: QueryChange,
    spec: ProjectSpec,
    products: Sequence[Product],
    standing: Fingerprint,
    ledger: Ledger,
    stood: Standing,
    told: Sequence[str],
) -> QueryChange:
    """Return what was found, with what is to be noted, or what is in the way."""
    assert stood.program is not None
    noted, others = carried_fingerprint(standing, ledger, stood.program)
    others += _in_the_way(spec, found.query, products, stood, ledger)
    again = lower_query(products, spec.run, noted).program
    if again.to_json() != stood.program.to_json():
        others.append("the next run would number the nodes in another way")
    if others:
        return replace(found, why=tuple(others))
    own = (each for each in told if not _is_of(each, (*stood.removed, *stood.added)))
    left = {each.own_name for each in stood.program.relations}
    why = tuple(_by_relation(own, {*ledger.relations} - left))
    folder = next_checkpoint(spec.checkpoint, found.query)
    hindrance = _hindrance(found.query, folder, products, stood, ledger)
    return replace(found, outcome="carried", why=why, noted=noted, hindrance=hindrance)


def _by_relation(told: Iterable[str], gone: Collection[str]) -> Iterator[str]:
    """Yield what changed, with a line for each relation that is gone instead of many."""
    heads = {f'relation "{name}":': f'relation "{name}" is not read any more' for name in gone}
    lines = (next((to for at, to in heads.items() if one.startswith(at)), one) for one in told)
    yield from dict.fromkeys(lines)


def _hindrance(
    query: str, folder: Place, products: Sequence[Product], stood: Standing, ledger: Ledger
) -> RunError | None:
    """Return why a checkpoint whose state fits cannot be gone on with for now."""
    telling = untold(folder)
    if telling is not None and not _takes_back(telling, stood, ledger):
        return ApplyError(
            f'products that were added to query "{query}" are not built yet',
            hint="Have them built first, with the project as it was: joinery run --once."
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
            f'documents of query "{query}" wait, of products that changed meanwhile',
            detail=error.detail,
            hint="Have them sent first, with the project as it was: joinery run --once.",
        )
    return None


def _takes_back(telling: Telling, stood: Standing, ledger: Ledger) -> bool:
    """Return whether what is removed is what was added last, and nothing else changes.

    The batch that was to build it reads nothing, and nobody else hears of it: it may be begun.
    """
    others = stood.added or stood.changed
    return not others and {*stood.removed} == telling.products(ledger)


def _in_the_way(
    spec: ProjectSpec, query: str, products: Sequence[Product], stood: Standing, ledger: Ledger
) -> list[str]:
    """Return what beside the state keeps a checkpoint from being gone on with."""
    assert stood.program is not None
    found, folder = _other_sources(spec, query, products), next_checkpoint(spec.checkpoint, query)
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


def _other_sources(spec: ProjectSpec, query: str, products: Sequence[Product]) -> list[str]:
    """Return why the positions of a checkpoint are not those of the sources that are read."""
    folder = next_checkpoint(spec.checkpoint, query)
    try:
        check_sources(folder, query, sources_of(spec, products))
    except StateMismatchError as error:
        return [error.message]
    return []


def apply_all(spec: ProjectSpec, queries: Mapping[str, Sequence[Product]]) -> Sequence[QueryChange]:
    """Let queries go on from their state with the products that the project has now.

    All are judged before anything is changed. A command that is killed between two of them is to be
    called again: it finds nothing left to do for the first.

    Args:
        spec: The project.
        queries: The products of each, by its name.

    Returns:
        What became of each: nothing was done where it is not `carried`.

    Raises:
        ApplyError: The state of some does not fit; nothing was changed.
        LeaseHeldError: One runs, or is rebuilt.
        HeldBackError: Documents of a product that is gone still wait.
    """
    root = spec.checkpoint
    with ExitStack() as held:
        checks = {query: _held(root, query, held) for query in queries}
        for query, check in checks.items():
            put_in_place(root, query, check)
        found = [compare(spec, query, products) for query, products in queries.items()]
        _check_fits(found)
        for each in (one for one in found if one.noted is not None):
            checks[each.query]()
            _note(QueryPaths.of(root, each.query).checkpoint, each)
        return found


def _held(root: Place, query: str, held: ExitStack) -> Callable[[], None]:
    """Take the leases of a query and its rebuild; return what raises once they are not held."""
    leases = [paths.lease for paths in (QueryPaths.of(root, query), rebuild_paths(root, query))]
    for lease in leases:
        lease.take()
        held.callback(lease.release)

    def check() -> None:
        for each in leases:
            each.check()

    return check


def _note(folder: Place, change: QueryChange) -> None:
    assert change.noted is not None
    write_whole(folder / FILE_NAME, change.noted.to_json(), synced=True)


def _check_fits(found: Sequence[QueryChange]) -> None:
    """Refuse all where the state of one does not fit."""
    if refused := [each for each in found if each.outcome == "rebuilt"]:
        raise _refused(refused)
    for each in found:
        if each.hindrance is not None:
            raise each.hindrance


def _refused(refused: Sequence[QueryChange]) -> ApplyError:
    new = [
        f'"{name}"'
        for each in refused
        for name, change in each.products.items()
        if change == "added"
    ]
    apart = f" Or give {', '.join(new)} a group of its own, which alone is built." if new else ""
    names = ", ".join(f'"{each.query}"' for each in refused)
    return ApplyError(
        f"the state of {'query' if len(refused) == 1 else 'queries'} {names} cannot be kept",
        detail=f"{' '.join(_told(each, len(refused)) for each in refused)} Nothing was changed.",
        hint=f"Build their documents anew, beside the old ones: joinery run --rebuild.{apart}",
    )


def _told(refused: QueryChange, queries: int) -> str:
    """Return why the state of a query does not fit, as a sentence."""
    told = "; ".join(refused.why)
    whose = f"Of {refused.query}: {told}" if queries > 1 else f"{told[0].upper()}{told[1:]}"
    return f"{whose}."


def _has_begun(folder: Place) -> bool:
    return bool(numbers_in(folder / "offsets"))


def _sent(spec: ProjectSpec, query: str) -> int | None:
    status, _ = read_status(QueryPaths.of(spec.checkpoint, query).status_file)
    return None if status is None else sum(each.documents for each in status.products.values())


def _known(standing: Fingerprint | None) -> list[str]:
    """Return the products that are noted of a checkpoint."""
    if standing is None:
        return []
    titles = (each.removeprefix('product "') for each in standing.parts if each.endswith('"'))
    return [each.removesuffix('"') for each in titles if each.count('"') == 1]


def _named(products: Sequence[Product], standing: Fingerprint | None) -> dict[str, ProductChange]:
    """Return what became of products as far as their names tell."""
    known, ours = _known(standing), [each.name for each in products]
    found: dict[str, ProductChange] = {
        each: "changed" if each in known else "added" for each in ours
    }
    return found | {each: "removed" for each in known if each not in ours}


def _by_ledger(products: Sequence[Product], stood: Standing) -> dict[str, ProductChange]:
    found: dict[str, ProductChange] = {each.name: "unchanged" for each in products}
    found |= dict.fromkeys(stood.changed, "changed")
    found |= dict.fromkeys(stood.added, "added")
    return found | dict.fromkeys(stood.removed, "removed")


def _why_not(
    told: Sequence[str], products: Mapping[str, ProductChange], stood: Standing
) -> Iterator[str]:
    apart = [name for name, change in products.items() if change in ("added", "removed")]
    yield from (each for each in told if not _is_of(each, apart))
    for name in stood.added:
        yield f'product "{name}" is not in the state yet'


def _is_of(told: str, products: Sequence[str]) -> bool:
    return any(f'product "{each}"' in told or f" {each}/" in told for each in products)
