"""Portable expressions, compiled to Python functions over one row.

Semantics are those of Spark 4.3 in ANSI mode under UTC with case-sensitive names, and do
not depend on any setting; `tests/spark` holds both side by side. Dates and timestamps
outside the years 1 to 9999 fail, which Spark would go on with.

The failure of an expression over one row; callers turn it into null and count it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from joinery.expression import number
from joinery.expression.collection import COLLECTION, TYPED, element_of
from joinery.expression.convert import converter
from joinery.expression.order import value_key
from joinery.expression.problem import EvaluationError, not_portable
from joinery.expression.temporal import TEMPORAL
from joinery.expression.text import TEXT, concat_ws
from joinery.expression.typed import (
    Apply,
    Closure,
    Constant,
    Convert,
    Expression,
    Read,
    Typed,
    Variable,
)
from joinery.model.type import DataType, Struct

__all__ = ["EvaluationError", "compile_expression", "never_fails", "typed_expression"]

Row = Mapping[str, Any]
Evaluate = Callable[[Row], Any]


def compile_expression(expression: Expression) -> Evaluate:
    """Return the function from values by name to the value of `expression`.

    The function raises `EvaluationError` where Spark in ANSI mode fails; a name that the
    expression reads must be in the row.

    Raises:
        NotPortableError: The expression lies outside the portable subset.
    """
    return compile_typed(typed_expression(expression))


def typed_expression(expression: Expression) -> Typed:
    """Return the typed tree of `expression`.

    Raises:
        NotPortableError: The expression lies outside the portable subset.
    """
    if expression.typed is None:
        raise not_portable("the expression", offset=0)
    return expression.typed


def never_fails(node: Typed) -> bool:
    """Return whether `node` only takes what is there: a name, or a field of an object."""
    match node:
        case Read():
            return True
        case Apply("field", (of, Constant())):
            return never_fails(of)
        case Constant() | Variable() | Convert() | Apply() | Closure():
            return False


def compile_typed(node: Typed) -> Evaluate:
    """Return the function that computes `node` from a row."""
    match node:
        case Constant(value):
            return lambda row: value
        case Read(name) | Variable(name):
            return itemgetter(name)
        case Apply("field", (of, Constant(name))):
            return _field(of, name)
        case Convert():
            return _convert(node)
        case Apply():
            return _apply(node)
        case Closure():
            raise TypeError("a lambda can only be an argument of a function that calls it")


def _field(of: Typed, name: str) -> Evaluate:
    read = compile_typed(of)

    def compute(row: Row) -> Any:
        value = read(row)
        return None if value is None else value.get(name)

    return compute


def _convert(node: Convert) -> Evaluate:
    argument, convert = compile_typed(node.argument), converter(node.argument.type, node.type)

    def compute(row: Row) -> Any:
        value = argument(row)
        return None if value is None else convert(value)

    def compute_safely(row: Row) -> Any:
        value = argument(row)
        try:
            return None if value is None else convert(value)
        except EvaluationError:
            return None

    return compute_safely if node.safe else compute


def _apply(node: Apply) -> Evaluate:
    if node.function in _LAZY:
        return _LAZY[node.function](node)
    arguments = [compile_typed(each) for each in node.arguments]
    function = _function(node)
    backward = node.function in ("/", "%", "div", "pmod")
    if len(arguments) == 1:
        return _unary(function, arguments[0])
    return _eager(function, arguments[::-1] if backward else arguments, backward=backward)


def _unary(function: Callable[..., Any], argument: Evaluate) -> Evaluate:
    def compute(row: Row) -> Any:
        value = argument(row)
        return None if value is None else function(value)

    return compute


def _eager(function: Callable[..., Any], arguments: list[Evaluate], *, backward: bool) -> Evaluate:
    """Give null at the first null argument; divisions look at the divisor first."""

    def compute(row: Row) -> Any:
        values: list[Any] = []
        for argument in arguments:
            value = argument(row)
            if value is None:
                return None
            values.append(value)
        return function(*(values[::-1] if backward else values))

    return compute


def _function(node: Apply) -> Callable[..., Any]:
    """Return the function of `node` over values that are not null."""
    name, operand = node.function, node.arguments[0].type if node.arguments else node.type
    if name in _COMPARISONS:
        return _comparison(name, operand)
    if name in TYPED:
        return TYPED[name](element_of(operand))
    match name:
        case "+" | "-" | "*" | "/" | "%" | "div" | "pmod":
            return number.arithmetic(name, operand, node.type)
        case "-x":
            return number.negated(node.type)
        case "abs":
            return number.absolute(node.type)
        case "round":
            return number.rounded(operand, node.type)
        case "floor" | "ceil":
            return number.toward(math.floor if name == "floor" else math.ceil, node.type)
        case "not":
            return lambda value: not value
        case "sqrt":
            return number.root
        case "sign":
            return number.sign
        case _:
            return {**TEXT, **TEMPORAL, **COLLECTION}[name]


def _comparison(function: str, kind: DataType) -> Callable[[Any, Any], bool]:
    compare, key = _COMPARISONS[function], value_key(kind)
    return lambda left, right: compare(key(left), key(right))


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: bool(left == right),
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


# -- what does not simply give null for null


def _is_null(node: Apply) -> Evaluate:
    argument = compile_typed(node.arguments[0])
    return lambda row: argument(row) is None


def _null_safe_equal(node: Apply) -> Evaluate:
    left, right = map(compile_typed, node.arguments)
    key = value_key(node.arguments[0].type)

    def compute(row: Row) -> bool:
        one, two = left(row), right(row)
        if one is None or two is None:
            return one is two
        return bool(key(one) == key(two))

    return compute


def _logic(decisive: bool) -> Callable[[Apply], Evaluate]:
    def build(node: Apply) -> Evaluate:
        left, right = map(compile_typed, node.arguments)

        def compute(row: Row) -> bool | None:
            one = left(row)
            if one == decisive:
                return decisive
            two = right(row)
            if two == decisive:
                return decisive
            return None if one is None or two is None else not decisive

        return compute

    return build


def _case(node: Apply) -> Evaluate:
    parts = [compile_typed(each) for each in node.arguments]
    paired = len(parts) - len(parts) % 2
    pairs = list(zip(parts[0:paired:2], parts[1:paired:2], strict=True))
    default = parts[-1] if paired < len(parts) else None

    def compute(row: Row) -> Any:
        for condition, value in pairs:
            if condition(row) is True:
                return value(row)
        return None if default is None else default(row)

    return compute


def _coalesce(node: Apply) -> Evaluate:
    arguments = [compile_typed(each) for each in node.arguments]
    return lambda row: next((value for each in arguments if (value := each(row)) is not None), None)


def _nullif(node: Apply) -> Evaluate:
    equal, value = map(compile_typed, node.arguments)
    return lambda row: None if equal(row) is True else value(row)


def _in(node: Apply) -> Evaluate:
    value, *options = map(compile_typed, node.arguments)
    key = value_key(node.arguments[0].type)

    def compute(row: Row) -> bool | None:
        sought = value(row)
        if sought is None:
            return None
        unknown = False
        for option in options:
            found = option(row)
            if found is None:
                unknown = True
            elif key(found) == key(sought):
                return True
        return None if unknown else False

    return compute


def _extreme(choose: Callable[..., Any]) -> Callable[[Apply], Evaluate]:
    def build(node: Apply) -> Evaluate:
        arguments = [compile_typed(each) for each in node.arguments]
        key = value_key(node.type)

        def compute(row: Row) -> Any:
            values = [value for each in arguments if (value := each(row)) is not None]
            return choose(values, key=key, default=None)

        return compute

    return build


def _locate(node: Apply) -> Evaluate:
    """Look at the start first: a null one gives 0, whatever the rest is."""
    sought, text, *rest = map(compile_typed, node.arguments)

    def compute(row: Row) -> int | None:
        start = rest[0](row) if rest else 1
        if start is None:
            return 0
        what = sought(row)
        where = None if what is None else text(row)
        if where is None:
            return None
        if start < 1:
            return 0
        return 1 if what == "" else where.find(what, start - 1) + 1

    return compute


def _joined(node: Apply) -> Evaluate:
    arguments = [compile_typed(each) for each in node.arguments]
    return lambda row: concat_ws(*(each(row) for each in arguments))


def _array(node: Apply) -> Evaluate:
    arguments = [compile_typed(each) for each in node.arguments]
    return lambda row: [each(row) for each in arguments]


def _struct(node: Apply) -> Evaluate:
    assert isinstance(node.type, Struct)
    parts = [
        (field.name, compile_typed(each))
        for field, each in zip(node.type.fields, node.arguments, strict=True)
    ]
    return lambda row: {name: value(row) for name, value in parts}


def _higher_order(finish: Callable[[list[Any], list[Any]], Any]) -> Callable[[Apply], Evaluate]:
    def build(node: Apply) -> Evaluate:
        items, closure = compile_typed(node.arguments[0]), node.arguments[1]
        assert isinstance(closure, Closure)
        body, names = compile_typed(closure.body), [each.name for each in closure.parameters]

        def compute(row: Row) -> Any:
            found = items(row)
            if found is None:
                return None
            inner = dict(row)
            results: list[Any] = []
            for pair in enumerate(found):
                inner.update(zip(names, pair[::-1], strict=False))
                results.append(body(inner))
            return finish(found, results)

        return compute

    return build


def _quantified(decisive: bool) -> Callable[[list[Any], list[Any]], bool | None]:
    def finish(_: list[Any], results: list[Any]) -> bool | None:
        if decisive in results:
            return decisive
        return None if None in results else not decisive

    return finish


_LAZY: dict[str, Callable[[Apply], Evaluate]] = {
    "is null": _is_null,
    "<=>": _null_safe_equal,
    "and": _logic(False),
    "or": _logic(True),
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "in": _in,
    "greatest": _extreme(max),
    "least": _extreme(min),
    "locate": _locate,
    "concat_ws": _joined,
    "array": _array,
    "struct": _struct,
    "filter": _higher_order(
        lambda items, kept: [each for each, keep in zip(items, kept, strict=True) if keep is True]
    ),
    "transform": _higher_order(lambda _, results: results),
    "exists": _higher_order(_quantified(True)),
    "forall": _higher_order(_quantified(False)),
}
