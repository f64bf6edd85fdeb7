"""The types of functions over lists, maps and objects in the portable subset."""

from __future__ import annotations

from collections.abc import Sequence

from joinery.model.type import BOOLEAN, INT, LONG, Array, Atomic, DataType, Field, Map, Struct
from joinery.plan.coercion import converted, orderable, together, wider, wider_all
from joinery.plan.literal import VOID
from joinery.plan.operator import Arguments, Rule
from joinery.plan.typed import Apply, Constant, Typed


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
