"""Differences of times as seconds, where the values of a group are computed.

Spark's `a - b` over timestamps is an interval, which no document can hold; over groups it is a
number: `(unix_micros(a) - unix_micros(b)) / 1e6`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from joinery.expression.lift import Lifted, cut, rebuilt
from joinery.expression.parse import parse
from joinery.expression.problem import ExpressionError
from joinery.expression.resolve import resolve
from joinery.expression.syntax import Call, Literal, Syntax, children
from joinery.model.type import DOUBLE, TIMESTAMP, DataType


def in_seconds(lifted: Lifted, scope: Mapping[str, DataType]) -> Lifted:
    """Return an expression in which each difference of two timestamps is seconds, a double.

    Args:
        lifted: The expression; its tree keeps the places of what was written.
        scope: The types of all names in it.

    Example:
        >>> names = {"a": TIMESTAMP, "b": TIMESTAMP}
        >>> in_seconds(Lifted(parse("(a - b) / 60"), "(a - b) / 60", ()), names).sql
        '(((unix_micros(a) - unix_micros(b)) / 1e6)) / 60'
    """
    tree = _counted(lifted.tree, scope)
    if tree == lifted.tree:
        return lifted
    cuts = [each for call in _differences(parse(lifted.sql), scope) for each in _cuts(call)]
    return replace(lifted, tree=tree, sql=cut(lifted.sql, cuts))


def _differences(node: Syntax, scope: Mapping[str, DataType]) -> Iterator[Call]:
    for each in children(node):
        yield from _differences(each, scope)
    if isinstance(node, Call) and _is_difference(node, scope):
        yield node


def _is_difference(call: Call, scope: Mapping[str, DataType]) -> bool:
    return call.function == "-" and all(_is_time(each, scope) for each in call.arguments)


def _is_time(node: Syntax, scope: Mapping[str, DataType]) -> bool:
    try:
        return resolve(_counted(node, scope), scope).type == TIMESTAMP
    except ExpressionError:
        return False  # told where the whole is resolved


def _counted(node: Syntax, scope: Mapping[str, DataType]) -> Syntax:
    counted = rebuilt(node, lambda part: _counted(part, scope))
    if not isinstance(counted, Call) or not _is_difference(counted, scope):
        return counted
    micros = tuple(Call("unix_micros", (each,), each.start, each.end) for each in counted.arguments)
    difference = replace(counted, arguments=micros)
    million = Literal(1e6, DOUBLE, counted.end, counted.end)
    return Call("/", (difference, million), counted.start, counted.end)


def _cuts(call: Call) -> Iterator[tuple[tuple[int, int], str]]:
    (start, left_end), (right_start, end) = call.spans
    yield (start, start), "((unix_micros("
    yield (left_end, right_start), ") - unix_micros("
    yield (end, end), ")) / 1e6)"
