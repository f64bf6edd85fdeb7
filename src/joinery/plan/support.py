"""What of a plan its solution cannot run yet, told before anything starts.

Building a plan does not ask: the reference, the test driver and `explain` take every form.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import assert_never

from joinery.errors import JoineryError, PlanError, ProjectErrors
from joinery.expression.aggregate import EMBED_AGGREGATES
from joinery.expression.group_aggregate import GROUP_AGGREGATES
from joinery.expression.typed import Aggregate
from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.join import comparable
from joinery.plan.lasting import judged_relations, lasting_of
from joinery.plan.node import Node
from joinery.plan.on_disk import disk_refusals
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm, Plan, Product
from joinery.plan.search import SearchForm
from joinery.plan.stream import Stream, outputs_of
from joinery.plan.timed_step import Rolling
from joinery.plan.unfit import unfit_options
from joinery.project.emit import AS_CHANGED
from joinery.project.mark import Path
from joinery.project.product import ProjectSpec
from joinery.project.window import Session, Sliding

_GROUPS = "spark-state"
STORED_GROUPS = frozenset({"rdbms-store", "kv"})
"""The solutions that sum groups up from rows in a store, where windows are kept forever."""
_LIMITED = frozenset({"approx_count_distinct", "approx_top_k"})
"""Those that give null above a number of values, which no store counts."""
_TAKEN_BACK = frozenset(EMBED_AGGREGATES)
_KEPT = frozenset({*_TAKEN_BACK, *GROUP_AGGREGATES, "count(distinct …)"})


@dataclass(frozen=True, slots=True)
class Missing:
    """What a solution cannot do yet.

    Attributes:
        what: Words that follow "cannot run it yet".
        path: The key that asks for it, below the product's.
    """

    what: str
    path: Path


def missing(product: Product) -> Missing | None:
    """Return what a product's solution cannot do yet; None where it can all."""
    if found := _of_reads(product):
        return found
    match product.form:
        case DocumentForm():
            found = _of_documents(product.form, product.solution)
            return found or _of_embeds(product.form.root, product.solution)
        case OutboxForm():
            return None
        case Stream():
            return _of_steps(product.form)
        case AggregateForm():
            return _of_groups(product.form, product.solution)
        case HistoryForm():
            return _of_versions(product.form, product.solution)
        case SearchForm():
            return _of_search(product.solution)
        case PatternForm():
            return _of_patterns(product.solution)
        case FoldForm():
            return _of_events(product.solution)
        case _:
            assert_never(product.form)


def _of_reads(product: Product) -> Missing | None:
    """Return what of that which it reads cannot be read yet."""
    for relation in product.relations:
        if relation.personal is not None and product.solution != _GROUPS:
            return Missing(f'relation "{relation.name}" with personal columns', ())
        refused = relation.clocks is not None and relation.clocks.suspect == "dead_letter"
        if refused and product.solution != _GROUPS:
            return Missing(f'relation "{relation.name}" with suspect: dead_letter', ())
    word = product.form.word
    for each in product.reads:
        told = f'reading product "{each.name}"'
        if product.solution != _GROUPS:
            return Missing(told, (word,))
        if each.settle_ms is not None:
            return Missing(f"{told}, which is held back (emit: settle)", (word,))
    return None


def _of_documents(form: DocumentForm, solution: str) -> Missing | None:
    if any(each.as_of is not None for each in form.root.walk()) and solution != _GROUPS:
        return Missing("embeds of versions (as_of)", ("embed",))
    within = any(each.within is not None for each in form.root.walk())
    if within and solution != _GROUPS:
        return Missing("embeds of an interval (within)", ("embed",))
    if within and form.emit.late != "correct" and not judged_relations(form):
        what = "leaving out late rows of products, or where a relation is embedded in other ways"
        return Missing(f"{what} too (as_of, through)", ("emit", "late"))
    if within and form.emit.retention_us != AS_CHANGED.retention_us and not lasting_of(form):
        what = "a retention of documents with more than intervals of their root"
        return Missing(what, ("emit", "retention"))
    return None


