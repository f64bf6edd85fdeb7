"""What each form of a product shows: its steps as text, its inputs in a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from joinery.plan.aggregate import AggregateForm
from joinery.plan.explain.words import (
    INDENT,
    LATE,
    aggregate_text,
    all_columns,
    computed_text,
    scan_lines,
    values_text,
    window_text,
    with_sources,
)
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.pattern import PatternForm, Rule
from joinery.plan.relation import Relation
from joinery.plan.search import SearchForm
from joinery.plan.support import STORED_GROUPS
from joinery.project.form import WaitEvents, WaitTime
from joinery.project.quantity import duration_text, micros_text

if TYPE_CHECKING:
    from joinery.plan.product import FlatForm


@dataclass(frozen=True, slots=True)
class Shown:
    """What a form shows that has no tree.

    Attributes:
        steps: Its plan, last step first.
        notes: What it does, in words.
        word: What it keeps.
        edges: The relations that it reads, each with what it does to its rows.
        cards: The relations that stand beside it in a picture: kind, name and what they are.
    """

    steps: Iterator[str]
    notes: tuple[str, ...]
    word: str
    edges: tuple[tuple[str, str], ...]
    cards: tuple[tuple[str, str, str], ...]


def shown(form: FlatForm, solution: str) -> Shown:
    """Return what a form shows; `solution` is the one that keeps it."""
    match form:
        case AggregateForm():
            aggregates = tuple(aggregate_text(each) for each in form.aggregates)
            notes = (group_text(form), *aggregates)
            return _over(form.relation, _aggregated(form, solution), notes, "group")
        case HistoryForm():
            return _over(form.relation, _history(form), (history_text(form),), "version")
        case FoldForm():
            return _over(form.relation, _folded(form), (fold_text(form),), "state")
        case PatternForm():
            rules = tuple((each.relation.name, rule_text(each)) for each in form.rules)
            notes = (
                pattern_text(form),
                *(f"{each.name}: {rule_text(each)}" for each in form.rules),
            )
            made = _over(form.relation, _looked_for(form), notes, "match")
            return replace(made, edges=(*made.edges, *rules))
        case SearchForm(documents=documents, queries=queries):
            edges = (documents.name, "documents"), (queries.name, match_text(form))
            cards = ("many", documents.name, "documents"), ("one", queries.name, "stored queries")
            return Shown(_searched(form), (match_text(form),), "match", edges, cards)
        case _:
            assert_never(form)


def _over(relation: Relation, steps: Iterator[str], notes: tuple[str, ...], word: str) -> Shown:
    """Return what a form over one relation shows."""
    edges = ((relation.name, notes[0]),)
    return Shown(steps, notes, word, edges, (("many", relation.name, "its rows"),))


def _aggregated(form: AggregateForm, solution: str) -> Iterator[str]:
    """Yield the steps of a product that aggregates, last first."""
    emit = form.emit
    if emit.when == "closed":
        yield f"Close after {micros_text(emit.allowed_us)}"
    if form.values:
        yield f"Compute {values_text(form.values, form.aggregates)}"
    yield group_text(form)
    if form.window is not None:
        read = form.relation.product
        late = _late_rows(form) if read is None else f"as of {read.name}"
        kept = solution in STORED_GROUPS
        yield "Keep windows forever" if kept else f"Watermark of {form.relation.name}: {late}"
    if form.where is not None:
        yield f"Filter {form.where.sql}"
    yield from scan_lines(form.relation, _used_by(form))


def _searched(form: SearchForm) -> Iterator[str]:
    """Yield the steps of a product that searches, last first."""
    if form.fields:
        yield f"Project {computed_text(form.fields)}"
    yield match_text(form)
    for line in scan_lines(form.queries, all_columns(form.queries)):
        yield INDENT + line
    yield from scan_lines(form.documents, all_columns(form.documents))


def match_text(form: SearchForm) -> str:
    """Return in words which queries match which documents."""
    pairs = ", ".join(f"{pair.child} = {pair.parent}" for pair in form.on)
    told = f"Match {form.queries.name}.{form.query} as {form.language}"
    told += f" on {pairs}" if pairs else ""
    # A new query then finds what changes after it, so batches decide what is sent.
    return told if form.retroactive else f"{told}, new queries with later documents only"


def _history(form: HistoryForm) -> Iterator[str]:
    """Yield the steps of a product that keeps versions, last first."""
    yield history_text(form)
    used = with_sources(form.relation, set(form.used))
    yield from scan_lines(form.relation, frozenset(used))


def history_text(form: HistoryForm) -> str:
    """Return in words what tells versions apart."""
    known = "" if form.known is None else f", known by {form.known}"
    return f"Versions by {form.valid} of {', '.join(form.track) or 'being there'}{known}"


def _folded(form: FoldForm) -> Iterator[str]:
    """Yield the steps of a product that folds events, last first."""
    yield fold_text(form)
    for column in form.state:
        initial = "null" if column.initial is None else column.initial.sql
        yield f"  {column.name} {column.type}: {initial} at first"
    for each in form.when:
        told = ", ".join(f"{one.name} = {one.expression.sql}" for one in each.assigned)
        yield f"  {each.kind}: {told or 'nothing'}"
    yield from _waiting(form)
    names = {each.name for each in form.relation.row.fields}
    yield from scan_lines(form.relation, frozenset(names))


def _waiting(form: FoldForm) -> Iterator[str]:
    match form.wait:
        case WaitTime(0):
            return
        case WaitTime(us):
            by = f"the watermark of {form.relation.name}" if form.relation.time else "the clock"
            yield f"Events behind a gap wait {micros_text(us)} by {by}"
        case WaitEvents(count):
            yield f"Events behind a gap wait until there are {count}"
        case _:
            assert_never(form.wait)


def fold_text(form: FoldForm) -> str:
    """Return in words which events are folded, and in what order."""
    by = computed_text(form.by) if form.by else "nothing"
    return f"Fold by {by} in the order of {form.sequence}, by {form.kind}"


def _looked_for(form: PatternForm) -> Iterator[str]:
    """Yield the steps of a product that finds patterns, last first."""
    if form.waits:
        yield f"Wait until {micros_text(form.within_us or 0)} after the first row are over"
    if form.fields:
        yield f"Compute {matched_text(form)}"
    yield pattern_text(form)
    for each in form.variables:
        if each.condition is not None:
            yield f"  {each.name}: {_read_back(each.condition.sql, form)}"
    if form.relation.time is not None:
        read = form.relation.product
        late = _late_rows(form) if read is None else f"as of {read.name}"
        yield f"Watermark of {form.relation.name}: {late}"
    yield from scan_lines(form.relation, _read_of_rows(form))
    for rule in form.rules:
        yield f"Rule {rule.name}: {rule_text(rule)}"
        for line in scan_lines(rule.relation, all_columns(rule.relation)):
            yield INDENT + line


def rule_text(rule: Rule) -> str:
    """Return in words which row of a rule a row sees."""
    name = rule.relation.name
    return ", ".join(f"{name}.{each.child} = {each.parent}" for each in rule.on)


def pattern_text(form: PatternForm) -> str:
    """Return in words what is looked for."""
    by = computed_text(form.by) if form.by else "nothing"
    within = "" if form.within_us is None else f" within {micros_text(form.within_us)}"
    after = "" if form.after == "past_last" else ", from each row"
    return f"Match {form.written} by {by}{within}{after}"


def matched_text(form: PatternForm) -> str:
    """Return what a match shows, as it was written but for spaces."""
    return ", ".join(f"{e.name} = {_read_back(e.expression.sql, form)}" for e in form.fields)


def _read_back(sql: str, form: PatternForm) -> str:
    """Return an expression with what it reads of a match in place of placeholders."""
    for each in reversed(form.reads):
        variable = f"{each.variable}." if each.variable else ""
        argument = f"{variable}{each.argument.sql}" if each.argument else each.variable or "*"
        sql = sql.replace(each.name, f"{each.function}({argument})")
    return sql


def _read_of_rows(form: PatternForm) -> frozenset[str]:
    """Return the columns of a row that a pattern reads."""
    read = frozenset(form.relation.key).union(*(each.references for each in form.expressions()))
    read = read.union(pair.parent for each in form.rules for pair in each.on)
    time = form.relation.time
    known = {each.name for each in form.relation.row.fields}
    return (read | ({time} if time else set())) & known


def _late_rows(form: AggregateForm | PatternForm) -> str:
    watermark = form.relation.watermark
    idle_ms = watermark.idle_ms if watermark else None
    idle = f", without partitions silent for {duration_text(idle_ms or 0)} by the clock"
    kept = f"kept {micros_text(form.emit.retention_us)}"
    if isinstance(form, AggregateForm) and form.keeps_windows:
        kept = f"windows {kept} for changes, and forever for rows of a snapshot"
    return f"late rows {LATE[form.emit.late]}, {kept}{idle if idle_ms else ''}"


def group_text(form: AggregateForm) -> str:
    """Return in words how rows are grouped."""
    by = computed_text(form.by) if form.by else "nothing"
    return f"Group by {by}" + (f" in {window_text(form.window)}" if form.window else "")


def _used_by(form: AggregateForm) -> frozenset[str]:
    expressions = [each.expression for each in form.by] + ([form.where] if form.where else [])
    expressions += [each for one in form.aggregates for each in (one.argument, one.filter) if each]
    used = {*form.relation.key, *(name for each in expressions for name in each.references)}
    used |= {form.relation.time} if form.relation.time else set()
    return frozenset(with_sources(form.relation, used))
