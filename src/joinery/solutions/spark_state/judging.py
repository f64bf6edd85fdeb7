"""Lowers which rows of intervals come late, and how long they are kept.

Such a product has a Retract of its own for each relation that its intervals compare: a row that
came too late for it is as if not in the log, and others may still show it.
"""

from __future__ import annotations

from collections.abc import Mapping

from joinery.plan.lasting import judged_relations, lasting_of, meeting_us, time_columns
from joinery.plan.product import DocumentForm
from joinery.plan.relation import LOG_TIME, Relation
from joinery.solutions.spark_state.group_program import LateProgram
from joinery.solutions.spark_state.interval_program import Judged, Kept
from joinery.solutions.spark_state.places import RelationUses


def judged_uses(
    form: DocumentForm, product: int, relations: Mapping[str, RelationUses]
) -> dict[str, RelationUses]:
    """Return what rows that may come late are for in one product alone, by their relations.

    Args:
        form: What the product is.
        product: Its place.
        relations: Those of the program, by name.
    """
    lasting = lasting_of(form)
    logs = _logs(form, relations)
    found: dict[str, RelationUses] = {}
    for relation in judged_relations(form):
        uses, lasts = relations[relation.name], lasting.get(relation)
        before_us, after_us = meeting_us(form, relation) if form.waits else (-1, -1)
        timed = time_columns(relation) - {LOG_TIME}
        judged = Judged(
            product=product,
            late=_late(form, relation, uses),
            before_micros=before_us,
            after_micros=after_us,
            counts_micros=-1 if lasts is None else lasts.counts_us,
            forgotten_micros=-1 if lasts is None else lasts.forgotten_us,
            time_columns=tuple(
                place for place, each in enumerate(uses.columns) if each.name in timed
            ),
        )
        kept = None if lasts is None else Kept(logs, lasts.kept_us, 0)
        found[relation.name] = RelationUses(
            relation, uses.index, uses.row, uses.columns, judged=judged, kept=kept
        )
    return found


def kept_by_fold(form: DocumentForm, relations: Mapping[str, RelationUses]) -> Kept | None:
    """Return how long roots and the rows of their intervals are kept; None forever."""
    lasting = lasting_of(form)
    if not lasting:
        return None
    root = lasting[form.relation].kept_us
    child = max(lasting[each.relation].kept_us for each in form.root.embeds)
    return Kept(_logs(form, relations), root, child)


def _logs(form: DocumentForm, relations: Mapping[str, RelationUses]) -> tuple[int, ...]:
    return tuple(relations[each.name].index for each in judged_relations(form))


def _late(form: DocumentForm, relation: Relation, uses: RelationUses) -> LateProgram:
    emit, time = form.emit, uses.time
    assert time is not None, "both sides of an interval have a time"
    return LateProgram(
        emit.late, time, relation.delay_ms * 1000, emit.allowed_us, emit.retention_us
    )
