"""From syntax to the typed tree: names looked up, functions chosen, conversions written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from joinery.expression.coercion import convertible
from joinery.expression.functions import FUNCTIONS
from joinery.expression.group_aggregate import GROUP_NAMES
from joinery.expression.literal import VOID
from joinery.expression.operator import OPERATORS, Mismatch, Rule, field_of, struct_of
from joinery.expression.personal import check_arguments
from joinery.expression.problem import (
    ExpressionError,
    nearest_hint,
    not_portable,
    type_error,
    unknown_column,
)
from joinery.expression.syntax import (
    Alias,
    Call,
    CastTo,
    Lambda,
    Literal,
    Member,
    Name,
    Star,
    Syntax,
    walk,
)
from joinery.expression.typed import Apply, Closure, Constant, Convert, Read, Typed, Variable, parts
from joinery.model.type import BOOLEAN, DATE, INT, TIMESTAMP, Array, DataType, Struct

HIGHER_ORDER = ("filter", "transform", "exists", "forall")
_MOVING_DATES = ("today", "now", "tomorrow", "yesterday", "epoch")
_EMPTY_ALLOWED = ("array", "concat")
RULES: dict[str, Rule] = {**OPERATORS, **FUNCTIONS}
_NEAR = 0.7  # Spark has many functions whose names are half those of others
_CALLED = (*FUNCTIONS, *HIGHER_ORDER, *sorted(GROUP_NAMES))


def resolve(tree: Syntax, scope: Mapping[str, DataType]) -> Typed:
    """Return the typed tree of `tree` over the names of `scope`.

    Raises:
        ExpressionError: A name is not known, or operands can never fit.
        NotPortableError: Only Spark's analyser can tell.
    """
    typed = _Resolver(scope, {}).typed(tree)
    _refuse_moving_dates(typed, tree)
    return typed


class _Resolver:
    """One scope, and the lambda parameters that hide names of it."""

    def __init__(self, scope: Mapping[str, DataType], bound: Mapping[str, Variable]) -> None:
        self._scope = scope
        self._bound = bound

    def typed(self, node: Syntax) -> Typed:
        match node:
            case Literal(value, kind):
                return Constant(value, kind)
            case Name():
                return self._name(node)
            case Member():
                return self._member(node)
            case CastTo():
                return self._cast(node)
            case Call():
                return self._call(node)
            case Lambda() | Alias() | Star():
                raise not_portable("this argument", offset=node.start)

    def _name(self, node: Name) -> Typed:
        if node.name in self._bound:
            return self._bound[node.name]
        if node.name not in self._scope:
            raise unknown_column(node.name, [*self._bound, *self._scope], offset=node.start)
        return Read(node.name, self._scope[node.name])

    def _member(self, node: Member) -> Typed:
        base = self.typed(node.base)
        found = field_of(base, node.name)
        if found is not None:
            return found
        check_arguments("field", (base,), offset=node.start)
        raise no_field(base.type, node)

    def _cast(self, node: CastTo) -> Typed:
        argument = self.typed(node.argument)
        if not convertible(argument.type, node.type):
            raise not_portable(f"a cast from {argument.type} to {node.type}", offset=node.start)
        return Convert(argument, node.type, node.safe)

    def _call(self, node: Call) -> Typed:
        if node.distinct or node.filter is not None:
            raise not_portable(
                f'the function "{node.function}" with these words', offset=node.start
            )
        if node.function in HIGHER_ORDER:
            return self._higher_order(node)
        if node.function == "struct" and node.arguments:
            return self._struct(node)
        rule = RULES.get(node.function)
        if rule is None or (not node.arguments and node.function not in _EMPTY_ALLOWED):
            near = "" if rule else nearest_hint(node.function, _CALLED, cutoff=_NEAR)
            raise not_portable(f'the function "{node.function}"', offset=node.start, near=near)
        arguments = [self.typed(each) for each in node.arguments]
        check_arguments(node.function, arguments, offset=node.start)
        try:
            found = rule(arguments)
        except Mismatch as mismatch:
            hint = mismatch.hint or _joined_hint(node)
            raise type_error(str(mismatch), offset=_place(node, mismatch), hint=hint) from None
        if found is None:
            kinds = ", ".join(str(each.type) for each in arguments)
            raise not_portable(f'"{node.function}" over {kinds}', offset=node.start)
        return found

    def _struct(self, node: Call) -> Typed:
        values = [
            self.typed(each.argument if isinstance(each, Alias) else each)
            for each in node.arguments
        ]
        found = struct_of(
            [_shown_name(each, at) for at, each in enumerate(node.arguments, 1)], values
        )
        if found is None or any(
            isinstance(each, Call) and each.function == "[]" for each in node.arguments
        ):
            raise not_portable('"struct" over these arguments', offset=node.start)
        return found

    def _higher_order(self, node: Call) -> Typed:
        match node.arguments:
            case (items, Lambda() as function):
                base = self.typed(items)
                if isinstance(base.type, Array):
                    return self._over(node, base, self._closure(function, base.type.element))
            case _:
                pass
        raise not_portable(f'"{node.function}" over these arguments', offset=node.start)

    def _closure(self, node: Lambda, element: DataType) -> Closure:
        if len(node.parameters) > 2:
            raise not_portable("a lambda of three parameters", offset=node.start)
        unique = f"#{len(self._bound)}"
        kinds = zip(node.parameters, (element, INT), strict=False)
        parameters = tuple(Variable(name + unique, kind) for name, kind in kinds)
        bound = {**self._bound, **dict(zip(node.parameters, parameters, strict=True))}
        return Closure(parameters, _Resolver(self._scope, bound).typed(node.body))

    def _over(self, node: Call, base: Typed, closure: Closure) -> Typed:
        if node.function == "transform":
            return Apply("transform", (base, closure), Array(closure.type))
        single = node.function == "filter" or len(closure.parameters) == 1
        if closure.type not in (BOOLEAN, VOID) or not single:
            raise not_portable(f'"{node.function}" with this lambda', offset=node.start)
        return Apply(
            node.function, (base, closure), base.type if node.function == "filter" else BOOLEAN
        )


def no_field(kind: DataType, node: Member) -> ExpressionError:
    """Return the error for a member that a value of type `kind` does not have."""
    struct = kind.element if isinstance(kind, Array) else kind
    if isinstance(struct, Struct):
        owner = node.base.name if isinstance(node.base, Name | Member) else str(kind)
        return unknown_column(
            node.name, [each.name for each in struct.fields], offset=node.name_start, owner=owner
        )
    if not isinstance(struct, Array) and isinstance(kind, Array):
        return type_error(f"{kind} has no fields", offset=node.name_start)
    return type_error(f'{kind} has no field "{node.name}"', offset=node.name_start)


def _refuse_moving_dates(typed: Typed, tree: Syntax) -> None:
    """Refuse constants such as `'today'` where Spark reads them as a date."""
    for each in parts(typed):
        if not isinstance(each, Convert) or each.type not in (DATE, TIMESTAMP):
            continue
        text = each.argument.value if isinstance(each.argument, Constant) else None
        if isinstance(text, str) and text.strip().lower().startswith(_MOVING_DATES):
            written = (
                node for node in walk(tree) if isinstance(node, Literal) and node.value == text
            )
            raise ExpressionError(
                f"the date '{text}' is not deterministic: it changes every day",
                code="PLAN_NOT_DETERMINISTIC",
                offset=next(node.start for node in written),
                hint="Write date'2024-12-31'.",
            )


def _place(node: Call, mismatch: Mismatch) -> int:
    arguments: Sequence[Syntax] = node.arguments
    return arguments[mismatch.index].start if mismatch.index < len(arguments) else node.start


def _joined_hint(node: Call) -> str:
    """Return what to write where a call that has `||` below it cannot be typed."""
    joins = any(isinstance(each, Call) and each.function == "||" for each in walk(node))
    return "SQL joins texts with ||; between conditions write or." if joins else ""


def _shown_name(node: Syntax, at: int) -> str:
    return node.name if isinstance(node, Alias | Name | Member) else f"col{at}"
