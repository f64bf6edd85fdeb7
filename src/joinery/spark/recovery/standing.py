"""What the project as it is now means for the checkpoints that stand.

A query whose products were removed or put into another order goes on from its state: what is left
of it is found again by what it is, and its nodes keep their numbers (see the ledger of them).
So nothing is read again and nothing is sent. Products that were added or changed are built by a
batch of the next run, from the rows in the state or from the log. What neither has is rebuilt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from joinery.delivery.query_paths import QueryPaths
from joinery.delivery.sent_mark import SentMark
from joinery.observe.read_status import read_status
from joinery.place.place import Place, numbers_in
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.spark_state.addition import Telling, add, read_again
from joinery.solutions.spark_state.fingerprint import (
    SPARK_STATE,
    Fingerprint,
    built_fingerprint,
    carried_fingerprint,
    differences,
    differences_from,
    standing_fingerprint,
)
from joinery.solutions.spark_state.joining import relations_of
from joinery.solutions.spark_state.ledger import Ledger, Standing, stand
from joinery.solutions.spark_state.needed import needed_columns, products_read
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.batch.query_kernel import (
    LoweredQuery,
    lower_products,
    lower_query,
    streams_of,
)
from joinery.spark.batch.stores import solution_of, statements_of
from joinery.spark.recovery.checkpoint import (
    last_batch,
    positions_after,
    unbuilt,
)
from joinery.spark.recovery.hindrance import hindrance, in_the_way, other_sources
from joinery.spark.recovery.new_sinks import new_sinks
from joinery.spark.recovery.query_change import Outcome, ProductChange, QueryChange
from joinery.spark.recovery.replacement import next_checkpoint
from joinery.spark.source.again import logs_again
from joinery.spark.source.source import sources_of

_LEADS = re.compile(r": changes go to \w+ ([^/ ]+)")


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
    found = _compared(spec, query, products)
    if found.outcome not in ("unchanged", "carried"):
        return found
    sent_anew = {name for name, what in found.products.items() if what != "unchanged"}
    stay = [each for each in products if each.name not in sent_anew | {*found.unbuilt}]
    lacking = new_sinks(spec, next_checkpoint(spec.checkpoint, query), stay)
    return replace(found, new_sinks=tuple(lacking))


def _compared(spec: ProjectSpec, query: str, products: Sequence[Product]) -> QueryChange:
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
        found = replace(found, unbuilt=tuple(sorted(unbuilt(folder))))
        return _same(found, spec, products, "unchanged")
    if standing is not None and (built := built_fingerprint(folder, standing)) is not standing:
        return _from_before(found, spec, products, built)
    return _other(found, spec, products, standing, told)


def _same(
    found: QueryChange, spec: ProjectSpec, products: Sequence[Product], outcome: Outcome
) -> QueryChange:
    """Return what was found where the products are those of the state; sources may be others."""
    same: dict[str, ProductChange] = {each.name: "unchanged" for each in products}
    moved = tuple(other_sources(spec, found.query, products))
    return replace(found, products=same, why=moved, outcome="rebuilt" if moved else outcome)


def _from_before(
    found: QueryChange, spec: ProjectSpec, products: Sequence[Product], built: Fingerprint
) -> QueryChange:
    """Return what was found where the project is no longer what was applied, and nothing is built.

    Args:
        found: What was found so far.
        spec: The project.
        products: Those of the query as they are now.
        built: What is noted of the state that there is.
    """
    left = unbuilt(next_checkpoint(spec.checkpoint, found.query))
    lowered = lower_query(products, spec.run, built)
    told, *others = _differences_from(built, lowered, products)
    if not all((told, *others)):
        found = replace(found, noted=built, taken_back=tuple(sorted(left)))
        return _same(found, spec, products, "carried")
    found = _other(found, spec, products, built, told)
    if found.outcome != "carried":
        return found
    stay = {name for name, what in found.products.items() if what != "unchanged"}
    return replace(found, taken_back=tuple(sorted(left - stay)))


def _differences_from(
    standing: Fingerprint, lowered: LoweredQuery, products: Sequence[Product]
) -> list[list[str]]:
    """Return how a query differs from what was noted, by each program that it may have."""
    solution, statements = solution_of(products), statements_of(products)
    ours = [each for each in (lowered.program, lowered.former) if each is not None]
    return [differences_from(standing, each, solution, statements=statements) for each in ours]


def _other(
    found: QueryChange,
    spec: ProjectSpec,
    products: Sequence[Product],
    standing: Fingerprint | None,
    told: Sequence[str],
) -> QueryChange:
    """Return what was found where the products are others than those of the state.

    Args:
        found: What was found so far.
        spec: The project.
        products: Those of the query as they are now.
        standing: What is noted of the state that there is; None where nothing can be read.
        told: How they differ.
    """
    found = replace(found, outcome="rebuilt", why=tuple(told), products=_named(products, standing))
    if standing is None:
        return found
    solution = solution_of(products)
    if (kept := {solution, standing.solution} - {SPARK_STATE}) or streams_of(products):
        whose = f"of solution {min(kept)}" if kept else "of streams"
        return replace(found, why=(*told, f"the state {whose} cannot be carried over"))
    if standing.ledger is None:
        why = "the numbers of its nodes are not noted yet: run the project once as it was"
        return replace(found, why=(*told, why))
    group = _Group(spec, products, standing, standing.ledger, told)
    ways = [stand(each, group.ledger) for each in group.lowered()]
    stood = min(ways, key=lambda each: (each.program is None, len(each.changed)))
    found = replace(found, products=_by_ledger(products, stood))
    if stood.added and not stood.changed:
        found = _added(found, group, stood)
        if found.noted is not None:
            return found
    elif stood.program is None:
        found = replace(found, why=tuple(_why_not(told, found.products, stood)) or tuple(told))
    if stood.program is None:
        return _read_again(found, group, stood)
    return _carried(found, group, stood)


@dataclass(frozen=True, slots=True)
class _Group:
    """The products of a query as they are now, beside what its checkpoint keeps.

    Attributes:
        spec: The project.
        products: Those of the query.
        standing: What is noted of the checkpoint.
        ledger: That of its nodes.
        told: How the products differ from what is noted.
    """

    spec: ProjectSpec
    products: Sequence[Product]
    standing: Fingerprint
    ledger: Ledger
    told: Sequence[str]

    def lowered(self, parts: Mapping[str, int] | None = None) -> Sequence[KernelProgram]:
        """Return the programs in which its nodes may stand; `parts` has those of new products."""
        return lower_products(self.products, self.spec.run, self.ledger, parts or {})


def _added(found: QueryChange, group: _Group, stood: Standing) -> QueryChange:
    """Return what was found where products were added, and none changed."""
    ways = [add(each, group.ledger) for each in group.lowered()]
    addition = next((each for each in ways if each.program is not None), ways[0])
    if addition.program is None:
        names = ", ".join(f'"{each}"' for each in stood.added)
        whose = f"{names} cannot be built from the state of the others"
        return replace(found, why=(whose, *addition.why))
    joined = replace(stood, program=addition.program)
    found = _carried(found, group, joined)
    if found.noted is None:
        return found
    folder = next_checkpoint(group.spec.checkpoint, found.query)
    last, _ = last_batch(folder)
    assert last is not None, "it has begun"
    anew = _sent_before(group.spec, folder, stood.added)
    telling = Telling(last + 1, addition.retracts, len(group.ledger.nodes), anew=anew)
    return replace(found, noted=_telling(found.noted, telling, group))


def _read_again(found: QueryChange, group: _Group, stood: Standing) -> QueryChange:
    """Return what was found where products are built from the logs, up to the checkpoint.

    These are those that were added, and those that changed, whose state stays where it is, unread.
    """
    anew = _changed(group) if stood.changed else ()
    names = {*stood.added, *anew}
    if not names:
        return found
    found = replace(found, products=_by_ledger(group.products, replace(stood, changed=anew)))
    if why := [*_unreadable([each for each in group.products if each.name in names])]:
        return _refused_for(found, stood, why)
    if len(names) == len(group.products):
        return replace(found, why=(*found.why, "nothing of the state would be kept"))
    part = group.ledger.next_part
    lowered = group.lowered(dict.fromkeys(names, part))
    ways = [read_again(each, group.ledger, names) for each in lowered]
    addition = next((each for each in ways if each.program is not None), ways[0])
    if addition.program is None:
        return _refused_for(found, stood, addition.why)
    joined = replace(stood, program=addition.program, changed=anew)
    carried = _carried(found, group, joined)
    if carried.noted is None:
        return carried
    folder = next_checkpoint(group.spec.checkpoint, found.query)
    last, _ = last_batch(folder)
    assert last is not None, "it has begun"
    wanted = relations_of(addition.program, part)
    reads, at = sources_of(group.spec, group.products), positions_after(folder, last)
    logs = tuple(logs_again(group.spec, folder, reads, at, wanted))
    if why := [each.why for each in logs if each.why]:
        return _refused_for(found, stood, why)
    before = _sent_before(group.spec, folder, stood.added)
    telling = Telling(last + 1, (), len(group.ledger.nodes), part, (*anew, *before))
    return replace(carried, noted=_telling(carried.noted, telling, group), again=logs)


def _telling(noted: Fingerprint, telling: Telling, group: _Group) -> Fingerprint:
    """Return what is to be noted where a batch to come builds products."""
    return replace(noted, telling=telling, before=replace(group.standing, before=None))


def _sent_before(spec: ProjectSpec, folder: Place, added: Sequence[str]) -> tuple[str, ...]:
    """Return the products that come back to a query: sinks may hold what they had when they left.

    What they lost since then nobody has told.
    """
    sent = SentMark(folder, spec.path_of("."))
    return tuple(each for each in added if sent.knows(each))


def _refused_for(found: QueryChange, stood: Standing, why: Sequence[str]) -> QueryChange:
    """Return what was found, and why products cannot be built from logs.

    That comes after what the state lacks of products that were added. How products changed, which
    may be much, would hide it.
    """
    told = why if stood.changed else (*found.why, *why)
    return replace(found, why=tuple(dict.fromkeys(told)))


def _changed(group: _Group) -> tuple[str, ...]:
    """Return the products of a ledger that are others by now, each judged without the others.

    Beside one that reads a further column of a relation, all that read it would look changed.
    """
    found = []
    for one in (each for each in group.products if each.name in group.ledger.products):
        alone = replace(group, products=_with_what_it_reads(one, group.products))
        ways = [stand(each, group.ledger) for each in alone.lowered()]
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


def _carried(found: QueryChange, group: _Group, stood: Standing) -> QueryChange:
    """Return what was found, with what is to be noted, or what is in the way."""
    assert stood.program is not None
    noted, others = carried_fingerprint(group.standing, group.ledger, stood.program)
    others += in_the_way(group.spec, found.query, group.products, stood)
    again = lower_query(group.products, group.spec.run, noted).program
    if again.to_json() != stood.program.to_json():
        others.append("the next run would number the nodes in another way")
    if others:
        return replace(found, why=tuple(others))
    own = (each for each in group.told if not _is_of(each, (*stood.removed, *stood.added)))
    read = {relation.name for each in group.products for relation in each.relations}
    gone = {*group.ledger.relations} - read
    why = tuple(_by_relation(own, gone, all_of_them=bool(stood.changed)))
    folder = next_checkpoint(group.spec.checkpoint, found.query)
    first = hindrance(found.query, folder, group.products, group.standing, stood)
    return replace(found, outcome="carried", why=why, noted=noted, hindrance=first)


def _by_relation(told: Iterable[str], gone: Collection[str], *, all_of_them: bool) -> Iterator[str]:
    """Yield what changed, with a line for each relation that is gone instead of many.

    Args:
        told: What changed, in words.
        gone: The relations that are not read any more.
        all_of_them: Whether a product changed. Else other relations differ only by what those read
            that are added or removed.
    """
    heads = {f'relation "{name}":': f'relation "{name}" is not read any more' for name in gone}
    lines = (next((to for at, to in heads.items() if one.startswith(at)), one) for one in told)
    for line in dict.fromkeys(lines):
        if all_of_them or line in heads.values() or not line.startswith('relation "'):
            yield line


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
    """Return whether what is told is about products, or about what goes to their nodes."""
    leads = _LEADS.search(told)
    if leads is not None and leads[1] in products:
        return True
    return any(f'product "{each}"' in told or f" {each}/" in told for each in products)
