"""Aggregates over `many` embeds, lifted out of the expression that uses them.

`sum(e.x * 2) filter (where e.y)` becomes an `Aggregate` over the outputs of `e`, whose
expressions are the user's text without the prefix `e.`, and a placeholder in its place.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from joinery.expression.aggregate import EMBED_AGGREGATES, AggregateFunction
from joinery.expression.functions import AGGREGATES, FUNCTIONS
from joinery.expression.group_aggregate import (
    GROUP_AGGREGATES,
    GROUP_NAMES,
    RATE,
    WINDOW_SECONDS,
    GroupFunction,
    Number,
    takes_distinct,
)
from joinery.expression.operator import OPERATORS
from joinery.expression.problem import ExpressionError, nearest_hint, type_error
from joinery.expression.syntax import (
    Call,
    Lambda,
    Literal,
    Member,
    Name,
    Star,
    Syntax,
    children,
    free_names,
    walk,
)
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import BOOLEAN, LONG, DataType, Struct

Build = Callable[[str, Mapping[str, DataType]], Expression]
Span = tuple[int, int]
_NAMES = AGGREGATES | GROUP_NAMES
_KNOWN = FUNCTIONS.keys() | OPERATORS.keys()
_QUANTILE = "approx_quantile(x, p)"
_INSTEAD = {  # Spark's aggregates that groups have under another name
    "any_value": "first(x)",
    "approx_percentile": _QUANTILE,
    "array_agg": "collect(x, n)",
    "collect_list": "collect(x, n)",
    "median": "approx_quantile(x, 0.5)",
    "mode": "approx_top_k(x, 1)",
    "percentile": _QUANTILE,
    "percentile_approx": _QUANTILE,
}


@dataclass(frozen=True, slots=True)
class Lifted:
    """An expression without its aggregates.

    Attributes:
        tree: Its syntax, with the placeholders as names where the aggregates stood.
        sql: Its text, likewise.
        aggregates: What the placeholders stand for.
    """

    tree: Syntax
    sql: str
    aggregates: tuple[Aggregate, ...]


def lift(
    text: str,
    tree: Syntax,
    *,
    embeds: Mapping[str, Struct],
    scope: Mapping[str, DataType],
    first: int,
    build: Build,
) -> Lifted:
    """Return the expression `text`, parsed as `tree`, with its aggregates apart.

    Args:
        text: The expression as written.
        tree: Its syntax.
        embeds: The outputs of each `many` embed.
        scope: The names around the aggregates.
        first: The number of the first placeholder.
        build: Builds the argument and the filter.
    """
    return _lifted(
        text,
        tree,
        first,
        lambda call: _Lifter(text, call, embeds=embeds, scope=scope, build=build).aggregate(),
    )


def lift_group(
    text: str,
    tree: Syntax,
    *,
    rows: Mapping[str, DataType],
    scope: Mapping[str, DataType],
    first: int,
    build: Build,
) -> Lifted:
    """Return the expression `text`, parsed as `tree`, with its aggregates over a group apart.

    Args:
        text: The expression as written.
        tree: Its syntax.
        rows: The columns of the group's rows, which the aggregates alone may name.
        scope: The names around the aggregates.
        first: The number of the first placeholder.
        build: Builds the argument and the filter.
    """
    rates = [each for each in walk(tree) if isinstance(each, Call) and each.function == RATE]
    for each in rates:
        _check_rate(each, scope)
    lifted = _lifted(
        text, tree, first, lambda call: _group_aggregate(text, call, rows, build), rates
    )
    _check_spelling(lifted.tree, rows.keys() - scope.keys())
    return lifted


def _check_spelling(tree: Syntax, rows: Collection[str]) -> None:
    """Refuse a function of a row's columns that is named like an aggregate, and is none.

    Args:
        tree: Without the aggregates: what still names a column is in none of them.
        rows: The columns that aggregates alone may name.
    """
    for call in walk(tree):
        if not isinstance(call, Call) or call.function in _KNOWN:
            continue
        if not any(each.name in rows for part in children(call) for each in free_names(part)):
            continue
        if hint := nearest_hint(call.function, sorted(GROUP_NAMES)):
            message = f'there is no aggregate "{call.function}"'
            code, offset = "PLAN_UNKNOWN_FUNCTION", call.start
            raise ExpressionError(message, code=code, offset=offset, hint=hint)


def _check_rate(call: Call, scope: Mapping[str, DataType]) -> None:
    """Refuse a rate that is of no time."""
    hint = ""
    if call.filter is not None or call.distinct or len(call.arguments) != 1:
        message = "a rate takes one value"
        hint = "Write rate(count(*) filter (where …))." if call.filter is not None else ""
    elif WINDOW_SECONDS not in scope:
        message = "a rate needs a window, whose seconds it divides by"
    else:
        return
    raise ExpressionError(message, code="PLAN_AGGREGATE", offset=call.start, hint=hint)


def _lifted(
    text: str,
    tree: Syntax,
    first: int,
    read: Callable[[Call], Aggregate],
    rates: Sequence[Call] = (),
) -> Lifted:
    calls = list(_outermost(tree))
    known: dict[tuple[object, ...], Aggregate] = {}
    names: dict[int, Name] = {}
    for call in calls:
        found = read(call)
        facts: tuple[object, ...] = (found.embed, found.function, found.argument, found.filter)
        facts += (found.distinct, found.numbers)
        kept = known.setdefault(facts, replace(found, name=f"__agg_{first + len(known)}"))
        names[call.start] = Name(kept.name, call.start, call.end)
    cuts = [((call.start, call.end), names[call.start].name) for call in calls]
    for rate in rates:
        ((start, end),) = rate.spans
        cuts += [((rate.start, start), "(("), ((end, rate.end), f") / {WINDOW_SECONDS})")]
    return Lifted(_substituted(tree, names, rates), cut(text, cuts), tuple(known.values()))


def _group_aggregate(
    text: str, call: Call, rows: Mapping[str, DataType], build: Build
) -> Aggregate:
    """Return one aggregate over a group's rows."""
    name = call.function

    def problem(message: str, hint: str = "") -> ExpressionError:
        return ExpressionError(message, code="PLAN_AGGREGATE", offset=call.start, hint=hint)

    function = GROUP_AGGREGATES.get(name) or EMBED_AGGREGATES.get(name)
    if function is None:
        known = ", ".join((*EMBED_AGGREGATES, *GROUP_AGGREGATES))
        near = nearest_hint(name, GROUP_NAMES) or f"Known: {known}."
        hint = f"Write {_INSTEAD[name]}." if name in _INSTEAD else near
        raise problem(f'the aggregate "{name}" is not kept over groups', hint)
    numbers = _numbers(function, call, problem)
    argument = call.arguments[0]
    if isinstance(argument, Star) and (name != "count" or call.distinct):
        raise problem(f'"{name}" needs a column', f"Write {name}(column).")

    def inner(span: Span) -> Expression:
        try:
            return build(text[slice(*span)], rows)
        except ExpressionError as problem:
            problem.offset += span[0]
            raise

    value = None if isinstance(argument, Star) else inner(call.spans[0])
    condition = None if call.filter is None else inner(call.spans[-1])
    _check_filter(condition, call)
    kind = LONG if value is None else value.type
    _check_taken(function, kind, call)
    if call.distinct and not takes_distinct(name, kind):
        raise problem(f'"{name}" takes no distinct values', "Remove distinct.")
    result = (
        function.gives(kind) if isinstance(function, GroupFunction) else function.of_group(kind)
    )
    return Aggregate("", "", name, value, condition, result, call.distinct, numbers)


