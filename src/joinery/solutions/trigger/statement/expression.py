"""Typed expressions as SQL, by the rules of `expression/evaluate.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

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
from joinery.solutions.trigger.statement.dialect import Dialect
from joinery.solutions.trigger.statement.fragment import (
    Fragment,
    UntranslatableError,
    both,
    eager,
    either,
)


@runtime_checkable
class ObjectValue(Protocol):
    """What a `one` embed gives the expressions above it."""

    @property
    def present(self) -> str:
        """The condition that a row matches."""

    def member(self, name: str) -> Value:
        """Return one output."""


@runtime_checkable
class ListValue(Protocol):
    """What a `many` embed gives the expressions above it."""

    @property
    def known(self) -> str:
        """The condition that there is a list; empty where there always is."""

    def size(self) -> str:
        """Return how many rows it shows."""


Value = Fragment | ObjectValue | ListValue
Lookup = Callable[[str], Value]


def translate(expression: Expression, lookup: Lookup, dialect: Dialect) -> Value:
    """Return what `expression` is over the names that `lookup` knows.

    Raises:
        UntranslatableError: It has no faithful SQL.
    """
    if expression.typed is None:
        raise UntranslatableError(f'"{expression.sql}", which is outside the portable subset')
    try:
        return _Translator(lookup, dialect).value(expression.typed)
    except UntranslatableError as problem:
        raise UntranslatableError(f'{problem} in "{expression.sql}"') from None


def scalar(value: Value) -> Fragment:
    """Return `value`, which must not be an object or a list."""
    if isinstance(value, Fragment):
        return value
    raise UntranslatableError("a whole object or list as a value")


class _Translator:
    """One expression; every method returns what never raises."""

    def __init__(self, lookup: Lookup, dialect: Dialect) -> None:
        self._lookup, self._dialect = lookup, dialect

    def value(self, node: Typed) -> Value:
        match node:
            case Read(name):
                return self._lookup(name)
            case Constant(value, kind):
                return Fragment(self._dialect.constant(value, kind))
            case Convert():
                return self._convert(node)
            case Apply("field", (base, Constant(name))):
                return self._member(self.value(base), name)
            case Apply():
                return self._apply(node)
            case Variable() | Closure():
                raise UntranslatableError("a lambda")

    def _of(self, node: Typed) -> Fragment:
        return scalar(self.value(node))

    def _member(self, base: Value, name: str) -> Value:
        if not isinstance(base, ObjectValue):
            raise UntranslatableError(f'the member "{name}" of a value')
        found: Value = base.member(name)
        return found

    def _convert(self, node: Convert) -> Fragment:
        argument = self._of(node.argument)
        if node.argument.type == node.type:
            return argument
        bare = Fragment(argument.sql)
        found = self._dialect.convert(bare, node.argument.type, node.type)
        if node.safe:
            return Fragment(found.guarded(), argument.fails)
        return Fragment(found.sql, either(argument.fails, found.fails))

    def _apply(self, node: Apply) -> Fragment:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        arguments = [self._of(each) for each in node.arguments]
        if node.function in ("+", "-", "*", "/", "%", "div", "-x", "abs"):
            kind = node.arguments[0].type
            return self._dialect.arithmetic(node.function, arguments, kind, node.type)
        constants = [each.value if isinstance(each, Constant) else None for each in node.arguments]
        sql = self._dialect.call(node.function, [each.sql for each in arguments], constants)
        return eager(arguments, sql)

    def is_null(self, node: Apply) -> Fragment:
        found = self.value(node.arguments[0])
        if isinstance(found, Fragment):
            return Fragment(f"({found.sql} IS NULL)", found.fails)
        known = found.present if isinstance(found, ObjectValue) else found.known
        return Fragment(f"(NOT {known})" if known else _FALSE)

    def size(self, node: Apply) -> Fragment:
        found = self.value(node.arguments[0])
        if not isinstance(found, ListValue):
            raise UntranslatableError("the size of a value")
        return Fragment(found.size())

    def compare(self, node: Apply) -> Fragment:
        kind = node.arguments[0].type
        left, right = (self._of(each) for each in node.arguments)
        sides = [self._dialect.sortable(each.sql, kind) for each in (left, right)]
        return eager([left, right], f"({sides[0]} {node.function} {sides[1]})")

    def same(self, node: Apply) -> Fragment:
        kind = node.arguments[0].type
        left, right = (self._of(each) for each in node.arguments)
        sides = [self._dialect.sortable(each.sql, kind) for each in (left, right)]
        return Fragment(self._dialect.same(*sides), either(left.fails, right.fails))

    def negate(self, node: Apply) -> Fragment:
        inner = self._of(node.arguments[0])
        return Fragment(f"(NOT {inner.sql})", inner.fails)

    def logic(self, node: Apply) -> Fragment:
        left, right = (self._of(each) for each in node.arguments)
        open_ = f"{left.sql} IS NOT {'FALSE' if node.function == 'and' else 'TRUE'}"
        sql = f"({left.sql} {node.function.upper()} {right.sql})"
        return Fragment(sql, either(left.fails, both(open_, right.fails)))

    def case(self, node: Apply) -> Fragment:
        parts = [self._of(each) for each in node.arguments]
        paired = len(parts) - len(parts) % 2
        pairs = list(zip(parts[0:paired:2], parts[1:paired:2], strict=True))
        default = parts[paired] if paired < len(parts) else None
        whens = " ".join(f"WHEN {when.sql} THEN {then.sql}" for when, then in pairs)
        other = f" ELSE {default.sql}" if default else ""
        fails = ""
        if any(each.fails for each in parts):
            steps = [step for when, then in pairs for step in _failing_steps(when, then)]
            last = f" ELSE {default.fails}" if default and default.fails else ""
            fails = f"(CASE {' '.join(steps)}{last} END)"
        return Fragment(f"(CASE {whens}{other} END)", fails)

    def coalesce(self, node: Apply) -> Fragment:
        arguments = [self._of(each) for each in node.arguments]
        fails = ""
        for each in reversed(arguments):
            fails = either(each.fails, both(f"{each.sql} IS NULL", fails))
        if len(arguments) == 1:
            return arguments[0]
        return Fragment(f"coalesce({', '.join(each.sql for each in arguments)})", fails)

    def nullif(self, node: Apply) -> Fragment:
        equal, value = (self._of(each) for each in node.arguments)
        fails = either(equal.fails, both(f"{equal.sql} IS NOT TRUE", value.fails))
        return Fragment(f"(CASE WHEN {equal.sql} THEN NULL ELSE {value.sql} END)", fails)

    def within(self, node: Apply) -> Fragment:
        kind = node.arguments[0].type
        value, *options = (self._of(each) for each in node.arguments)
        if any(each.fails for each in options):
            raise UntranslatableError('an option of "in" that may fail')
        told = ", ".join(self._dialect.sortable(each.sql, kind) for each in options)
        return Fragment(f"({self._dialect.sortable(value.sql, kind)} IN ({told}))", value.fails)

    def extreme(self, node: Apply) -> Fragment:
        arguments = [self._of(each) for each in node.arguments]
        sql = self._dialect.extreme(node.function, [each.sql for each in arguments], node.type)
        return Fragment(sql, either(*(each.fails for each in arguments)))

    def joined(self, node: Apply) -> Fragment:
        sign, *parts = node.arguments
        if not isinstance(sign, Constant) or not isinstance(sign.value, str):
            raise UntranslatableError('"concat_ws" with another separator than a constant')
        found = [self._of(each) for each in parts]
        if not found:
            return Fragment(self._dialect.constant("", sign.type))
        mark = self._dialect.constant(sign.value, sign.type)
        told = " || ".join(f"coalesce({mark} || {each.sql}, '')" for each in found)
        sql = f"substr({told}, {len(sign.value) + 1})"
        return Fragment(sql, either(*(each.fails for each in found)))


def _failing_steps(when: Fragment, then: Fragment) -> list[str]:
    asked = [f"WHEN {when.fails} THEN {_TRUE}"] if when.fails else []
    return [*asked, f"WHEN {when.sql} THEN {then.fails or _FALSE}"]


_TRUE, _FALSE = "(1 = 1)", "(1 = 0)"
_SPECIAL: dict[str, Callable[[_Translator, Apply], Fragment]] = {
    "is null": _Translator.is_null,
    "size": _Translator.size,
    **dict.fromkeys(("=", "<", "<=", ">", ">="), _Translator.compare),
    "<=>": _Translator.same,
    "not": _Translator.negate,
    **dict.fromkeys(("and", "or"), _Translator.logic),
    "case": _Translator.case,
    "coalesce": _Translator.coalesce,
    "nullif": _Translator.nullif,
    "in": _Translator.within,
    "greatest": _Translator.extreme,
    "least": _Translator.extreme,
    "concat_ws": _Translator.joined,
}
