"""From the declared rules of a pattern to their plan: relations and join columns resolved.

Invariant: every problem is reported at the word that causes it, and what follows from a problem
is not reported again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from joinery.plan.build_on import build_pair
from joinery.plan.context import Context
from joinery.plan.pattern import Rule
from joinery.plan.relation import JoinPair, Relation
from joinery.project.form import PatternSpec, RuleSpec
from joinery.project.mark import Path

Known = tuple[Relation, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a pattern, and the names of those whose own problem is noted."""

    rules: tuple[Rule, ...]
    failed: frozenset[str]


def build_rules(
    context: Context, spec: PatternSpec, path: Path, rows: Known, relations: Mapping[str, Known]
) -> Rules:
    """Return the plan of the rules that conditions see.

    Args:
        context: Takes the problems.
        spec: The pattern.
        path: The product's.
        rows: Its relation, with the columns whose own problem is noted.
        relations: All relations, each with such columns.
    """
    made: list[Rule] = []
    failed: set[str] = set()
    for each in spec.rules:
        rule = _rule(context, each, (*path, "rules", each.name), rows, relations)
        if rule is None:
            failed.add(each.name)
        else:
            made.append(rule)
    return Rules(tuple(made), frozenset(failed))


def _rule(
    context: Context, spec: RuleSpec, path: Path, rows: Known, relations: Mapping[str, Known]
) -> Rule | None:
    if not spec.relation:
        return None  # noted where it was read
    if spec.relation not in relations:
        message, place = f'there is no relation "{spec.relation}"', (*path, "one")
        context.unknown(
            "PLAN_UNKNOWN_RELATION", message, place, name=spec.relation, known=relations
        )
        return None
    relation, failed = relations[spec.relation]
    if spec.name in (each.name for each in rows[0].row.fields):
        message = f'"{spec.name}" is a rule of the pattern, and a column'
        context.refuse("PLAN_PATTERN", message, path, hint="Give the rule another name.", key=True)
        return None
    if not _may_be_rules(context, relation, rows[0], path):
        return None
    known = [each for each in dict.fromkeys(spec.on) if (failed | rows[1]).isdisjoint(each)]
    pairs = [
        build_pair(context, (*path, "on", names[0]), names, relation, rows[0]) for names in known
    ]
    found = tuple(each for each in pairs if each is not None)
    whole = len(found) == len(dict.fromkeys(spec.on))
    return (
        Rule(spec.name, relation, found) if whole and _one(context, relation, found, path) else None
    )


def _may_be_rules(context: Context, relation: Relation, rows: Relation, path: Path) -> bool:
    """Refuse what has no row that stands now: a log, a product, the pattern's own rows."""
    place = (*path, "one")
    if relation.name == rows.name:
        message, hint = f'the rows of "{relation.name}" are their own rules', "Use prev or first."
    elif relation.append:
        message = f'"{relation.name}" is a log (append), of which no row is the rule'
        hint = "Remove append: then the newest row of each key counts."
    elif relation.product is not None:
        message = f'"{relation.name}" is a product, and cannot give rules yet'
        hint = "Write its documents to a topic, and read them as a relation."
    else:
        return True
    context.refuse("PLAN_PATTERN", message, place, hint=hint)
    return False


def _one(context: Context, relation: Relation, pairs: tuple[JoinPair, ...], path: Path) -> bool:
    """Refuse a rule of which a row could see several."""
    columns = [each.child for each in pairs]
    missing = [each for each in relation.key if each not in columns]
    twice = len(set(columns)) < len(columns)
    if relation.key and not missing and not twice:
        return True
    if twice:
        message, hint = "a column of the rule is compared twice", "Compare each once."
    else:
        names = ", ".join(missing) or "a key"
        message = f'a row could see several rows of "{relation.name}": "on" lacks {names}'
        hint = "Compare its whole key." if relation.key else "Declare its key, and compare that."
    context.refuse("PLAN_PATTERN", message, (*path, "on"), hint=hint)
    return False