def _numbers(
    function: AggregateFunction | GroupFunction,
    call: Call,
    problem: Callable[[str, str], ExpressionError],
) -> tuple[float, ...]:
    """Return the numbers that follow the argument, those that are left out too."""
    taken = function.numbers if isinstance(function, GroupFunction) else ()
    needed = [each for each in taken if each.default is None]
    if not len(needed) < len(call.arguments) <= 1 + len(taken):
        names = ["a value", *(each.name for each in needed)]
        wanted = " and ".join((", ".join(names[:-1]) or names[0], *names[1:][-1:]))
        numbers = ", ".join(f"{each.example:g}" for each in needed)
        hint = f"Write {call.function}(column, {numbers})." if needed else ""
        raise problem(
            f'"{call.function}" over a group takes {wanted if taken else "one argument"}', hint
        )
    given = [*call.arguments[1:], *(None for _ in taken)]
    return tuple(_number(each, one, problem) for each, one in zip(taken, given, strict=False))


def _number(
    taken: Number, argument: Syntax | None, problem: Callable[[str, str], ExpressionError]
) -> float:
    if argument is None and taken.default is not None:
        return taken.default
    value = argument.value if isinstance(argument, Literal) else None
    if isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool):
        near = float(value) if isinstance(value, decimal.Decimal) else value  # as a bound is kept
        if taken.least <= near <= taken.most and (isinstance(value, int) or not taken.whole):
            return int(value) if taken.whole else float(value)
    raise problem(f"{taken.name} is a number from {taken.least:,} to {taken.most:,}", "")


