"""From a declared aggregate to its plan: groups, window and values, names resolved.

Invariant: every problem is reported at the word that causes it, and what follows from a problem
is not reported again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from joinery.expression.group_aggregate import GROUP_AGGREGATES
from joinery.expression.typed import Aggregate
from joinery.model.type import DataType
from joinery.plan.aggregate import (
    FINAL,
    AggregateForm,
    group_scope,
    window_bounds,
)
from joinery.plan.context import Context, later_values
from joinery.plan.join import comparable
from joinery.plan.relation import Computed, Relation
from joinery.project.form import AggregateSpec
from joinery.project.mark import Path
from joinery.project.product import ProductSpec
from joinery.project.quantity import micros_text
from joinery.project.value import Pairs
from joinery.project.window import Session, Sliding, Window


def build_aggregate(
    context: Context,
    product: ProductSpec,
    spec: AggregateSpec,
    relations: Mapping[str, tuple[Relation, frozenset[str]]],
) -> AggregateForm | None:
    """Return the plan of an aggregate, or None where its relation is not there.

    Args:
        context: Takes the problems.
        product: The product.
        spec: What it aggregates.
        relations: All relations, each with the columns whose own problem is noted.
    """
    path: Path = ("products", product.name)
    name = product.root.relation
    if name not in relations:
        message = f'there is no relation "{name}"'
        place = (*path, "aggregate")
        context.unknown("PLAN_UNKNOWN_RELATION", message, place, name=name, known=relations)
        return None
    relation, failed = relations[name]
    columns = {each.name: each.type for each in relation.row.fields}
    _check_relation(context, relation, path)
    window = _window(context, spec, relation, path)
    by = build_by(context, spec.by, columns, failed, path)
    where = None
    if spec.where is not None:
        where = context.condition(spec.where, (*path, "where"), columns, failed)
    values, aggregates = _values(context, spec, columns, group_scope(by, window), failed, path)
    goes = not relation.append or isinstance(window, Sliding)
    _check_stays(context, aggregates, path, goes=goes)
    aggregates = tuple(replace(each, goes=goes) for each in aggregates)
    form = AggregateForm(relation, by, where, window, aggregates, values, product.emit)
    if window is not None or spec.window is None:
        _check_emit(context, form, path)
    _check_bound(context, form, path)
    _check_names(context, spec, form, path)
    return form


def _check_relation(context: Context, relation: Relation, path: Path) -> None:
    if not relation.key and not relation.append:
        message = f'relation "{relation.name}" has no key'
        context.refuse("PLAN_KEY", message, (*path, "aggregate"), hint="Declare its key.")


def _window(context: Context, spec: AggregateSpec, relation: Relation, path: Path) -> Window | None:
    place = (*path, "window")
    window = spec.window
    if isinstance(window, str):
        named = dict(context.spec.windows)
        if window not in named:
            message = f'there is no window "{window}"'
            context.unknown("PLAN_WINDOW", message, place, name=window, known=named)
            return None
        window = named[window]
    if window is not None and relation.time is None:
        message = f'a window needs a time, and relation "{relation.name}" has none'
        hint = f'Name its column: "time" of relation "{relation.name}".'
        context.refuse("PLAN_WINDOW", message, place, hint=hint)
    if isinstance(window, Session):
        _check_cut(context, window, place)
    return window


def _check_cut(context: Context, window: Session, place: Path) -> None:
    """Warn of sessions that are always cut, so that none ends by its gap."""
    if window.max_us is None or window.max_us > window.gap_us:
        return
    longest, gap = micros_text(window.max_us), micros_text(window.gap_us)
    context.refuse(
        "PLAN_WINDOW",
        f"each session is cut after {longest}, before its gap of {gap} is over",
        place,
        detail="So each has this length, and the gap tells only where the first of several begins.",
        hint='Write a "max" above the gap.',
        warning=True,
    )


def build_by(
    context: Context,
    by: Pairs,
    columns: Mapping[str, DataType],
    failed: frozenset[str],
    path: Path,
) -> tuple[Computed, ...]:
    """Return what rows are grouped by, below the product at `path`."""
    made: list[Computed] = []
    for name, text in by:
        place = (*path, "by", name)
        if name == text and not name.isidentifier() and name not in {*columns, *failed}:
            message = f'there is no column "{name}" to group by'
            hint = f"Write {{NAME: {name}}} for an expression."
            context.refuse("PLAN_UNKNOWN_FIELD", message, place, hint=hint)
            continue
        found = context.expression(text, place, columns, failed=failed)
        if found is None:
            continue
        if not comparable(found[0].type):
            message = f'rows cannot be grouped by "{name}", which is {found[0].type}'
            hint = "Group by columns of simple types."
            context.refuse("PLAN_TYPE_MISMATCH", message, place, hint=hint)
        made.append(Computed(name, found[0]))
    return tuple(made)


def _values(
    context: Context,
    spec: AggregateSpec,
    columns: Mapping[str, DataType],
    scope: dict[str, DataType],
    failed: frozenset[str],
    path: Path,
) -> tuple[tuple[Computed, ...], tuple[Aggregate, ...]]:
    lost = {name for name, _ in spec.by} - scope.keys()
    values: list[Computed] = []
    aggregates: list[Aggregate] = []
    outside = {each: f"Put it into an aggregate, such as max({each})." for each in columns}
    for name, text in spec.values:
        place = (*path, "values", name)
        found = context.expression(
            text,
            place,
            scope,
            failed={*failed, *lost},
            rows=columns,
            first_aggregate=len(aggregates),
            elsewhere=later_values(spec.values, name) | outside,
        )
        if found is None:
            lost.add(name)
            continue
        values.append(Computed(name, found[0]))
        aggregates += found[1]
        scope[name] = found[0].type
    return tuple(values), tuple(aggregates)


def _check_stays(
    context: Context, aggregates: Sequence[Aggregate], path: Path, *, goes: bool
) -> None:
    """Refuse an aggregate that cannot take a row back where rows may go."""
    for each in aggregates:
        function = GROUP_AGGREGATES.get(each.function)
        if goes and function is not None and function.stays:
            message = f'"{each.function}" cannot take rows back, and rows may leave this group'
            hint = "Use a relation that is append, and a window that does not slide."
            context.refuse("PLAN_AGGREGATE", message, (*path, "values"), hint=hint)


def _check_emit(context: Context, form: AggregateForm, path: Path) -> None:
    place = (*path, "emit", "when")
    if form.emit.when != "closed":
        return
    if form.window is None:
        hint = "Add a window, or leave when out."
        context.refuse("PLAN_WINDOW", "a group without a window is never closed", place, hint=hint)
    elif form.relation.time is not None and form.relation.clock[0].time is None:
        changelog = form.relation.clock[0].name
        message = f'a window is closed by a watermark, and relation "{changelog}" has no time'
        hint = f'Name its column: "time" of relation "{changelog}". Or leave when out.'
        context.refuse("PLAN_WINDOW", message, place, hint=hint)
    elif isinstance(form.window, Sliding):
        hint = "Leave when out: the value changes as the watermark moves."
        context.refuse("PLAN_WINDOW", "a sliding window is never closed", place, hint=hint)


def _check_bound(context: Context, form: AggregateForm, path: Path) -> None:
    """Warn of windows that nothing ever forgets, since some rows are never too late."""
    if not form.keeps_windows:
        return
    product = form.relation.product
    changelog, _ = form.relation.clock
    if product is None:
        over = f'relation "{changelog.name}"'
        detail = "Its format marks rows of a snapshot, which may still change any window."
        hint = "Choose windows large enough that there are not many more windows than rows."
    else:
        over = f'product "{product.name}"'
        detail = "Rows of a product are never late, so each of them may still change any window."
        hint = f'Aggregate "{changelog.name}" itself where old windows need not be kept.'
    context.refuse(
        "PLAN_UNBOUNDED",
        f"the windows over {over} are kept forever",
        (*path, "window"),
        detail=detail,
        hint=hint,
        warning=True,
    )


def _check_names(context: Context, spec: AggregateSpec, form: AggregateForm, path: Path) -> None:
    """Refuse an output that has the name of another."""
    taken = {each.name for each in window_bounds(form.window)}
    taken |= {FINAL.name} if form.emit.when == "closed" else set()
    for word, pairs in (("by", spec.by), ("values", spec.values)):
        for name, _ in pairs:
            if name in taken:
                message = f'there are two outputs "{name}"'
                context.refuse("PLAN_DUPLICATE_OUTPUT", message, (*path, word, name), key=True)
            taken.add(name)
