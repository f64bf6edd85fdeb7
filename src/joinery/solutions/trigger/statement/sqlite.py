"""Statements for SQLite 3.35 and later, over the cells of `sqlite_value`.

Decimals, dates and timestamps are texts of fixed form, so that they are equal, and the last
two in order, as texts; nothing is computed with decimals. NaN is a text, which SQLite puts
after every number. What SQLite cannot do itself are `FUNCTIONS`, which Joinery adds.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any

from joinery.clients.sql import quoted
from joinery.expression.coercion import integral
from joinery.expression.literal import BLANK, RANGES
from joinery.expression.text import TEXT
from joinery.model.type import DOUBLE, Array, Atomic, DataType, Decimal, Map, Struct
from joinery.semantics.render import document_json
from joinery.solutions.trigger.statement.constant import (
    glob,
    narrower,
    plain_json,
    starts_and_rest,
    unquoted_decimal,
)
from joinery.solutions.trigger.statement.dialect import Pick, literal
from joinery.solutions.trigger.statement.fragment import (
    Fragment,
    UntranslatableError,
    eager,
    either,
)

_FLOATS = (Atomic("float"), Atomic("double"))
_PARTS = {"year": (1, 4), "month": (6, 2), "day": (9, 2)}
_TIMES = {"hour": (12, 2), "minute": (15, 2), "second": (18, 2)}
_BLANKS = f"char({', '.join(str(ord(sign)) for sign in BLANK if ord(sign))})"


def _double_text(value: Any) -> str:
    return document_json(None if value is None else float(value), DOUBLE)


def _of_text(function: Callable[[str], str]) -> Callable[[str | None], str | None]:
    return lambda text: None if text is None else function(text)


FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "joinery_double": _double_text,
    **{f"joinery_{name}": _of_text(TEXT[name]) for name in ("upper", "lower", "reverse")},
}
"""Functions of one argument that a connection needs before it can run the statements."""


class SqliteDialect:
    """SQLite."""

    name = "SQLite"
    join = "CROSS JOIN"

    def view(self, name: str, select: str) -> tuple[str, ...]:
        """Return the statements that make a view, or put it in place of its like."""
        return (f"DROP VIEW IF EXISTS {name}", f"CREATE VIEW {name} AS {select}")

    def text(self, sql: str) -> str:
        """Return a JSON value as text."""
        return f"CAST({sql} AS TEXT)"

    def constant(self, value: Any, kind: DataType) -> str:
        """Return a constant."""
        if value is None:
            return "NULL"
        match value:
            case bool():
                return "1" if value else "0"
            case int() if value > -(1 << 63):
                return f"({value})" if value < 0 else str(value)
            case str() if "\0" not in value:
                return literal(value)
            case decimal.Decimal() if isinstance(kind, Decimal):
                return literal(unquoted_decimal(value if value else abs(value), kind))
            case float() if math.isfinite(value):
                return f"({value!r})"
            case dt.datetime():
                return literal(value.astimezone(dt.UTC).isoformat(timespec="microseconds"))
            case dt.date():
                return literal(value.isoformat())
            case _:
                raise UntranslatableError(f"a constant of type {kind}")

    def json(self, sql: str, kind: DataType) -> str:
        """Return the JSON text of a value, the text `null` for null."""
        match kind:
            case Atomic("string"):
                return f"json_quote({sql})"
            case Atomic("byte" | "short" | "int" | "long") | Decimal():
                return f"coalesce({sql}, 'null')"
            case Atomic("boolean"):
                return f"(CASE {sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END)"
            case Atomic("double"):
                return f"joinery_double({sql})"
            case Array() | Struct() if plain_json(kind):
                return f"coalesce({sql}, 'null')"
            case Atomic("date" | "timestamp"):
                return f"""coalesce('"' || {self.plain(sql, kind)} || '"', 'null')"""
            case _:
                raise UntranslatableError(f"the text of a {kind}")

    def plain(self, sql: str, kind: DataType) -> str:
        """Return the text of a value as a key of a map shows it."""
        match kind:
            case Atomic("string" | "date") | Decimal():
                return sql
            case Atomic("byte" | "short" | "int" | "long"):
                return f"CAST({sql} AS TEXT)"
            case Atomic("boolean"):
                return f"(CASE {sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
            case Atomic("timestamp"):
                return f"(replace(substr({sql}, 1, 26), '.000000', '') || 'Z')"
            case _:
                raise UntranslatableError(f"the plain text of a {kind}")

    def sortable(self, sql: str, kind: DataType) -> str:
        """Return a value so that it compares as documents compare it."""
        if isinstance(kind, Array | Struct | Map | Decimal):
            raise UntranslatableError(f"comparing values of type {kind}")
        return sql

    def same(self, left: str, right: str) -> str:
        """Return the equality under which null equals null."""
        return f"({left} IS {right})"

    def joinable(self, left: DataType, right: DataType) -> None:
        """Refuse a decimal with another type: decimals are texts."""
        if left != right and (isinstance(left, Decimal) or isinstance(right, Decimal)):
            raise UntranslatableError(f"a join of {left} with {right}")

    def joined(self, alias: str, table: str, pick: Pick, key: tuple[str, ...]) -> str:
        """Return the join that adds the first row of `table` that a condition picks, or none."""
        kept = ", ".join(f"{quoted(alias)}.{quoted(column)}" for column in key)
        found = ", ".join(f"{quoted(pick.alias)}.{quoted(column)}" for column in key)
        wanted = f"(SELECT {found} {pick.rest()} LIMIT 1)"
        return f"LEFT JOIN {table} AS {quoted(alias)} ON ({kept}) = {wanted}"

    def gathered(self, texts: str, sign: str) -> str:
        """Return the texts of a column, in the order of their rows, with a sign between."""
        return f"coalesce(group_concat({texts}, '{sign}'), '')"

    def convert(self, value: Fragment, source: DataType, target: DataType) -> Fragment:
        """Return a cast."""
        sql = value.sql
        match source, target:
            case Atomic("void"), _:
                return Fragment("NULL", value.fails)
            case _ if integral(source) and integral(target):
                return eager(
                    [value], sql, _outside(sql, target) if narrower(source, target) else ""
                )
            case _, Decimal(precision, scale) if integral(source) and precision - scale < 19:
                bound = 10 ** (precision - scale)
                text = f"CAST({sql} AS TEXT)" + (f" || '.{'0' * scale}'" if scale else "")
                return eager([value], f"({text})", f"{sql} NOT BETWEEN {1 - bound} AND {bound - 1}")
            case Atomic("string"), _ if integral(target):
                return _whole_of(value, target)
            case Atomic("boolean"), _ if integral(target):
                return value
            case _, Atomic("boolean") if integral(source):
                return Fragment(f"({sql} <> 0)", value.fails)
            case _, Atomic("double") if integral(source):
                return Fragment(f"CAST({sql} AS REAL)", value.fails)
            case _, Atomic("string") if integral(source) or isinstance(source, Decimal):
                return Fragment(self.plain(sql, source), value.fails)
            case Atomic("boolean" | "date"), Atomic("string"):
                return Fragment(self.plain(sql, source), value.fails)
            case Atomic("timestamp"), Atomic("string"):
                day, fraction = f"substr({sql}, 1, 10)", f"rtrim(substr({sql}, 20, 7), '.0')"
                told = f"({day} || ' ' || substr({sql}, 12, 8) || {fraction})"
                return Fragment(told, value.fails)
            case Atomic("timestamp"), Atomic("date"):
                return Fragment(f"substr({sql}, 1, 10)", value.fails)
            case Atomic("date"), Atomic("timestamp"):
                return Fragment(f"({sql} || 'T00:00:00.000000+00:00')", value.fails)
            case _:
                raise UntranslatableError(f"a cast from {source} to {target}")

    def arithmetic(
        self, function: str, arguments: list[Fragment], operand: DataType, result: DataType
    ) -> Fragment:
        """Return `+ - * / % div -x abs` over numbers of one type."""
        if operand in _FLOATS and function == "/":
            return _quotient(arguments)
        if not integral(operand):
            raise UntranslatableError(f'"{function}" over {operand}')
        texts = [each.sql for each in arguments]
        if function == "-x":
            sql = f"(-{texts[0]})"
        elif function == "abs":
            sql = f"(CASE WHEN {texts[0]} < 0 THEN -{texts[0]} ELSE {texts[0]} END)"
        elif function in ("+", "-", "*"):
            sql = f"({texts[0]} {function} {texts[1]})"
        elif function in ("%", "div"):
            sql = f"({texts[0]} {'%' if function == '%' else '/'} {texts[1]})"
        else:
            raise UntranslatableError(f'"{function}" over {operand}')
        divided = f"{texts[1]} = 0" if function in ("%", "div") else ""
        fails = either(divided, _outside(sql, result))
        return eager(arguments, sql, fails, backward=bool(divided))

    def extreme(self, function: str, values: list[str], kind: DataType) -> str:
        """Return `greatest` or `least` of values, nulls skipped."""
        if kind in _FLOATS:
            raise UntranslatableError(f'"{function}" over {kind}')
        listed = " UNION ALL ".join(f"SELECT {self.sortable(each, kind)} AS v" for each in values)
        return f"(SELECT {'max' if function == 'greatest' else 'min'}(v) FROM ({listed}))"

    def call(self, function: str, arguments: list[str], constants: list[Any]) -> str:
        """Return a function that never fails and is null where an argument is."""
        first = arguments[0]
        match function:
            case "concat" | "||":
                return f"({' || '.join(arguments)})"
            case "length":
                return _length(first)
            case "replace":
                rest = ", ''" if len(arguments) == 2 else ""
                return f"replace({', '.join(arguments)}{rest})"
            case "trim" | "ltrim" | "rtrim":
                return f"{function}({first}, ' ')"
            case "instr":
                return f"instr({first}, {arguments[1]})"
            case "contains":
                return f"(instr({first}, {arguments[1]}) > 0)"
            case "left" if _count(constants[1]):
                return f"substr({first}, 1, {arguments[1]})"
            case "substring" if starts_and_rest(constants):
                return f"substr({', '.join(arguments)})"
            case "startswith" if _text(constants[1]):
                return f"(substr({first}, 1, {len(constants[1])}) = {arguments[1]})"
            case "like" if _text(constants[1]) and (pattern := glob(constants[1])) is not None:
                return f"({first} GLOB {literal(pattern)})"
            case "to_date" | "to_timestamp":
                return first
            case "upper" | "lower" | "reverse":
                return f"joinery_{function}({first})"
            case _:
                if function in _PARTS or function in _TIMES:
                    at, length = {**_PARTS, **_TIMES}[function]
                    return f"CAST(substr({first}, {at}, {length}) AS INTEGER)"
                raise UntranslatableError(f'the function "{function}"')

    def total(self, sql: str, result: DataType, operand: DataType) -> str:
        """Return the exact sum over rows, null where it does not fit or nothing is left."""
        if not integral(operand):
            raise UntranslatableError(f"a sum over {operand}")
        high, low = f"sum(({sql}) >> 32)", f"sum(({sql}) & 4294967295)"
        carried = f"({high} + ({low} >> 32))"
        whole = f"(({carried} << 32) | ({low} & 4294967295))"
        return f"CASE WHEN {carried} BETWEEN {-(1 << 31)} AND {(1 << 31) - 1} THEN {whole} END"

    def average(self, sql: str, result: DataType, operand: DataType) -> str:
        """Refuse: SQLite has no division that is rounded once."""
        raise UntranslatableError("an average")

    def best(self, function: str, sql: str, kind: DataType) -> str:
        """Return `min` or `max` over rows."""
        if kind in _FLOATS:
            raise UntranslatableError(f"{function} over {kind}")
        return f"{function}({self.sortable(sql, kind)})"


def _outside(sql: str, kind: DataType) -> str:
    bound = RANGES[str(kind)]
    if str(kind) == "long":
        return f"typeof({sql}) = 'real'"
    return f"{sql} NOT BETWEEN {-bound} AND {bound - 1}"


def _whole_of(value: Fragment, kind: DataType) -> Fragment:
    """Return the whole number that a text writes; SQLite's own cast stops at the first letter."""
    text = f"trim(replace({value.sql}, char(0), ' '), {_BLANKS})"
    sign = f"substr({text}, 1, 1)"
    digits = f"(CASE WHEN {sign} IN ('+', '-') THEN substr({text}, 2) ELSE {text} END)"
    short = f"ltrim({digits}, '0')"
    least = f"(CASE {sign} WHEN '-' THEN '{1 << 63}' ELSE '{(1 << 63) - 1}' END)"
    small = f"(length({short}) < 19 OR (length({short}) = 19 AND {short} <= {least}))"
    plain = f"{digits} <> '' AND {digits} NOT GLOB '*[^0-9]*'"
    fits = f"({plain} AND length({text}) <= 4000 AND {small})"
    number = f"(CASE WHEN {fits} THEN CAST({text} AS INTEGER) END)"
    outside = "" if str(kind) == "long" else _outside(number, kind)
    return eager([value], number, either(f"NOT {fits}", outside))


def _quotient(arguments: list[Fragment]) -> Fragment:
    left, right = arguments
    if not all(
        each.sql.startswith("CAST(") and each.sql.endswith("AS REAL)") for each in arguments
    ):
        raise UntranslatableError("a division of doubles")
    return eager(arguments, f"({left.sql} / {right.sql})", f"{right.sql} = 0", backward=True)


def _length(sql: str) -> str:
    """Return the length of a text, also behind a sign of code 0, at which SQLite's stops."""
    return f"length(replace({sql}, char(0), ' '))"


def _count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value
