"""The types of operators: arithmetic, comparison, logic and choice, as Spark 4.3 gives them.

A rule returns the typed application, or None where the portable subset ends. It raises
`Mismatch` where Spark refuses the operands for certain.

The types of functions over lists, maps and objects in the portable subset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from joinery.expression.coercion import (
    adjusted,
    converted,
    decimal_for,
    integral,
    numeric,
    orderable,
    together,
    wider,
    wider_all,
    wider_decimal,
)
from joinery.expression.literal import VOID
from joinery.expression.typed import Apply, Constant, Typed
from joinery.model.type import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    Array,
    Atomic,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)

Arguments = Sequence[Typed]
Rule = Callable[[Arguments], Typed | None]
_DATE_PLUS_TEXT = "Join texts with ||; add days with date_add(day, cast(days as int))."


class Mismatch(Exception):
    """The operands can never fit; `index` is the argument to point at."""

    def __init__(self, reason: str, index: int = 0, *, hint: str = "") -> None:
        super().__init__(reason)
        self.index = index
        self.hint = hint


def arithmetic(function: str) -> Rule:
    """Return the rule of `+ - * / % div pmod`."""

    def rule(arguments: Arguments) -> Typed | None:
        left, right = arguments
        _refuse_objects(function, arguments)
        if left.type == STRING == right.type:
            raise Mismatch(f'"{function}" needs numbers, and both sides are strings')
        if function == "+" and {left.type, right.type} == {DATE, STRING}:
            raise Mismatch(f'"+" cannot add {left.type} and {right.type}', hint=_DATE_PLUS_TEXT)
        kind = _number(left.type, right.type)
        if kind is None:
            return None
        if function == "/" and (VOID in (left.type, right.type) or not isinstance(kind, Decimal)):
            kind = DOUBLE
        if isinstance(kind, Decimal):
            return _exact(function, left, right)
        if function == "div" and kind == DOUBLE:
            raise Mismatch('"div" needs whole numbers or decimals; divide with "/"')
        if function == "div":
            kind = LONG
        operands = together((left, right), kind)
        return None if operands is None else Apply(function, operands, kind)

    return rule


def comparison(function: str) -> Rule:
    """Return the rule of `= <> < <= > >= <=>`."""

    def rule(arguments: Arguments) -> Typed | None:
        left, right = arguments
        operands = together(arguments, _comparable(left, right))
        if operands is None and not _perhaps(left.type, right.type):
            raise Mismatch(f"{left.type} and {right.type} cannot be compared")
        if operands is not None and not orderable(operands[0].type):
            raise Mismatch(f"{left.type} cannot be compared")
        return None if operands is None else Apply(function, operands, BOOLEAN)

    return rule


def logic(function: str) -> Rule:
    """Return the rule of `and`, `or` and `not`."""

    def rule(arguments: Arguments) -> Typed | None:
        for index, each in enumerate(arguments):
            if each.type not in (BOOLEAN, VOID, STRING):
                raise Mismatch(f'"{function}" needs a condition, and this is {each.type}', index)
        operands = together(arguments, BOOLEAN)
        return None if operands is None else Apply(function, operands, BOOLEAN)

    return rule


def is_null(arguments: Arguments) -> Typed:
    """Type `is null`."""
    return Apply("is null", tuple(arguments), BOOLEAN)


def within(arguments: Arguments) -> Typed | None:
    """Type `in`."""
    kind = wider_all(each.type for each in arguments)
    operands = together(arguments, kind)
    if operands is None or not orderable(operands[0].type):
        return None
    return Apply("in", operands, BOOLEAN)


def between(arguments: Arguments) -> Typed | None:
    """Type `between` as the two comparisons it stands for."""
    value, low, high = arguments
    above, below = comparison(">=")((value, low)), comparison("<=")((value, high))
    return (
        Apply("and", (above, below), BOOLEAN) if above is not None and below is not None else None
    )


def choice(arguments: Arguments) -> Typed | None:
    """Type `case` over pairs of condition and value, with or without a default."""
    paired = len(arguments) - len(arguments) % 2
    conditions, values = arguments[0:paired:2], [*arguments[1:paired:2], *arguments[paired:]]
    for index, each in enumerate(conditions):
        if each.type != BOOLEAN:
            raise Mismatch(f"a condition is needed, and this is {each.type}", index * 2)
    shown = together(values, wider_all(each.type for each in values))
    if shown is None:
        return None
    pairs = [part for pair in zip(conditions, shown, strict=False) for part in pair]
    return Apply("case", (*pairs, *shown[len(conditions) :]), shown[0].type)


def sign(function: str) -> Rule:
    """Return the rule of the signs and `abs`."""

    def rule(arguments: Arguments) -> Typed | None:
        (value,) = arguments
        _refuse_objects(function.rstrip("x"), arguments)
        if not numeric(value.type):
            return None
        return value if function == "+x" else Apply(function, (value,), value.type)

    return rule


def item(arguments: Arguments) -> Typed | None:
    """Type `xs[i]`, `m[key]` and `s['name']`."""
    base, index = arguments
    match base.type:
        case Array(element) if integral(index.type):
            return Apply("item", (base, index), element)
        case Map(key, value) if index.type == key:
            return Apply("value", (base, index), value)
        case Struct() if isinstance(index, Constant) and isinstance(index.value, str):
            return field_of(base, index.value)
    if isinstance(base.type, Atomic | Decimal) and base.type != VOID:
        raise Mismatch(f"{base.type} has no items")
    return None


def field_of(base: Typed, name: str) -> Typed | None:
    """Type `base.name` over a struct, a list of structs or a map; None without such a field."""
    key = Constant(name, STRING)
    match base.type:
        case Struct(fields):
            kind = next((each.type for each in fields if each.name == name), None)
            return None if kind is None else Apply("field", (base, key), kind)
        case Array(Struct(fields)):
            kind = next((each.type for each in fields if each.name == name), None)
            return None if kind is None else Apply("fields", (base, key), Array(kind))
        case Map(Atomic("string"), value):
            return Apply("value", (base, key), value)
        case _:
            return None


def _number(left: DataType, right: DataType) -> DataType | None:
    if VOID in (left, right):
        other = right if left == VOID else left
        return other if numeric(other) else None
    if STRING in (left, right):
        other = right if left == STRING else left
        return (LONG if integral(other) else DOUBLE) if numeric(other) else None
    return wider(left, right) if numeric(left) and numeric(right) else None


def _comparable(left: Typed, right: Typed) -> DataType | None:
    if isinstance(left.type, Decimal) or isinstance(right.type, Decimal):
        first, second = decimal_for(left), decimal_for(right)
        if first is not None and second is not None:
            return wider_decimal(first, second)
    return wider(left.type, right.type)


def _exact(function: str, left: Typed, right: Typed) -> Typed | None:
    first, second = decimal_for(left), decimal_for(right)
    if VOID in (left.type, right.type):
        first, second = first or second, second or first
    operands = converted(left, first), converted(right, second)
    if first is None or second is None or operands[0] is None or operands[1] is None:
        return None
    kind: DataType = LONG if function == "div" else _exact_type(function, first, second)
    return Apply(function, (operands[0], operands[1]), kind)


def _exact_type(function: str, left: Decimal, right: Decimal) -> Decimal:
    whole_left, whole_right = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    match function:
        case "*":
            return adjusted(left.precision + right.precision + 1, left.scale + right.scale)
        case "/":
            scale = max(6, left.scale + right.precision + 1)
            return adjusted(whole_left + right.scale + scale, scale)
        case "%" | "pmod":
            return adjusted(min(whole_left, whole_right) + scale, scale)
        case _:
            return adjusted(max(whole_left, whole_right) + scale + 1, scale)


def _refuse_objects(function: str, arguments: Arguments) -> None:
    for index, each in enumerate(arguments):
        if isinstance(each.type, Array | Map | Struct) or each.type == BOOLEAN:
            raise Mismatch(f'"{function}" needs numbers, and this is {each.type}', index)


def _perhaps(left: DataType, right: DataType) -> bool:
    """True where Spark may still find a common type."""
    plain = {str(each) for each in (left, right) if isinstance(each, Atomic)}
    odd = plain & {"binary", "timestamp_ntz", "void"}
    nested = any(isinstance(each, Array | Struct | Map) for each in (left, right))
    both_nested = all(isinstance(each, Array | Struct | Map) for each in (left, right))
    return (bool(odd) and not nested) or both_nested


OPERATORS: dict[str, Rule] = {
    **{each: arithmetic(each) for each in ("+", "-", "*", "/", "%", "div", "pmod")},
    **{each: comparison(each) for each in ("=", "<", "<=", ">", ">=", "<=>")},
    "<>": lambda arguments: (
        logic("not")([equal]) if (equal := comparison("=")(arguments)) else None
    ),
    **{each: logic(each) for each in ("and", "or", "not")},
    "-x": sign("-x"),
    "+x": sign("+x"),
    "abs": sign("abs"),
    "is null": is_null,
    "in": within,
    "between": between,
    "case": choice,
    "[]": item,
}


def _size(*, maps: bool) -> Rule:
    def rule(arguments: Arguments) -> Typed | None:
        sized = len(arguments) == 1 and isinstance(
            arguments[0].type, (Array, Map) if maps else Array
        )
        return Apply("size", tuple(arguments), INT) if sized else None

    return rule


def _element_at(arguments: Arguments) -> Typed | None:
    match [each.type for each in arguments]:
        case [Array(element), Atomic("int" | "short" | "byte")]:
            return Apply("element_at", tuple(arguments), element)
        case [Map(key, value), sought] if key == sought:
            return Apply("value", tuple(arguments), value)
    return None


def _get(arguments: Arguments) -> Typed | None:
    match [each.type for each in arguments]:
        case [Array(element), Atomic("int" | "short" | "byte")]:
            return Apply("get", tuple(arguments), element)
        case _:
            return None


def _sought(function: str, result: DataType) -> Rule:
    def rule(arguments: Arguments) -> Typed | None:
        match [each.type for each in arguments]:
            case [Array(element), sought] if sought != VOID and orderable(element):
                kind = wider(element, sought, text=False)
                if kind is None or kind == VOID:
                    return None
                operands = converted(arguments[0], Array(kind)), converted(arguments[1], kind)
                if operands[0] is not None and operands[1] is not None:
                    return Apply(function, (operands[0], operands[1]), result)
        return None

    return rule


def _map_contains_key(arguments: Arguments) -> Typed | None:
    match [each.type for each in arguments]:
        case [Map(key, _), sought] if key == sought:
            return Apply("map_contains_key", tuple(arguments), BOOLEAN)
    return None


def _of_array(function: str, *, element: bool = False) -> Rule:
    def rule(arguments: Arguments) -> Typed | None:
        match [each.type for each in arguments]:
            case [Array(kind)] if orderable(kind):
                return Apply(function, tuple(arguments), kind if element else arguments[0].type)
            case _:
                return None

    return rule


def _sort_array(arguments: Arguments) -> Typed | None:
    upward = arguments[1] if len(arguments) == 2 else Constant(True, BOOLEAN)
    match arguments[0].type:
        case Array(kind) if (
            orderable(kind) and len(arguments) <= 2 and isinstance(upward, Constant)
        ):
            if upward.type == BOOLEAN:
                return Apply("sort_array", (arguments[0], upward), arguments[0].type)
    return None


def _slice(arguments: Arguments) -> Typed | None:
    match [each.type for each in arguments]:
        case [Array(), Atomic("int"), Atomic("int")]:
            return Apply("slice", tuple(arguments), arguments[0].type)
        case _:
            return None


def _array(arguments: Arguments) -> Typed | None:
    kind = wider_all(each.type for each in arguments)
    operands = together(arguments, kind)
    return None if operands is None or kind is None else Apply("array", operands, Array(kind))


def _named_struct(arguments: Arguments) -> Typed | None:
    names, values = arguments[0::2], tuple(arguments[1::2])
    written = [
        each.value for each in names if isinstance(each, Constant) and isinstance(each.value, str)
    ]
    if not arguments or len(written) != len(values) or len(written) != len(names):
        return None
    return struct_of(written, values)


def struct_of(names: Sequence[str], values: Sequence[Typed]) -> Typed | None:
    """Type a struct; None where two fields would share a name."""
    if len(set(names)) < len(names):
        return None
    kind = Struct(tuple(Field(name, each.type) for name, each in zip(names, values, strict=True)))
    return Apply("struct", tuple(values), kind)


CONTAINERS: dict[str, Rule] = {
    **{each: _size(maps=True) for each in ("size", "cardinality")},
    "array_size": _size(maps=False),
    "element_at": _element_at,
    "get": _get,
    "array_contains": _sought("array_contains", BOOLEAN),
    "array_position": _sought("array_position", LONG),
    "map_contains_key": _map_contains_key,
    **{each: _of_array(each) for each in ("array_sort", "array_distinct")},
    **{each: _of_array(each, element=True) for each in ("array_max", "array_min")},
    "sort_array": _sort_array,
    "slice": _slice,
    "array": _array,
    "named_struct": _named_struct,
}