def _of_embeds(node: Node, solution: str, path: Path = ()) -> Missing | None:
    for each in node.embeds:
        below = (*path, "embed", each.name)
        if each.through is not None and solution != _GROUPS:
            what = f'embed "{each.name}" through another relation (through)'
            return Missing(what, (*below, "through"))
        if each.through is not None and each.within is not None:
            what = f'embed "{each.name}" with both through and within'
            return Missing(what, (*below, "within"))
        if each.through is not None and any(one.embed == each.name for one in node.aggregates):
            what = f'aggregates over embed "{each.name}" through another relation (through)'
            return Missing(what, (*path, "values"))
        if found := _of_embeds(each, solution, below):
            return found
    return None


def _of_steps(stream: Stream) -> Missing | None:
    rolling = (each for each in stream.steps if isinstance(each, Rolling))
    aggregates = (one for each in rolling for one in each.aggregates)
    return _of_functions(aggregates, "steps", kept=_KEPT)


def _of_groups(form: AggregateForm, solution: str) -> Missing | None:
    if solution in STORED_GROUPS:
        return _of_stored_groups(form)
    if solution != _GROUPS:
        return Missing("groups (aggregate)", ("aggregate",))
    return _of_functions(form.aggregates, "values", kept=_KEPT)


def _of_stored_groups(form: AggregateForm) -> Missing | None:
    """Return what groups lack where all their rows are in a store, and no watermark is kept."""
    relation, emit = form.relation, form.emit
    if relation.append:
        return Missing(f'groups of an append relation, "{relation.name}"', ("aggregate",))
    if isinstance(form.window, Session):
        return Missing("sessions", ("window",))
    if isinstance(form.window, Sliding):
        return Missing("sliding windows, which go by the watermark", ("window",))
    if emit.when == "closed":
        return Missing("windows sent once closed", ("emit", "when"))
    if emit.late != "correct":
        return Missing("leaving out late rows", ("emit", "late"))
    if emit.retention_us != AS_CHANGED.retention_us:
        return Missing("a retention of windows", ("emit", "retention"))
    limited = next((each for each in form.aggregates if each.function in _LIMITED), None)
    if limited is not None:
        return Missing(f"the aggregate {limited.function} over groups", ("values",))
    return _of_functions(form.aggregates, "values", kept=_KEPT)


def _of_search(solution: str) -> Missing | None:
    return None if solution == _GROUPS else Missing("stored queries (search)", ("search",))


def _of_patterns(solution: str) -> Missing | None:
    return None if solution == _GROUPS else Missing("patterns", ("pattern",))


def _of_versions(form: HistoryForm, solution: str) -> Missing | None:
    if solution != _GROUPS:
        return Missing("versions (history)", ("history",))
    if form.relation.product is not None:
        return Missing("versions of a product", ("history",))
    return None


def _of_events(solution: str) -> Missing | None:
    return None if solution == _GROUPS else Missing("states from events (fold)", ("fold",))


def _of_functions(
    aggregates: Iterable[Aggregate], word: str, *, kept: Collection[str]
) -> Missing | None:
    for each in aggregates:
        name = f"{each.function}(distinct …)" if each.distinct else each.function
        if name not in kept:
            return Missing(f"the aggregate {name} over groups", (word,))
        kind = None if each.argument is None else each.argument.type
        coded = each.distinct or each.function in {"min", "max"}
        if coded and kind is not None and not comparable(kind):
            return Missing(f"{each.function} of {kind} over groups", (word,))
    return None


def refusals(spec: ProjectSpec, plan: Plan) -> tuple[JoineryError, ...]:
    """Return a problem for each product that its solution cannot run, or not yet, at its place."""
    lacking = ((each, missing(each)) for each in outputs_of(plan))
    unable = (_refusal(spec, each, found) for each, found in lacking if found is not None)
    found = (*unable, *disk_refusals(spec, plan))
    return found or tuple(unfit_options(spec, plan))  # These expect what can run.


def refuse_unsupported(spec: ProjectSpec, plan: Plan) -> None:
    """Refuse a project with products that their solutions cannot run yet.

    Raises:
        ProjectErrors: With each of them.
    """
    if found := refusals(spec, plan):
        raise ProjectErrors(found)


def _refusal(spec: ProjectSpec, product: Product, found: Missing) -> JoineryError:
    section = "streams" if isinstance(product.form, Stream) else "products"
    return PlanError(
        f'the solution {product.solution} cannot run "{product.name}" yet: {found.what}',
        code="PLAN_NOT_YET",
        detail="The test driver, joinery test and joinery preview compute it already.",
        location=spec.locate((section, product.name, *found.path)),
    )