def _check_filter(condition: Expression | None, call: Call) -> None:
    if condition is not None and condition.type != BOOLEAN:
        raise type_error(
            f"a filter needs a condition, and this is {condition.type}", offset=call.spans[-1][0]
        )


def _check_taken(function: AggregateFunction | GroupFunction, kind: DataType, call: Call) -> None:
    if not function.takes(kind):
        raise type_error(
            f'"{function.name}" needs {function.needs}, and this is {kind}',
            offset=call.spans[0][0],
        )


class _Lifter:
    """One call of an aggregate over an embed."""

    def __init__(
        self,
        text: str,
        call: Call,
        *,
        embeds: Mapping[str, Struct],
        scope: Mapping[str, DataType],
        build: Build,
    ) -> None:
        self._text, self._call = text, call
        self._embeds, self._scope, self._build = embeds, scope, build

    def aggregate(self) -> Aggregate:
        call = self._call
        function = EMBED_AGGREGATES.get(call.function)
        if function is None:
            *known, last = EMBED_AGGREGATES
            hint = nearest_hint(call.function, EMBED_AGGREGATES)
            raise self._problem(
                f'the aggregate "{call.function}" is not kept over embeds',
                hint=hint or f"Use {', '.join(known)} or {last}.",
            )
        if call.distinct or len(call.arguments) != 1:
            hint = "Distinct values are not kept yet; drop the word." if call.distinct else ""
            raise self._problem(
                f'"{call.function}" over an embed takes one argument, without distinct', hint=hint
            )
        (argument,) = call.arguments
        embed = self._embed(argument)
        whole = isinstance(argument, Name) and argument.name == embed
        if whole and not function.of_rows:
            raise self._problem(
                f'"{call.function}" needs a field of the embed', hint=f"Write {embed}.<field>."
            )
        value = None if whole else self._inner(argument, call.spans[0], embed)
        condition = (
            self._inner(call.filter, call.spans[-1], embed) if call.filter is not None else None
        )
        _check_filter(condition, call)
        return Aggregate("", embed, function.name, value, condition, self._type(function, value))

    def _embed(self, argument: Syntax) -> str:
        if isinstance(argument, Star):
            raise self._problem("an aggregate needs an embed", hint="Write count(embed).")
        named = {each.name for each in free_names(argument)}
        found = sorted(named & set(self._embeds))
        if len(found) == 1:
            return found[0]
        if found:
            raise self._problem(
                f"an aggregate reads one embed, and this reads {' and '.join(found)}"
            )
        hint = next(filter(None, (nearest_hint(each, self._embeds) for each in sorted(named))), "")
        one = next(
            (each for each in sorted(named) if isinstance(self._scope.get(each), Struct)), ""
        )
        if one and not hint:
            hint = f'"{one}" is one object: use its field without {self._call.function}.'
        many = ", ".join(self._embeds)
        raise self._problem(
            "an aggregate needs a field of a many embed",
            detail=f"The many embeds here are {many}." if many else "There is no many embed here.",
            hint=hint,
        )

    def _inner(self, node: Syntax, span: Span, embed: str) -> Expression:
        outputs = {each.name: each.type for each in self._embeds[embed].fields}
        prefixes = sorted(_prefixes(node, embed, frozenset()))
        for each in free_names(node):
            own = each.name == embed and any(start == each.start for start, _ in prefixes)
            if own or (each.name in outputs and each.name not in self._scope):
                continue
            raise self._stranger(each, embed, outputs)
        shifted = [((start - span[0], end - span[0]), "") for start, end in prefixes]
        try:
            return self._build(cut(self._text[slice(*span)], shifted), outputs)
        except ExpressionError as problem:
            problem.offset = span[0] + _original(problem.offset, [each for each, _ in shifted])
            raise

    def _stranger(self, name: Name, embed: str, outputs: Mapping[str, DataType]) -> ExpressionError:
        hint = (
            f"Write {embed}.{name.name}."
            if name.name in outputs
            else nearest_hint(name.name, outputs)
        )
        return ExpressionError(
            f'"{name.name}" is not read as a field of the embed "{embed}"',
            code="PLAN_AGGREGATE",
            offset=name.start,
            detail=f"An aggregate reads only its embed, whose fields are {', '.join(outputs)}.",
            hint=hint,
        )

    def _type(self, function: AggregateFunction, argument: Expression | None) -> DataType:
        kind = LONG if argument is None else argument.type
        _check_taken(function, kind, self._call)
        return function.gives(kind)

    def _problem(self, message: str, *, detail: str = "", hint: str = "") -> ExpressionError:
        start = self._call.start
        return ExpressionError(
            message, code="PLAN_AGGREGATE", offset=start, detail=detail, hint=hint
        )


