"""What of a plan its solution cannot run yet, told before anything starts.

Building a plan does not ask: the reference, the test driver and `explain` take every form.
"""

from __future__ import annotations

from typing import assert_never

from joinery.errors import JoineryError, PlanError, ProjectErrors
from joinery.plan.aggregate import AggregateForm
from joinery.plan.nodes import DocumentForm, OutboxForm, Plan, Product
from joinery.plan.stream import Stream
from joinery.project.product import ProjectSpec
from joinery.project.tree import Path
from joinery.project.window import AS_CHANGED, Session, Sliding

_GROUPS = "spark-state"
_KEPT = frozenset({"count", "sum", "min", "max", "avg"})
REFERENCE_ALONE = "the test driver, joinery test and joinery preview compute it already"


def unsupported(product: Product) -> tuple[str, Path]:
    """Return what a product's solution cannot do yet, and below which key; empty where all."""
    match product.form:
        case DocumentForm() | OutboxForm() | Stream():
            return "", ()
        case AggregateForm():
            return _aggregate(product.form, product.solution)
        case _:
            assert_never(product.form)


def _aggregate(form: AggregateForm, solution: str) -> tuple[str, Path]:
    if solution != _GROUPS:
        return "groups (aggregate)", ("aggregate",)
    if isinstance(form.window, Session | Sliding):
        kind = "sessions" if isinstance(form.window, Session) else "sliding windows"
        return kind, ("window",)
    if form.emit.when == "closed":
        return "groups that are sent once their window is closed", ("emit", "when")
    if form.emit.late != "correct" and not form.relation.append:
        return "late rows of a relation that is not append, left out", ("emit", "late")
    if form.emit.retention_us != AS_CHANGED.retention_us:
        return "retention: late rows correct for ever", ("emit", "retention")
    if form.relation.watermark is not None and form.relation.watermark.ahead_ms is not None:
        return "times ahead of their log's", ("aggregate",)
    if missing := sorted(_functions(form) - _KEPT):
        return f"the aggregate {missing[0]} over groups", ("values",)
    return "", ()


def _functions(form: AggregateForm) -> set[str]:
    return {
        f"{each.function}(distinct …)" if each.distinct else each.function
        for each in form.aggregates
    }


def refusals(spec: ProjectSpec, plan: Plan) -> tuple[JoineryError, ...]:
    """Return a problem for each product that its solution cannot run yet."""
    return tuple(_refusal(spec, each) for each in plan.products if unsupported(each)[0])


def refuse_unsupported(spec: ProjectSpec, plan: Plan) -> None:
    """Refuse a project with products that their solutions cannot run yet.

    Raises:
        ProjectErrors: With each of them.
    """
    if found := refusals(spec, plan):
        raise ProjectErrors(found)


def _refusal(spec: ProjectSpec, product: Product) -> JoineryError:
    what, path = unsupported(product)
    return PlanError(
        f'the solution {product.solution} cannot run "{product.name}" yet: {what}',
        code="PLAN_NOT_YET",
        detail=f"Of such products, {REFERENCE_ALONE}.",
        location=spec.locate(("products", product.name, *path)),
    )
