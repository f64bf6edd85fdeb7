"""Expressions, checked: read, typed and split from their aggregates before anything runs.

What `docs/expressions.md` lists is typed here, exactly as Spark 4.3 types it in ANSI mode
under UTC. The rest is left to an `Analyser`, and marked as not portable.

Invariant: `Expression.sql` is the user's text, character by character, apart from the
placeholders of aggregates.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Protocol

from joinery.expression.functions import (
    AGGREGATES,
    GENERATORS,
    NOT_DETERMINISTIC,
    WINDOWS,
    moving_word,
)
from joinery.expression.lift import Lifted, lift, lift_group
from joinery.expression.match_read import MatchRead, MatchScope, lift_reads
from joinery.expression.parse import parse
from joinery.expression.personal import check_personal, refuse_names, refuse_personal
from joinery.expression.problem import (
    ExpressionError,
    NotPortableError,
    refused,
    too_deep,
    unknown_column,
)
from joinery.expression.resolve import resolve
from joinery.expression.seconds import in_seconds
from joinery.expression.syntax import Call, Name, Syntax, free_names, walk
from joinery.expression.token import tokens_of
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import STRING, DataType, Struct

__all__ = [
    "Analyser",
    "ExpressionError",
    "NotPortableError",
    "build_expression",
    "build_match_expression",
]


class Analyser(Protocol):
    """Types an expression that lies outside the portable subset (Spark's own analyser)."""

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        """Return the type of `sql` over `scope`, or raise `ExpressionError`."""


def build_expression(
    text: str,
    scope: Mapping[str, DataType],
    *,
    embeds: Mapping[str, Struct] | None = None,
    rows: Mapping[str, DataType] | None = None,
    first_aggregate: int = 0,
    seconds: bool = False,
    analyser: Analyser | None = None,
) -> tuple[Expression, tuple[Aggregate, ...]]:
    """Return `text` as a checked expression, and the aggregates that it reads.

    Args:
        text: Spark SQL.
        scope: The names it may use; those of `embeds` too, as lists or maps.
        embeds: The outputs of each `many` embed; None where aggregates may not stand.
        rows: The columns of a group's rows; None where no group is aggregated.
        first_aggregate: The number of the first placeholder `__agg_N`.
        seconds: Whether a difference of timestamps is a number, as it is where `rows` are.
        analyser: Types what lies outside the portable subset.

    Raises:
        ExpressionError: The expression cannot stand here.
        NotPortableError: It lies outside the portable subset, and there is no analyser
            (code `PLAN_NOT_PORTABLE_UNCHECKED`).

    Example:
        >>> from joinery.model.type import INT
        >>> expression, _ = build_expression("a + 1L", {"a": INT})
        >>> str(expression.type), sorted(expression.references)
        ('long', ['a'])
    """
    try:
        return _built(text, scope, embeds, rows, first_aggregate, seconds, analyser)
    except RecursionError:
        raise too_deep() from None


def build_match_expression(
    text: str,
    scope: Mapping[str, DataType],
    match: MatchScope,
    *,
    known: Collection[MatchRead] = (),
    analyser: Analyser | None = None,
) -> tuple[Expression, tuple[MatchRead, ...]]:
    """Return `text` as a checked expression over a match, and what it reads of that.

    A difference of timestamps is a number, in seconds.

    Args:
        text: Spark SQL.
        scope: The names it may use as they are.
        match: What else it may read.
        known: What other expressions of the product read.
        analyser: Types what lies outside the portable subset.

    Raises:
        ExpressionError: The expression cannot stand here.

    Example:
        >>> from joinery.model.type import INT
        >>> scope = MatchScope(("A", "B"), {"x": INT}, own="B")
        >>> expression, reads = build_match_expression("x > A.x", {"x": INT}, scope)
        >>> expression.sql, reads[0].variable, reads[0].function
        ('x > __read_0', 'A', 'last')
    """
    try:
        tree = parse(text)
        _refuse_foreign(tree)

        def build(inner: str, columns: Mapping[str, DataType]) -> Expression:
            return build_expression(inner, columns, seconds=True, analyser=analyser)[0]

        lifted, reads = lift_reads(text, tree, match, known, build)
        _refuse_aggregates(lifted.tree)
        wide = {**scope, **{each.name: each.type for each in reads}}
        return _expression(in_seconds(lifted, wide), wide, analyser, text), reads
    except RecursionError:
        raise too_deep() from None


def _built(
    text: str,
    scope: Mapping[str, DataType],
    embeds: Mapping[str, Struct] | None,
    rows: Mapping[str, DataType] | None,
    first_aggregate: int,
    seconds: bool,
    analyser: Analyser | None,
) -> tuple[Expression, tuple[Aggregate, ...]]:
    try:
        tree = parse(text)
    except NotPortableError:
        if analyser is None:
            raise
        return _unread(text, scope, analyser), ()
    _refuse_foreign(tree)

    seconds = seconds or rows is not None

    def build(inner: str, outputs: Mapping[str, DataType]) -> Expression:
        return build_expression(inner, outputs, seconds=seconds, analyser=analyser)[0]

    if rows is not None:
        lifted = lift_group(text, tree, rows=rows, scope=scope, first=first_aggregate, build=build)
    elif embeds is None:
        _refuse_aggregates(tree)
        lifted = Lifted(tree, text, ())
    else:
        lifted = lift(text, tree, embeds=embeds, scope=scope, first=first_aggregate, build=build)
    wide = {**scope, **{each.name: each.type for each in lifted.aggregates}}
    lifted = in_seconds(lifted, wide) if seconds else lifted
    for each in lifted.aggregates:
        refuse_personal(each.argument)
    return _expression(lifted, wide, analyser, text), lifted.aggregates


def _expression(
    lifted: Lifted, scope: Mapping[str, DataType], analyser: Analyser | None, text: str
) -> Expression:
    references = frozenset(each.name for each in free_names(lifted.tree))
    for each in free_names(lifted.tree):
        if each.name not in scope:
            error = _moving(each.name, each.start) or unknown_column(
                each.name, scope, offset=each.start
            )
            if _compared_with_text(lifted.tree, each.name, scope):
                error.hint = f"A text needs quotes: '{each.name}'."
            raise error
    try:
        typed = resolve(lifted.tree, scope)
        check_personal(typed)
        return Expression(lifted.sql, typed.type, references, typed)
    except NotPortableError as error:
        if analyser is None:
            raise
        outside = error
    refuse_names(references, scope)
    try:
        return Expression(lifted.sql, analyser.type_of(lifted.sql, scope), references)
    except NotPortableError:  # there is no session to ask
        raise outside from None
    except ExpressionError as error:
        _put_back(error, lifted, text)
        raise


def _put_back(error: ExpressionError, lifted: Lifted, text: str) -> None:
    """Let an error about what was lifted name, and point to, what the user wrote."""
    written = {
        each.name: text[each.start : each.end]
        for each in free_names(lifted.tree)
        if _PLACEHOLDER.fullmatch(each.name)
    }
    before = _PLACEHOLDER.findall(lifted.sql[: error.offset])
    error.offset += sum(len(written.get(each, each)) - len(each) for each in before)
    error.message = _PLACEHOLDER.sub(lambda found: written.get(found[0], found[0]), error.message)


def _unread(text: str, scope: Mapping[str, DataType], analyser: Analyser) -> Expression:
    """Return an expression whose syntax only Spark reads; `references` may be too many."""
    tokens = tokens_of(text)
    names: set[str] = set()
    for before, token, after in zip((tokens[-1], *tokens), tokens, tokens[1:], strict=False):
        if token.kind not in ("name", "quoted") or before.value == ".":
            continue
        if after.value == "(" and after.kind == "symbol":
            _refuse_function(token.word, token.start)
            if token.word in AGGREGATES:
                raise _misplaced(token.word, token.start)
        elif token.value not in scope and (moving := _moving(token.value, token.start)):
            raise moving
        names.add(token.value)
    refuse_names(names, scope)
    return Expression(text, analyser.type_of(text, scope), frozenset(names & set(scope)))


def _refuse_foreign(tree: Syntax) -> None:
    for node in walk(tree):
        if isinstance(node, Call):
            _refuse_function(node.function, node.start)


_PLACEHOLDER = re.compile(r"__(?:agg|read)_\d+")
_EQUALITIES = frozenset(("=", "<>", "<=>"))


def _compared_with_text(tree: Syntax, name: str, scope: Mapping[str, DataType]) -> bool:
    """Return whether `name`, which is not a column, is compared with a column of text."""
    for node in walk(tree):
        if isinstance(node, Call) and node.function in _EQUALITIES:
            names = [each.name for each in node.arguments if isinstance(each, Name)]
            if name in names and any(scope.get(each) == STRING for each in names):
                return True
    return False


def _refuse_function(name: str, offset: int) -> None:
    if name in NOT_DETERMINISTIC:
        raise _changing(name, offset)
    if name in GENERATORS:
        raise refused(f'the generator "{name}"', offset=offset)
    if name in WINDOWS:
        raise refused(f'the window function "{name}"', offset=offset)


def _refuse_aggregates(tree: Syntax) -> None:
    for node in walk(tree):
        if isinstance(node, Call) and node.function in AGGREGATES:
            raise _misplaced(node.function, node.start)


def _moving(name: str, offset: int) -> ExpressionError | None:
    return _changing(name, offset) if moving_word(name) else None


def _changing(name: str, offset: int) -> ExpressionError:
    return ExpressionError(
        f'the function "{name}" is not deterministic',
        code="PLAN_NOT_DETERMINISTIC",
        offset=offset,
        detail="A document must follow from its rows alone.",
        hint="Use a column of the row.",
    )


def _misplaced(name: str, offset: int) -> ExpressionError:
    return ExpressionError(
        f'the aggregate "{name}" cannot be used here',
        code="PLAN_AGGREGATE",
        offset=offset,
        detail="Aggregates are kept over the rows of a many embed, or of a group.",
        hint="A product keeps aggregates, under values of the node that has the embed, or of a"
        " product with aggregate; a stream keeps none.",
    )