def _outermost(node: Syntax) -> Iterator[Call]:
    if isinstance(node, Call) and node.function in _NAMES:
        yield node
        return
    for child in children(node):
        yield from _outermost(child)


def _prefixes(node: Syntax, embed: str, bound: frozenset[str]) -> Iterator[Span]:
    """Yield the spans of `e.` in front of the fields of `embed`."""
    if isinstance(node, Lambda):
        bound = bound | frozenset(node.parameters)
    if (
        isinstance(node, Member)
        and isinstance(node.base, Name)
        and node.base.name == embed not in bound
    ):
        if node.name in bound:
            raise ExpressionError(
                f'the field "{node.name}" and a lambda\'s parameter share a name',
                code="PLAN_AGGREGATE",
                offset=node.start,
                hint="Rename the parameter.",
            )
        yield (node.base.start, node.name_start)
    for child in children(node):
        yield from _prefixes(child, embed, bound)


def cut(text: str, cuts: list[tuple[Span, str]]) -> str:
    """Return a text in which spans are replaced, each with the text beside it."""
    for (start, end), replacement in sorted(cuts, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _original(offset: int, removed: list[Span]) -> int:
    for start, end in sorted(removed):
        if start <= offset:
            offset += end - start
    return offset


def _substituted(node: Syntax, names: Mapping[int, Name], rates: Sequence[Call]) -> Syntax:
    if isinstance(node, Call) and node.function in _NAMES and node.start in names:
        return names[node.start]
    if isinstance(node, Call) and node in rates:
        seconds = Name(WINDOW_SECONDS, node.start, node.end)
        value = _substituted(node.arguments[0], names, rates)
        return Call("/", (value, seconds), node.start, node.end)
    return rebuilt(node, lambda part: _substituted(part, names, rates))


def rebuilt(node: Syntax, change: Callable[[Syntax], Syntax]) -> Syntax:
    """Return a node whose parts are changed."""
    changed: dict[str, Any] = {}
    for each in fields(node):
        part = getattr(node, each.name)
        if isinstance(part, Syntax):
            changed[each.name] = change(part)
        elif each.name == "arguments":
            changed[each.name] = tuple(change(argument) for argument in part)
    return replace(node, **changed)
