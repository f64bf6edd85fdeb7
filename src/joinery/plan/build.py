"""From a spec to the logical plan: names resolved, expressions typed, joins checked.

Invariant: either the whole plan holds, or every problem of the project is raised at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from joinery.errors import JoineryError, Location, ProjectErrors
from joinery.expression.expression import Analyser
from joinery.plan.build_aggregate import build_aggregate
from joinery.plan.build_fold import build_fold
from joinery.plan.build_history import build_history
from joinery.plan.build_node import build_root
from joinery.plan.build_pattern import build_pattern
from joinery.plan.build_personal import check_product, check_streams
from joinery.plan.build_relation import Known, build_relation, relation_over
from joinery.plan.build_search import build_search
from joinery.plan.build_stream import build_streams
from joinery.plan.context import Context
from joinery.plan.lasting import unlasting
from joinery.plan.node import Node
from joinery.plan.outbox import outbox_of
from joinery.plan.product import DocumentForm, OutboxForm, Plan, Product
from joinery.plan.relation import Relation
from joinery.plan.sink import Owner, build_sink, check_dead_letters
from joinery.plan.source import check_topics
from joinery.plan.target import check_meeting
from joinery.plan.verify import verify, verify_stream
from joinery.project.emit import AS_CHANGED, Emit
from joinery.project.form import (
    AggregateSpec,
    DocumentSpec,
    FoldSpec,
    HistorySpec,
    OutboxSpec,
    PatternSpec,
    SearchSpec,
    relations_beside,
)
from joinery.project.kind import Options
from joinery.project.kinds import AUTO, DEFAULT_SOLUTION
from joinery.project.mark import Path
from joinery.project.node import NodeSpec
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.relation import RelationSpec

if TYPE_CHECKING:
    from joinery.plan.product import Form


def build_plan(spec: ProjectSpec, analyser: Analyser | None = None) -> Plan:
    """Return the plan of all products and streams of `spec`.

    Args:
        spec: The project.
        analyser: Types expressions outside the portable subset; without one they are
            refused as not checked.

    Raises:
        ProjectErrors: With every problem, in file order.
    """
    plan, problems, _ = examine(spec, analyser)
    if plan is None:
        raise ProjectErrors(problems)
    return plan


def examine(
    spec: ProjectSpec, analyser: Analyser | None = None
) -> tuple[Plan | None, tuple[JoineryError, ...], tuple[JoineryError, ...]]:
    """Return the plan, or None where there are problems; the problems; the warnings."""
    context = Context(spec, analyser)
    relations = {each.name: build_relation(context, each) for each in spec.changelogs}
    check_topics(context, {name: each.source for name, (each, _) in relations.items()})
    check_dead_letters(context)
    products = _Products(context, relations).all()
    _check_queries(context)
    streams = build_streams(context, relations)
    check_streams(context, streams)
    made = tuple(each for each in products if each is not None)
    check_meeting(context, made)
    plan = Plan(made, streams, _ordered(context.warnings))
    if not context.problems:
        verify(plan)
        for each in plan.streams:
            verify_stream(each)
    broken = bool(context.problems)
    return None if broken else plan, _ordered(context.problems), plan.warnings


def _ordered(problems: list[JoineryError]) -> tuple[JoineryError, ...]:
    nowhere = Location("", 0, 0)
    return tuple(sorted(problems, key=lambda each: each.location or nowhere))


class _Products:
    """Builds each product once, after those that it reads."""

    def __init__(self, context: Context, changelogs: Known) -> None:
        self.context, self.changelogs = context, changelogs
        self.specs = {each.name: each for each in context.spec.products}
        self.declared = {each.name: each for each in context.spec.relations if each.product}
        self.built: dict[str, Product | None] = {}
        self.rows: dict[str, dict[str, tuple[Relation, frozenset[str]]]] = {}
        self.broken: set[str] = set()
        self.under_way: list[str] = []

    def all(self) -> list[Product | None]:
        """Return the products in the order of the project; None where a problem is noted."""
        for each in self.declared.values():
            if each.product not in self.specs:
                message = f'there is no product "{each.product}"'
                path, name = ("relations", each.name, "product"), each.product or ""
                self.context.unknown(
                    "PLAN_UNKNOWN_PRODUCT", message, path, name=name, known=self.specs
                )
        made = [self.product(name) for name in self.specs]
        for declared in self.declared.values():
            product = self.built.get(declared.product or "")
            if product is not None and product.name not in self.broken:
                self.rows_of(product)
        return made

    def product(self, name: str) -> Product | None:
        if name not in self.built:
            before = len(self.context.problems)
            self.under_way.append(name)
            made = self.built[name] = self.build(self.specs[name])
            self.under_way.pop()
            sound = made is not None and all(each.keyed for each in made.relations)
            if not sound or len(self.context.problems) > before:
                self.broken.add(name)
        return self.built[name]

    def build(self, spec: ProductSpec) -> Product | None:
        known = dict(self.changelogs)
        read: dict[str, None] = {}
        lost = False
        for name, path in _places(spec):
            other = self.read_as(name)
            if other is None:
                read[name] = None
            elif name not in known:
                made = self.product(other) if self.may_read(spec, other, path) else None
                lost |= made is None or other in self.broken
                if made is not None and other not in self.broken:
                    known |= self.rows_of(made)
                    read |= {each.name: None for each in made.relations}
        return None if lost else _product(self.context, spec, known, tuple(read))

    def read_as(self, name: str) -> str | None:
        """Return the product that a relation's name stands for; None for a changelog."""
        if name in self.declared:
            return self.declared[name].product
        return name if name in self.specs and name not in self.changelogs else None

    def may_read(self, spec: ProductSpec, name: str, path: Path) -> bool:
        if name not in self.specs:
            return False
        if name in self.under_way:
            message = f'product "{spec.name}" reads itself'
            circle = " reads ".join([*self.under_way[self.under_way.index(name) :], name])
            self.context.refuse("PLAN_PRODUCT", message, path, detail=f"{circle}.")
            return False
        if (spec.group or spec.name) != (self.specs[name].group or name):
            message = f'product "{spec.name}" reads product "{name}" of another query'
            hint = "Give both the same group."
            self.context.refuse("PLAN_PRODUCT", message, path, hint=hint)
            return False
        return True

    def rows_of(self, product: Product) -> Known:
        """Return the relations that a product is, by name: its own, and those declared."""
        if product.name not in self.rows:
            specs = [each for each in self.declared.values() if each.product == product.name]
            if product.name not in {*self.changelogs, *self.declared}:
                specs.append(RelationSpec(product.name, product=product.name))
            made = {each.name: relation_over(self.context, each, product) for each in specs}
            self.rows[product.name] = made
        return self.rows[product.name]


