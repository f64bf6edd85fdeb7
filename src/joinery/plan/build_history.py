"""From a declared history to its plan: the time from which versions are valid, what they show.

Invariant: every problem is reported at the word that causes it.
"""

from __future__ import annotations

from collections.abc import Mapping

from joinery.model.type import TIMESTAMP
from joinery.plan.context import Context
from joinery.plan.history import HistoryForm
from joinery.plan.relation import LOG_TIME, Relation
from joinery.plan.timestamp_hint import timestamp_hint
from joinery.project.form import LOG_TIME_WORD, HistorySpec
from joinery.project.mark import Path
from joinery.project.product import ProductSpec


def build_history(
    context: Context,
    product: ProductSpec,
    spec: HistorySpec,
    relations: Mapping[str, tuple[Relation, frozenset[str]]],
) -> HistoryForm | None:
    """Return the plan of a history, or None where its relation or its time is not there.

    Args:
        context: Takes the problems.
        product: The product.
        spec: What is kept.
        relations: All relations, each with the columns whose own problem is noted.
    """
    path: Path = ("products", product.name)
    name = product.root.relation
    if name not in relations:
        message = f'there is no relation "{name}"'
        place = (*path, "history")
        context.unknown("PLAN_UNKNOWN_RELATION", message, place, name=name, known=relations)
        return None
    relation, failed = relations[name]
    before = len(context.problems)
    if not relation.key:
        message = f'relation "{relation.name}" has no key, and versions are those of a key'
        context.refuse("PLAN_KEY", message, (*path, "history"), hint="Declare its key.")
    if spec.valid not in failed:
        _check_valid(context, relation, spec.valid, (*path, "valid"))
    known = LOG_TIME if spec.known_at == LOG_TIME_WORD else spec.known_at
    if known is not None and known != LOG_TIME and known not in failed:
        hint = "Derive one, or write known_at: true for the time of the log."
        _check_time(context, relation, "known_at", known, (*path, "known_at"), hint)
    if spec.track is not None:
        _check_track(context, relation, spec, failed, path)
    read = (spec.valid, *(spec.track or ()), *(() if known is None else (known,)))
    if len(context.problems) > before or not failed.isdisjoint(read):
        return None
    form = HistoryForm(relation, spec.valid, _track(relation, spec, known), known)
    _check_names(context, form, path)
    return form


def _track(relation: Relation, spec: HistorySpec, known: str | None) -> tuple[str, ...]:
    if spec.track is not None:
        return spec.track
    beside = {spec.valid, known, *relation.key}
    if relation.clocks is None:
        beside.add(LOG_TIME if relation.logged else None)
    return tuple(each.name for each in relation.row.fields if each.name not in beside)


def _check_valid(context: Context, relation: Relation, name: str, path: Path) -> None:
    if _check_time(context, relation, "valid", name, path) and name in relation.key:
        message = f'"valid" names "{name}", which is in the key of relation "{relation.name}"'
        detail = "Rows with different times would then be different rows, each with one version."
        hint = "Leave it out of the key."
        context.refuse("PLAN_KEY", message, path, detail=detail, hint=hint)


def _check_time(
    context: Context, relation: Relation, word: str, name: str, path: Path, hint: str = ""
) -> bool:
    """Return whether a word names a timestamp; refuse it where it does not."""
    types = {each.name: each.type for each in relation.row.fields}
    if name not in types:
        _unknown(context, relation, name, path)
    elif types[name] != TIMESTAMP:
        message = f'"{word}" needs a timestamp, and "{name}" is {types[name]}'
        hint = hint or timestamp_hint(name, types[name], made=f"{word}_at")
        context.refuse("PLAN_TYPE_MISMATCH", message, path, hint=hint)
    else:
        return True
    return False


def _check_track(
    context: Context, relation: Relation, spec: HistorySpec, failed: frozenset[str], path: Path
) -> None:
    known = {each.name for each in relation.row.fields}
    named: set[str] = set()
    for index, name in enumerate(spec.track or ()):
        place = (*path, "track", index)
        if name not in known | failed:
            _unknown(context, relation, name, place)
        elif name in named:
            message = f'"track" names "{name}" twice'
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, hint="Name it once.")
        elif name in {spec.valid, *relation.key}:
            what = "the time of a version" if name == spec.valid else "part of the key"
            message = f'"track" names "{name}", which is {what} and shown already'
            hint = "Leave it out of track."
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, hint=hint)
        named.add(name)


def _unknown(context: Context, relation: Relation, name: str, path: Path) -> None:
    known = [each.name for each in relation.row.fields]
    message = f'relation "{relation.name}" has no field "{name}"'
    context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=known)


def _check_names(context: Context, form: HistoryForm, path: Path) -> None:
    """Refuse a column that has the name of one that versions add."""
    added = {each.name for each in form.added}
    for name in (*form.relation.key, *form.track):
        if name in added:
            message = f'there are two outputs "{name}": versions add a column of this name'
            hint = "Derive it under another name, and name that one in track."
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, (*path, "history"), hint=hint)
