"""Lowers forms that are not documents: groups, versions, folds of events, patterns, searches."""

from __future__ import annotations

from dataclasses import replace

from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.pattern import PatternForm
from joinery.plan.search import SearchForm
from joinery.solutions.spark_state.document_program import Upward
from joinery.solutions.spark_state.draft import Draft
from joinery.solutions.spark_state.event_folding import event_fold, waiting_of
from joinery.solutions.spark_state.group_program import Group
from joinery.solutions.spark_state.grouping import (
    closing_of,
    group_aggregates,
    group_assembler,
    input_assembler,
    late_program,
    session_program,
    sliding_program,
    window_program,
)
from joinery.solutions.spark_state.program import ChildUse, GroupUse
from joinery.solutions.spark_state.search_program import QueryUse, SearchedUse
from joinery.solutions.spark_state.searching import search_node
from joinery.solutions.spark_state.sequencing import pattern_node, rule_assembler, rule_node
from joinery.solutions.spark_state.versioning import (
    history_node,
    version_assembler,
)


def lower_group(draft: Draft, name: str, form: AggregateForm, *, product: int) -> None:
    """Add a Group, with a Closing before it where it sends once its windows are closed."""
    uses = draft.relations[form.relation.name]
    index = draft.reserve()
    rows = input_assembler(name, uses.row, form)
    late = late_program(form, time=uses.time)
    draft.nodes[index] = Group(
        name=name,
        level=0,
        relation=uses.index,
        input=draft.assembler(rows),
        by=len(form.by),
        window=window_program(form.window),
        session=session_program(form),
        sliding=sliding_program(form.window),
        aggregates=group_aggregates(rows.type, form),
        assembler=draft.assembler(group_assembler(name, form)),
        product=product,
        late=late,
        stays=True if late is not None and form.keeps_windows else None,
    )
    _use_by_time(draft, name, form, index)


def lower_history(draft: Draft, name: str, form: HistoryForm, *, product: int) -> None:
    """Add what keeps the versions of rows."""
    uses = draft.relations[form.relation.name]
    uses.histories.append(len(draft.nodes))
    row, columns, relation = uses.row, uses.columns, uses.index
    made = draft.assembler(version_assembler(name, row, form))
    node = history_node(
        name, form, row, columns, relation=relation, assembler=made, product=product
    )
    draft.nodes.append(node)


def lower_event_fold(draft: Draft, name: str, form: FoldForm, *, product: int) -> None:
    """Add what folds events into states."""
    uses, index = draft.relations[form.relation.name], draft.reserve()
    draft.nodes[index] = event_fold(name, form, uses, draft.assembler, product=product)
    waiting = waiting_of(name, form, relation=uses.index, target=index)
    draft.nodes += [] if waiting is None else [waiting]
    uses.folds.append(index)


def lower_pattern(draft: Draft, name: str, form: PatternForm, *, product: int) -> None:
    """Add what finds matches, and the rules that its rows see."""
    uses = draft.relations[form.relation.name]
    index = draft.reserve()
    rules = [_rule(draft, name, form, place, index) for place in range(len(form.rules))]
    draft.nodes[index] = pattern_node(
        name,
        form,
        uses.row,
        relation=uses.index,
        product=product,
        late=late_program(form, time=uses.time),
        rules=rules,
        add=draft.assembler,
    )
    _use_by_time(draft, name, form, index)


def _rule(draft: Draft, name: str, form: PatternForm, place: int, target: int) -> int:
    rule, rows = form.rules[place], draft.relations[form.relation.name]
    uses = draft.relations[rule.relation.name]
    draft.nodes.append(rule_node(name, form, place, relation=rows.index, target=target))
    seen = draft.assembler(rule_assembler(name, form, place, uses.row))
    on = uses.address([pair.child for pair in rule.on], [pair.type for pair in rule.on])
    uses.uses.append(ChildUse(seen, Upward(len(draft.nodes) - 1, 0, on)))
    return len(draft.nodes) - 1


def _use_by_time(draft: Draft, name: str, form: AggregateForm | PatternForm, target: int) -> None:
    uses = draft.relations[form.relation.name]
    clock = draft.relations[form.relation.clock[0].name].index
    draft.nodes += closing_of(name, form, len(draft.nodes), relation=clock, target=target)
    if form.relation.append:
        uses.groups.append(target)
    elif form.emit.late != "correct":
        uses.apart.append(GroupUse(target))
    else:
        uses.uses.append(GroupUse(target))


def lower_search(draft: Draft, name: str, form: SearchForm, *, product: int) -> None:
    """Add what matches stored queries with documents."""
    documents = draft.relations[form.documents.name]
    queries = draft.relations[form.queries.name]
    rows = documents.row, queries.row
    node = search_node(name, form, rows, product=product, add=draft.assembler)
    documents.uses.append(SearchedUse(len(draft.nodes)))
    queries.uses.append(QueryUse(len(draft.nodes), node.stored))
    draft.nodes.append(replace(node, documents=documents.index, queries=queries.index))