def _places(spec: ProductSpec) -> Iterator[tuple[str, Path]]:
    """Yield each relation that a product names, and where."""
    path: Path = ("products", spec.name)
    yield spec.root.relation, (*path, spec.form.word)
    for name, named in relations_beside(spec.form):
        yield name, (*path, *named)
    yield from _embedded(spec.root, path)


def _embedded(node: NodeSpec, path: Path) -> Iterator[tuple[str, Path]]:
    for each in node.embed:
        below = (*path, "embed", each.name)
        yield each.relation, (*below, each.cardinality)
        if each.through is not None:
            yield each.through.relation, (*below, "through")
        yield from _embedded(each, below)


def _product(
    context: Context, spec: ProductSpec, relations: Known, read: Sequence[str]
) -> Product | None:
    context.solution = planned_solution(spec)
    _check_ready(context, spec, read)
    outbox = isinstance(spec.form, OutboxSpec)
    owner = Owner("products", spec.name, len(spec.sinks), frozenset(read), outbox=outbox)
    sinks = tuple(build_sink(context, each, owner, index) for index, each in enumerate(spec.sinks))
    form = _form(context, spec, relations)
    if form is None:
        return None
    product = _held_back(
        Product(
            name=spec.name,
            form=form,
            sinks=sinks,
            group=spec.group,
            solution=planned_solution(spec),
            solution_options=solution_options(context.spec, spec),
            settle_ms=spec.emit.settle_ms,
            ready=spec.ready,
            removes_erased=spec.erased == "remove",
            personal_key=spec.personal_key,
        )
    )
    check_product(context, spec, product)
    return product


def _held_back(product: Product) -> Product:
    """Let a product wait for what those that it reads wait for: it sees what they send."""
    waited = (name for each in (product, *product.reads) for name in each.ready)
    return replace(product, ready=tuple(dict.fromkeys(waited)))


def _form(context: Context, spec: ProductSpec, relations: Known) -> Form | None:
    match spec.form:
        case AggregateSpec():
            return build_aggregate(context, spec, spec.form, relations)
        case HistorySpec():
            return build_history(context, spec, spec.form, relations)
        case SearchSpec():
            return build_search(context, spec, spec.form, relations)
        case PatternSpec():
            return build_pattern(context, spec, spec.form, relations)
        case FoldSpec():
            return build_fold(context, spec, spec.form, relations)
        case DocumentSpec() | OutboxSpec():
            return _build_rooted(context, spec, spec.form, relations)
        case _:
            assert_never(spec.form)


def _build_rooted(
    context: Context, spec: ProductSpec, form: DocumentSpec | OutboxSpec, relations: Known
) -> DocumentForm | OutboxForm | None:
    root = build_root(context, spec.root, ("products", spec.name), relations)
    if root is None:
        return None
    _check_keys(context, spec, root)
    if isinstance(form, OutboxSpec):
        return OutboxForm(root, outbox_of(context, spec, form, root.relation))
    _check_emit(context, spec)
    made = DocumentForm(root, spec.emit)
    _check_lasting(context, spec, made)
    return made


