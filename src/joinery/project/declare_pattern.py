"""Patterns from Python: their rows put together, and the product that looks for them.

Invariant: what is built reads as what was called, whatever it is put into afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from joinery.errors import SpecError, suggesting, suggesting_methods
from joinery.project.argument import RelationLike, check_name, relation_name
from joinery.project.declare import product_of
from joinery.project.declare_embed import Document, Embed, embeds_given, objects_of
from joinery.project.form import After
from joinery.project.node import NodeSpec
from joinery.project.typing import EmitMap, ExpectMap, Fields, Sinks, Solution

_Binding = Literal["variable", "repetition", "sequence", "either", "whole"]
_TIGHTER: dict[str, tuple[_Binding, ...]] = {
    "repetition": ("variable",),
    "sequence": ("variable", "repetition", "sequence"),
    "either": ("variable", "repetition", "sequence", "either"),
}


@suggesting_methods
@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that follow one another; every method returns a new value.

    Attributes:
        match: The pattern, as `match` of a product has it.
        define: Its variables, and what a row must be to be theirs.
        binding: How tightly the parts of `match` hold together.
    """

    match: str
    define: Mapping[str, str] = field(default_factory=dict)
    binding: _Binding = "variable"

    def times(self, least: int, most: int | None = None) -> Rows:
        """From `least` to `most` times in a row, as often as it can be; None is unbounded.

        Example:
            >>> row("F", "not ok").times(3).match, row("A").times(1, 2).match
            ('F{3,}', 'A{1,2}')
        """
        bound = "" if most is None else most
        return self._made(f"{self._within('repetition')}{{{least},{bound}}}", "repetition")

    def optional(self) -> Rows:
        """Once, or not at all."""
        return self._made(f"{self._within('repetition')}?", "repetition")

    def next(self, other: Rows) -> Rows:
        """Then at once, in the very next row of the key, the other.

        Example:
            >>> row("A").next(row("B").otherwise(row("C"))).match
            'A (B | C)'
        """
        return self._joined(" ", other, "sequence")

    def then(self, other: Rows) -> Rows:
        """Then the other, after any rows between.

        Example:
            >>> row("A").then(row("B")).match
            'A -> B'
        """
        return self._joined(" -> ", other, "sequence")

    def otherwise(self, other: Rows) -> Rows:
        """Or, where this leads to no match, the other."""
        return self._joined(" | ", other, "either")

    def not_followed_by(self, other: Rows) -> Rows:
        """All of it, and until `within` is over no row that is the other.

        Raises:
            SpecError: The other is more than one row.

        Example:
            >>> row("A").not_followed_by(row("B")).match
            'A not B'
        """
        if _rows(other).binding != "variable":
            raise SpecError(
                f'no later row can be "{other.match}", which is more than one',
                code="SPEC_VALUE",
                hint="Write one row, such as jn.row(name, condition).",
            )
        return self._joined(" not ", other, "whole")

    def _joined(self, sign: str, other: Rows, binding: _Binding) -> Rows:
        inner = "either" if binding == "whole" else binding
        made = f"{self._within(inner)}{sign}{_rows(other)._within(inner)}"
        for name, condition in other.define.items():
            if self.define.get(name, condition) != condition:
                raise SpecError(
                    f'the variable "{name}" has two conditions',
                    code="SPEC_VALUE",
                    detail=f"They are {self.define[name]} and {condition}.",
                )
        return Rows(made, {**self.define, **other.define}, binding)

    def _within(self, outer: str) -> str:
        """Return the text as part of something that binds so tightly."""
        if self.binding == "whole":
            raise SpecError(
                'what follows "not" belongs to the whole pattern, and nothing may come after it',
                code="SPEC_VALUE",
                hint="Call not_followed_by last.",
            )
        return self.match if self.binding in _TIGHTER[outer] else f"({self.match})"

    def _made(self, match: str, binding: _Binding) -> Rows:
        return Rows(match, self.define, binding)


def _rows(given: object) -> Rows:
    if isinstance(given, Rows):
        return given
    raise SpecError(
        f"an object of type {type(given).__name__} is not a row of a pattern",
        code="SPEC_SHAPE",
        hint="Write jn.row(name, condition).",
    )


def row(name: str, condition: str | None = None) -> Rows:
    """Return one row of a pattern.

    Args:
        name: The variable, which conditions and fields may read.
        condition: What the row must be, an expression of Spark SQL; None is any row.

    Example:
        >>> row("F", "not ok").times(3).then(row("S", "ok")).define
        {'F': 'not ok', 'S': 'ok'}
    """
    check_name(name, "a row")
    return Rows(name, {} if condition is None else {name: condition})


@suggesting
def pattern(
    name: str,
    relation: RelationLike,
    *,
    match: str | Rows,
    by: Fields | None = None,
    order: Sequence[str] | None = None,
    define: Mapping[str, str] | None = None,
    within: str | None = None,
    after: After | None = None,
    fields: Fields | None = None,
    rules: Mapping[str, Embed] | None = None,
    emit: EmitMap | None = None,
    sink: Sinks | None = None,
    group: str | None = None,
    solution: Solution | None = None,
    ready: Sequence[str] | None = None,
    expect: ExpectMap | None = None,
) -> Document:
    """Return a product of one row per match of a pattern in `relation`'s rows.

    Args:
        name: The product's name.
        relation: The relation in whose rows matches are looked for; or a product of the group.
        match: The pattern: `F{3,} -> S not P`; or the same as `jn.row(…)` builds it.
        by: Whose rows make a match; None is all of them.
        order: The order of rows; None is by time, then by the key.
        define: Variables, and what a row must be to be theirs; beside those of `jn.row`.
        within: How long after its first row a match may end.
        after: Where the search goes on: `past_last` or `next_row`.
        fields: What a match shows.
        rules: By name, the row of another relation whose columns conditions read: `jn.one(…)`.
        emit: When matches are sent, and what late rows do.
        sink: As for `jn.document`.
        group: Products of one group share a query.
        solution: As for `jn.document`.
        ready: As for `jn.document`.
        expect: As for `jn.document`.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> failed, fine = row("F", "not ok"), row("S", "ok")
        >>> pattern("p", "login", match=failed.times(3, None).then(fine)).spec.form.match
        'F{3,} -> S'
    """
    if isinstance(match, Rows):
        define, match = {**match.define, **(define or {})}, match.match
    parts: dict[str, object] = {"pattern": relation_name(relation), "by": by, "order": order}
    parts |= {"define": define, "match": match, "within": within, "after": after}
    parts |= {"fields": fields, "emit": emit, "sink": sink}
    parts |= {"group": group, "solution": solution, "ready": ready, "expect": expect}
    told = embeds_given(rules)
    parts["rules"] = {name: _rule(name, each) for name, each in told.items()} or None
    others = (other for each in told.values() for other in each.relations)
    return Document(product_of(name, parts), (*objects_of(relation), *others))


def _rule(name: str, embed: Embed) -> dict[str, object]:
    """Return what declares a rule, which knows no more of its relation than `on`."""
    spec = embed.spec
    if spec != NodeSpec(spec.name, "one", spec.relation, on=spec.on):
        message = f'rule "{name}" takes a relation and "on" alone'
        hint = "Write jn.one(RELATION, on={its column: the row's})."
        raise SpecError(message, code="SPEC_VALUE", hint=hint)
    return {"one": spec.relation, "on": dict(spec.on)}
