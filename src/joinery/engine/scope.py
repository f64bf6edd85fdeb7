"""The names that a node's expressions see, with their types.

Invariant: a later layer hides a name of an earlier one, as the plan's contract says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from joinery.engine.evaluate import compile_typed, never_fails, typed_expression
from joinery.engine.failure import EvaluationError
from joinery.model.type import LONG, DataType
from joinery.plan.nodes import Expression, Node, Relation

Scope = Mapping[str, DataType]
Evaluate = Callable[[Mapping[str, Any]], Any]


@dataclass(slots=True)
class Findings:
    """What an evaluation of documents met on its way.

    Attributes:
        failures: How many expressions failed, and gave null.
        multiple: The `one` embeds, by path and join value, with several matching rows.
    """

    failures: int = 0
    multiple: set[tuple[str, tuple[Any, ...]]] = field(default_factory=set)

    def taken(self) -> Findings:
        """Return what was found, and begin anew."""
        found = Findings(self.failures, set(self.multiple))
        self.failures = 0
        self.multiple.clear()
        return found

    def since(self, before: Findings) -> Counter[str]:
        """Return the counters of what was not found before."""
        return +Counter(
            expression_errors=max(0, self.failures - before.failures),
            multiple_matches=len(self.multiple - before.multiple),
        )


def relation_scope(relation: Relation) -> dict[str, DataType]:
    """Return what a relation's own expressions see: its columns, declared and derived."""
    return {field.name: field.type for field in relation.row.fields}


def fields_scope(node: Node) -> dict[str, DataType]:
    """Return what `fields` see: the relation's columns, hidden by `one` embeds."""
    ones = {embed.name: embed.type for embed in node.embeds if embed.cardinality == "one"}
    return relation_scope(node.relation) | ones


def values_scope(node: Node) -> dict[str, DataType]:
    """Return what `values` see: fields, embeds, totals, aggregates and values."""
    fields = {each.name: each.expression.type for each in node.fields}
    embeds = {embed.name: embed.type for embed in node.embeds}
    totals: dict[str, DataType] = {e.total_name: LONG for e in node.embeds if e.total_name}
    aggregates = {each.name: each.type for each in node.aggregates}
    return fields | embeds | totals | aggregates | own_values(node)


def own_values(node: Node) -> dict[str, DataType]:
    """Return the names and types of a node's `values`."""
    return {each.name: each.expression.type for each in node.values}


def rank_scope(node: Node) -> dict[str, DataType]:
    """Return what `where` and `order` see: the scope of `fields`, hidden by `values`."""
    return fields_scope(node) | own_values(node)


def guarded(expression: Expression, scope: Scope, findings: Findings) -> Evaluate:
    """Compile `expression` so that a failure gives null and is found."""
    typed = typed_expression(expression, scope)
    evaluate = compile_typed(typed)
    if never_fails(typed):
        return evaluate

    def value_of(names: Mapping[str, Any]) -> Any:
        try:
            return evaluate(names)
        except EvaluationError:
            findings.failures += 1
            return None

    return value_of