def _check_lasting(context: Context, spec: ProductSpec, form: DocumentForm) -> None:
    """Warn of intervals whose rows nothing ever forgets."""
    if (found := unlasting(form)) is None:
        return
    node, reason = found
    below = [word for name in node.path.split("/")[1:] for word in ("embed", name)]
    context.refuse(
        "PLAN_UNBOUNDED",
        f'rows of "{form.relation.name}" and of its intervals are kept forever: {reason}',
        ("products", spec.name, *below),
        key=bool(below),
        detail="Its rows may alter any document, however old.",
        hint="Leave it out where old rows need not be kept.",
        warning=True,
    )


def _check_emit(context: Context, spec: ProductSpec) -> None:
    """Refuse a product of which no time says when, or in which part, a document is decided."""
    path: Path = ("products", spec.name, "emit")
    if all(each.within is None for each in spec.root.walk()):
        for name, given, default in _emit_words(spec.emit):
            if given != default:
                message = (
                    f'"{name}" of "emit" needs "aggregate" or "pattern", or "within" in an embed'
                )
                hint = f'Remove "{name}".'
                context.refuse("PLAN_WITHIN", message, (*path, name), hint=hint)
        return
    below = [one for each in spec.root.embed for one in each.walk() if one is not each]
    deep = [each for each in below if each.within is not None]
    if spec.emit.when == "closed" and deep:
        message = f'embed "{deep[0].name}" has "within" below another embed, and "emit" is closed'
        hint = "Embed it in the root itself, or write when: changed."
        context.refuse("PLAN_WITHIN", message, (*path, "when"), hint=hint)


def _emit_words(emit: Emit) -> Iterator[tuple[str, object, object]]:
    """Yield the keys of `emit` that go by time, with what they are and what they are by default."""
    yield "when", emit.when, AS_CHANGED.when
    yield "late", emit.late, AS_CHANGED.late
    yield "allowed", emit.allowed_us, AS_CHANGED.allowed_us
    yield "retention", emit.retention_us, AS_CHANGED.retention_us


def _check_keys(context: Context, spec: ProductSpec, root: Node) -> None:
    """Refuse a product over events that no key tells apart."""
    for relation in (each for node in root.walk() for each in node.relations):
        if not relation.key:
            message = f'product "{spec.name}" reads "{relation.name}", which has no key'
            hint = "Declare its key, or make it a stream."
            context.refuse("PLAN_KEY", message, ("products", spec.name), key=True, hint=hint)


def planned_solution(spec: ProductSpec) -> str:
    """Return a product's solution; until a run has chosen one, `auto` is the default."""
    return DEFAULT_SOLUTION if spec.solution.name == AUTO else spec.solution.name


def solution_options(project: ProjectSpec, spec: ProductSpec) -> Options:
    """Return the options of a product's solution: its own, the project's where it has none."""
    common = dict(project.run.solutions).get(spec.solution.name, ())
    return tuple({**dict(common), **dict(spec.solution.options)}.items())


def _check_ready(context: Context, spec: ProductSpec, read: Sequence[str]) -> None:
    declared = {each.name for each in context.spec.changelogs}
    known = [each for each in read if each in declared]
    for index, name in enumerate(spec.ready):
        path = ("products", spec.name, "ready", index)
        if name not in declared:
            message = f'there is no relation "{name}"'
            context.unknown("PLAN_UNKNOWN_RELATION", message, path, name=name, known=known)
        elif name not in read:
            message = f'product "{spec.name}" does not read relation "{name}"'
            context.unknown("PLAN_UNKNOWN_RELATION", message, path, name=name, known=known)


def _check_queries(context: Context) -> None:
    """Refuse products that would meet in one query without sharing a group on purpose."""
    products = context.spec.products
    taken = {each.group or each.name for each in products}
    for stream in context.spec.streams:
        if stream.name in taken or (stream.group or "") in taken:
            name = stream.name if stream.name in taken else stream.group
            message = f'stream "{stream.name}" would share the query "{name}" with a product'
            hint = "Give one of them another name."
            context.refuse("PLAN_GROUP", message, ("streams", stream.name), key=True, hint=hint)
    names = {each.name: each for each in products if each.group is None}
    first: dict[str, ProductSpec] = {}
    for each in products:
        if each.group is None:
            continue
        path = ("products", each.name, "group")
        if each.group in names:
            message = f'group "{each.group}" has the name of a product outside it'
            context.refuse("PLAN_GROUP", message, path, hint="Give the group another name.")
        other = first.setdefault(each.group, each)
        if other.solution.name != each.solution.name:
            message = f'group "{each.group}" mixes solutions'
            detail = f"They are {other.solution.name} and {each.solution.name}."
            context.refuse("PLAN_GROUP", message, path, detail=detail)
        elif solution_options(context.spec, other) != solution_options(context.spec, each):
            message = f'group "{each.group}" gives "{each.solution.name}" different options'
            hint = 'Write them once, under "solutions" of "run".'
            context.refuse("PLAN_GROUP", message, path, hint=hint)
