"""Aggregates over `many` embeds, lifted out of the expression that uses them.

`sum(e.x * 2) filter (where e.y)` becomes an `Aggregate` over the outputs of `e`, whose
expressions are the user's text without the prefix `e.`, and a placeholder in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from joinery.expression.aggregate import EMBED_AGGREGATES, AggregateFunction
from joinery.expression.functions import AGGREGATES
from joinery.expression.problem import ExpressionError, nearest_hint, type_error
from joinery.expression.syntax import Call, Lambda, Member, Name, Star, Syntax, children, free_names
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import BOOLEAN, LONG, DataType, Struct

Build = Callable[[str, Mapping[str, DataType]], Expression]
Span = tuple[int, int]


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
    text: str, tree: Syntax, *, rows: Mapping[str, DataType], first: int, build: Build
) -> Lifted:
    """Return the expression `text`, parsed as `tree`, with its aggregates over a group apart.

    Args:
        text: The expression as written.
        tree: Its syntax.
        rows: The columns of the group's rows, which the aggregates alone may name.
        first: The number of the first placeholder.
        build: Builds the argument and the filter.
    """
    return _lifted(text, tree, first, lambda call: _group_aggregate(text, call, rows, build))


def _lifted(text: str, tree: Syntax, first: int, read: Callable[[Call], Aggregate]) -> Lifted:
    calls = list(_outermost(tree))
    known: dict[tuple[object, ...], Aggregate] = {}
    names: dict[int, Name] = {}
    for call in calls:
        found = read(call)
        facts = (found.embed, found.function, found.argument, found.filter, found.distinct)
        kept = known.setdefault(facts, replace(found, name=f"__agg_{first + len(known)}"))
        names[call.start] = Name(kept.name, call.start, call.end)
    cuts = [((call.start, call.end), names[call.start].name) for call in calls]
    return Lifted(_substituted(tree, names), _cut(text, cuts), tuple(known.values()))


def _group_aggregate(
    text: str, call: Call, rows: Mapping[str, DataType], build: Build
) -> Aggregate:
    """Return one aggregate over a group's rows."""
    function = EMBED_AGGREGATES.get(call.function)
    if function is None:
        *known, last = EMBED_AGGREGATES
        raise ExpressionError(
            f'the aggregate "{call.function}" is not kept over groups yet',
            code="PLAN_AGGREGATE",
            offset=call.start,
            hint=nearest_hint(call.function, EMBED_AGGREGATES)
            or f"Use {', '.join(known)} or {last}.",
        )
    if call.distinct or len(call.arguments) != 1:
        raise ExpressionError(
            f'"{call.function}" over a group takes one argument, without distinct',
            code="PLAN_AGGREGATE",
            offset=call.start,
            hint="Distinct values are not kept yet; drop the word." if call.distinct else "",
        )
    (argument,) = call.arguments
    if isinstance(argument, Star) and not function.of_rows:
        raise ExpressionError(
            f'"{call.function}" needs a column',
            code="PLAN_AGGREGATE",
            offset=call.start,
            hint=f"Write {call.function}(column).",
        )

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
    return Aggregate("", "", function.name, value, condition, function.of_group(kind))


def _check_filter(condition: Expression | None, call: Call) -> None:
    if condition is not None and condition.type != BOOLEAN:
        raise type_error(
            f"a filter needs a condition, and this is {condition.type}", offset=call.spans[-1][0]
        )


def _check_taken(function: AggregateFunction, kind: DataType, call: Call) -> None:
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
            return self._build(_cut(self._text[slice(*span)], shifted), outputs)
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
    if isinstance(node, Call) and node.function in AGGREGATES:
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
                hint="Name the parameter otherwise.",
            )
        yield (node.base.start, node.name_start)
    for child in children(node):
        yield from _prefixes(child, embed, bound)


def _cut(text: str, cuts: list[tuple[Span, str]]) -> str:
    for (start, end), replacement in sorted(cuts, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _original(offset: int, removed: list[Span]) -> int:
    for start, end in sorted(removed):
        if start <= offset:
            offset += end - start
    return offset


def _substituted(node: Syntax, names: Mapping[int, Name]) -> Syntax:
    if isinstance(node, Call) and node.function in AGGREGATES and node.start in names:
        return names[node.start]
    changed: dict[str, Any] = {}
    for each in fields(node):
        part = getattr(node, each.name)
        if isinstance(part, Syntax):
            changed[each.name] = _substituted(part, names)
        elif each.name == "arguments":
            changed[each.name] = tuple(_substituted(argument, names) for argument in part)
    return replace(node, **changed)
