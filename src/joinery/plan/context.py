"""What building a plan has at hand: the spec, an analyser, and the problems so far.

Invariant: every problem carries the place of the exact word, where the spec has places.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from joinery.errors import JoineryError, Location, PlanError
from joinery.expression.expression import (
    Analyser,
    build_expression,
    build_match_expression,
)
from joinery.expression.match_read import MatchRead, MatchScope
from joinery.expression.problem import ExpressionError, UnknownColumnError, nearest_hint
from joinery.expression.typed import Aggregate, Apply, Constant, Convert, Expression, Typed, parts
from joinery.model.type import DataType, Struct, quoted
from joinery.project.mark import Path
from joinery.project.product import ProjectSpec
from joinery.project.value import Pairs

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SPELLED = re.compile(r"`((?:[^`]|``)+)`|([^\W\d]\w*)")
_COMPARISONS = frozenset({"=", "<", "<=", ">", ">="})  # A <> is the negation of an =.
_RESERVED = frozenset(
    "all and any array as asc between binary both by case cast create cross current_date"
    " current_timestamp date decimal desc distinct div else end escape except exists false filter"
    " for from full group having if ilike in inner intersect interval into is join left like"
    " limit map natural not null offset on or order outer over regexp right rlike row select some"
    " struct table then time timestamp trailing true union unique using when where window"
    " with".split()
)


class Context:
    """Collects the problems and warnings of one project."""

    def __init__(self, spec: ProjectSpec, analyser: Analyser | None) -> None:
        self.spec = spec
        self.analyser = analyser
        self.problems: list[JoineryError] = []
        self.warnings: list[JoineryError] = []
        self.solution = "spark-state"

    def refuse(
        self,
        code: str,
        message: str,
        path: Path,
        *,
        key: bool = False,
        detail: str = "",
        hint: str = "",
        warning: bool = False,
    ) -> None:
        """Note a problem, or a warning, of the part at `path`."""
        place = self.spec.locate(path, key=key)
        error = PlanError(message, code=code, detail=detail, hint=hint, location=place)
        error.declared = path
        (self.warnings if warning else self.problems).append(error)

    def unknown(
        self,
        code: str,
        message: str,
        path: Path,
        *,
        name: str,
        known: Collection[str],
        key: bool = False,
    ) -> None:
        """Note a name that is none of `known`, with the nearest of them."""
        detail = f"Known: {', '.join(known)}." if known else "None are declared."
        self.refuse(code, message, path, key=key, detail=detail, hint=nearest_hint(name, known))

    def no_relation(self, path: Path, name: str, known: Collection[str]) -> None:
        """Note the name of a relation that is none of `known`, in what reads no products."""
        products = {each.name for each in self.spec.products}
        products |= {each.name for each in self.spec.relations if each.product}
        if name in products:
            message = f'"{name}" is a product, and only products of its group can read it'
            self.refuse("PLAN_PRODUCT", message, path)
        else:
            message = f'there is no relation "{name}"'
            self.unknown("PLAN_UNKNOWN_RELATION", message, path, name=name, known=known)

    def expression(
        self,
        text: str,
        path: Path,
        scope: Mapping[str, DataType],
        *,
        failed: Collection[str] = (),
        embeds: Mapping[str, Struct] | None = None,
        rows: Mapping[str, DataType] | None = None,
        first_aggregate: int = 0,
        elsewhere: Mapping[str, str] | None = None,
    ) -> tuple[Expression, tuple[Aggregate, ...]] | None:
        """Return the checked expression, or note why there is none.

        Args:
            text: The user's own text; exactly the name of a column means that column.
            path: Where it is declared.
            scope: The names it sees.
            failed: Names whose own problem is noted; what uses them is not judged.
            embeds: The `many` embeds that aggregates may read.
            rows: The columns of a group's rows, which aggregates may read.
            first_aggregate: The number of the first aggregate it may make.
            elsewhere: Hints for names that are known, and that it does not see.
        """
        if not text or _mentions(text, failed):
            return None
        try:
            expression, aggregates = build_expression(
                named(text, scope),
                scope,
                embeds=embeds,
                rows=rows,
                first_aggregate=first_aggregate,
                analyser=self.analyser,
            )
        except ExpressionError as error:
            self._note(error, text, path, elsewhere or {})
            return None
        self.check_portable(expression, aggregates, path)
        self._check_nulls(_asked(expression, aggregates), text, path)
        return expression, aggregates

    def _note(
        self, error: ExpressionError, text: str, path: Path, elsewhere: Mapping[str, str]
    ) -> None:
        error.location = self.place(path, text, error.offset)
        error.declared = path
        if isinstance(error, UnknownColumnError):
            error.hint = elsewhere.get(error.name, error.hint)
        self.problems.append(error)

    def match_expression(
        self,
        text: str,
        path: Path,
        scope: Mapping[str, DataType],
        match: MatchScope,
        reads: list[MatchRead],
        failed: Collection[str] = (),
        *,
        elsewhere: Mapping[str, str] | None = None,
    ) -> Expression | None:
        """Return a checked expression over a match, or note why there is none.

        Args:
            text: The user's own text.
            path: Where it is declared.
            scope: The names it sees as they are.
            match: What else it may read.
            reads: What others of the product read; takes what this one adds.
            failed: Names whose own problem is noted; what uses them is not judged.
            elsewhere: Hints for names that are known, and that it does not see.
        """
        if not text or _mentions(text, failed):
            return None
        try:
            expression, found = build_match_expression(
                named(text, scope), scope, match, known=reads, analyser=self.analyser
            )
        except ExpressionError as error:
            self._note(error, text, path, elsewhere or {})
            return None
        self.check_portable(expression, (), path)
        self._check_nulls((expression,), text, path)
        reads += [each for each in found if each not in reads]
        return expression

    def place(self, path: Path, text: str, offset: int) -> Location | None:
        """Return the place of a character of `text`, which the scalar at `path` contains."""
        mark = self.spec.locations.marks.get(path)
        start = mark.text.find(text) if mark else 0
        return self.spec.locations.within(path, max(start, 0) + offset)

    def check_portable(
        self, expression: Expression, aggregates: Sequence[Aggregate], path: Path
    ) -> None:
        """Warn of what only spark-state can evaluate; refuse it under another solution."""
        asked = _asked(expression, aggregates)
        odd = next((each for each in asked if not each.portable), None)
        if odd is None:
            return
        self.refuse(
            "PLAN_NOT_PORTABLE",
            f'"{odd.sql}" runs only in the solution spark-state',
            path,
            detail="It uses Spark functions outside the portable subset.",
            hint="Use what docs/expressions.md lists, where another solution is to run it.",
            warning=self.solution == "spark-state",
        )

    def _check_nulls(self, asked: Sequence[Expression], text: str, path: Path) -> None:
        """Warn of what is compared with null: the answer is null, whatever the row has."""
        trees = (each.typed for each in asked if each.typed is not None)
        if any(_meets_null(part) for tree in trees for part in parts(tree)):
            self.refuse(
                "PLAN_NULL_COMPARISON",
                f'"{text}" compares with null, which is never true',
                path,
                detail="In SQL nothing equals null, and nothing differs from it.",
                hint="Write is null, or is not null.",
                warning=True,
            )

    def condition(
        self,
        text: str,
        path: Path,
        scope: Mapping[str, DataType],
        failed: Collection[str] = (),
        *,
        word: str = "where",
        elsewhere: Mapping[str, str] | None = None,
    ) -> Expression | None:
        """Return a checked condition, which is declared under `word`."""
        found = self.expression(text, path, scope, failed=failed, elsewhere=elsewhere)
        if found is None:
            return None
        if str(found[0].type) != "boolean":
            self.refuse(
                "PLAN_TYPE_MISMATCH",
                f'"{word}" needs a boolean, and "{text}" is {found[0].type}',
                path,
                hint="Compare it with something.",
            )
        return found[0]


def named(text: str, scope: Mapping[str, DataType]) -> str:
    """Return `text`, quoted where it is the name of an awkwardly named column."""
    simple = _WORD.fullmatch(text) and text.lower() not in _RESERVED
    return quoted(text) if text in scope and not simple else text


def _asked(expression: Expression, aggregates: Sequence[Aggregate]) -> list[Expression]:
    """Return an expression, and those that its aggregates have."""
    inner = [one for each in aggregates for one in (each.argument, each.filter)]
    return [expression, *(each for each in inner if each is not None)]


def _meets_null(node: Typed) -> bool:
    """Return whether a node is null for any row, as it compares with null.

    What is `in (null, 1)` may be 1; nothing is `not in (null, 1)`.
    """
    if not isinstance(node, Apply):
        return False
    inner = node.arguments[0] if node.function == "not" else None
    if isinstance(inner, Apply) and inner.function == "in":
        return any(map(_is_null, inner.arguments))
    return node.function in _COMPARISONS and any(map(_is_null, node.arguments))


def _is_null(node: Typed) -> bool:
    while isinstance(node, Convert):
        node = node.argument
    return isinstance(node, Constant) and node.value is None


def later_values(values: Pairs, name: str) -> dict[str, str]:
    """Return hints for the values that are declared below one of them, which it does not see."""
    names = [each for each, _ in values]
    below = names[names.index(name) + 1 :]
    return {each: f'Move "{each}" up: a value sees those above it.' for each in below}


def _mentions(text: str, names: Collection[str]) -> bool:
    if not names:
        return False
    spelled = {(found[0].replace("``", "`") or found[1]) for found in _SPELLED.findall(text)}
    return text in names or not spelled.isdisjoint(names)
