"""What of a product goes by watermarks, and so by the order in which a log was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.lasting import judged_relations, lasting_of
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm
from joinery.plan.relation import Relation
from joinery.plan.search import SearchForm
from joinery.plan.stream import Stream

if TYPE_CHECKING:
    from joinery.plan.product import Form


def watched(form: Form) -> tuple[Relation, ...]:
    """Return the relations by whose watermark something goes."""
    match form:
        case AggregateForm() | PatternForm():
            return (form.relation.clock[0],)
        case Stream():
            return form.watched
        case DocumentForm():
            waited = (each.clock[0] for each in (*form.waits, form.relation) if form.waits)
            return (*waited, *judged_relations(form))
        case FoldForm():
            return (form.relation,) if form.waits_by_watermark else ()
        case OutboxForm() | SearchForm() | HistoryForm():
            return ()
        case _:
            assert_never(form)


def ordered(form: Form) -> tuple[Relation, ...]:
    """Return the relations in which a row counts or not by the times before it in its log.

    It does where late rows are left out, and where windows or matches are forgotten.
    """
    match form:
        case AggregateForm():
            goes = form.emit.late != "correct" or form.window is not None
            return (form.relation,) if goes else ()
        case PatternForm():
            return (form.relation,) if form.relation.time is not None else ()
        case DocumentForm():
            return judged_relations(form) if form.emit.late != "correct" or lasting_of(form) else ()
        case Stream() | OutboxForm() | SearchForm() | HistoryForm() | FoldForm():
            return ()
        case _:
            assert_never(form)
