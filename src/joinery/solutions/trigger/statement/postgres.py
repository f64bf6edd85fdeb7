"""Statements for PostgreSQL.

Whole numbers are computed as `numeric`, which does not overflow, and checked afterwards;
PostgreSQL's own operators would end the statement. Doubles are divided only where both sides
were whole numbers, since its other operators raise where IEEE 754 goes on.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

from joinery.clients.sql import quoted
from joinery.expression.coercion import integral
from joinery.expression.literal import BLANK, RANGES
from joinery.model.type import BOOLEAN, STRING, Array, Atomic, DataType, Decimal, Map, Struct
from joinery.solutions.trigger.statement.constant import (
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

_DAY, _MOMENT = "YYYY-MM-DD", 'YYYY-MM-DD"T"HH24:MI:SS.US'
_SPACE = "[" + "".join(f"\\x{ord(sign):02x}" for sign in BLANK if sign != "\0") + "]*"
_WHOLE = literal(f"^{_SPACE}[+-]?[0-9]+{_SPACE}$")
_MOST_DIGITS = 4000
_PARTS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "day": "day",
    "dayofyear": "doy",
    "weekofyear": "week",
}
_FLOATS = (Atomic("float"), Atomic("double"))


class PostgresDialect:
    """PostgreSQL 12 and later."""

    name = "PostgreSQL"
    join = "JOIN"

    def view(self, name: str, select: str) -> tuple[str, ...]:
        """Return the statements that make a view, or put it in place of its like."""
        # In place, since dropping it would drop what was granted on it.
        return (f"CREATE OR REPLACE VIEW {name} AS {select}",)

    def text(self, sql: str) -> str:
        """Return a JSON value as text."""
        return f"({sql})::text"

    def constant(self, value: Any, kind: DataType) -> str:
        """Return a constant."""
        if value is None:
            return "NULL"
        match value:
            case bool():
                return "true" if value else "false"
            case int():
                return f"({value})" if value < 0 else str(value)
            case str() if "\0" not in value:
                return f"{literal(value)}::text"
            case decimal.Decimal() if isinstance(kind, Decimal):
                return f"({unquoted_decimal(value, kind)}::numeric)"
            case float() if math.isfinite(value):
                return f"({literal(repr(value))}::float8)"
            case dt.datetime():
                return f"{literal(value.astimezone(dt.UTC).isoformat())}::timestamptz"
            case dt.date():
                return f"{literal(value.isoformat())}::date"
            case _:
                raise UntranslatableError(f"a constant of type {kind}")

    def json(self, sql: str, kind: DataType) -> str:
        """Return the JSON text of a value, the text `null` for null."""
        match kind:
            case Atomic("string"):
                return f"coalesce(to_json({sql})::text, 'null')"
            case Atomic("byte" | "short" | "int" | "long" | "boolean") | Decimal():
                return f"coalesce({self.plain(sql, kind)}, 'null')"
            case Atomic("double"):
                return _double(sql)
            case Atomic("date" | "timestamp" | "binary"):
                return f"""coalesce('"' || {self.plain(sql, kind)} || '"', 'null')"""
            case Array() | Struct() if plain_json(kind):
                return f"coalesce({sql}, 'null')"
        raise UntranslatableError(f"the text of a {kind}")

    def plain(self, sql: str, kind: DataType) -> str:
        """Return the text of a value as a key of a map shows it."""
        match kind:
            case Atomic("string"):
                return sql
            case Atomic("byte" | "short" | "int" | "long" | "boolean"):
                return f"({sql})::text"
            case Decimal(_, scale):
                return f"round({sql}, {scale})::text"
            case Atomic("date"):
                return f"to_char({sql}, '{_DAY}')"
            case Atomic("timestamp"):
                told = f"to_char({sql} AT TIME ZONE 'UTC', '{_MOMENT}')"
                return f"(replace({told}, '.000000', '') || 'Z')"
            case Atomic("binary"):
                return f"replace(encode({sql}, 'base64'), chr(10), '')"
            case _:
                raise UntranslatableError(f"the plain text of a {kind}")

    def sortable(self, sql: str, kind: DataType) -> str:
        """Return a value so that it compares as documents compare it."""
        if isinstance(kind, Array | Struct | Map):
            raise UntranslatableError(f"comparing values of type {kind}")
        return f'({sql}) COLLATE "C"' if kind == STRING else sql

    def same(self, left: str, right: str) -> str:
        """Return the equality under which null equals null."""
        return f"({left} IS NOT DISTINCT FROM {right})"

    def joinable(self, left: DataType, right: DataType) -> None:
        """Allow all: PostgreSQL compares numbers of any two types by value."""

    def joined(self, alias: str, table: str, pick: Pick, key: tuple[str, ...]) -> str:
        """Return the join that adds the first row of `table` that a condition picks, or none."""
        row = f"SELECT {quoted(pick.alias)}.* {pick.rest()} LIMIT 1"
        return f"LEFT JOIN LATERAL ({row}) AS {quoted(alias)} ON true"

    def gathered(self, texts: str, sign: str) -> str:
        """Return the texts of a column, in the order of their rows, with a sign between."""
        return f"coalesce(string_agg({texts}, '{sign}'), '')"

    def convert(self, value: Fragment, source: DataType, target: DataType) -> Fragment:
        """Return a cast."""
        sql = value.sql
        match source, target:
            case Atomic("void"), _:
                return Fragment(f"NULL::{_type(target)}", value.fails)
            case _ if integral(source) and integral(target):
                return eager(
                    [value], sql, _outside(sql, target) if narrower(source, target) else ""
                )
            case Decimal(), _ if integral(target):
                cut = f"trunc({sql})"
                return eager([value], cut, _outside(cut, target))
            case Atomic("string"), _ if integral(target):
                return _whole_of(value, target)
            case Atomic("boolean"), Atomic("string"):
                return Fragment(f"({sql})::text", value.fails)
            case Atomic("boolean"), _ if integral(target):
                return Fragment(f"({sql})::int", value.fails)
            case _, Atomic("boolean") if integral(source) or isinstance(source, Decimal):
                return Fragment(f"({sql} <> 0)", value.fails)
            case _, Atomic("double") if integral(source) or isinstance(source, Decimal):
                return Fragment(f"({sql})::float8", value.fails)
            case _, Decimal() if integral(source) or isinstance(source, Decimal):
                return _fitted(value, f"({sql})::numeric", target)
            case _, Atomic("string") if integral(source) or isinstance(source, Decimal):
                return Fragment(self.plain(sql, source), value.fails)
            case Atomic("date"), Atomic("string"):
                return Fragment(self.plain(sql, source), value.fails)
            case Atomic("timestamp"), Atomic("string"):
                told = f"""to_char({sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"""
                return Fragment(f"rtrim(rtrim({told}, '0'), '.')", value.fails)
            case Atomic("timestamp"), Atomic("date"):
                return Fragment(f"({sql} AT TIME ZONE 'UTC')::date", value.fails)
            case Atomic("date"), Atomic("timestamp"):
                return Fragment(f"(({sql})::timestamp AT TIME ZONE 'UTC')", value.fails)
            case _:
                raise UntranslatableError(f"a cast from {source} to {target}")

    def arithmetic(
        self, function: str, arguments: list[Fragment], operand: DataType, result: DataType
    ) -> Fragment:
        """Return `+ - * / % div -x abs` over numbers of one type."""
        if operand in _FLOATS and function == "/":
            return _quotient(arguments)
        if operand in _FLOATS:
            raise UntranslatableError(f'"{function}" over {operand}')
        numbers = [f"({each.sql})::numeric" for each in arguments]
        if len(numbers) == 1:
            sql = f"(-{numbers[0]})" if function == "-x" else f"abs({numbers[0]})"
        elif function in ("+", "-", "*"):
            sql = f"({numbers[0]} {function} {numbers[1]})"
        elif function in ("%", "div"):
            inner = "mod" if function == "%" else "div"
            sql = f"{inner}({numbers[0]}, nullif({numbers[1]}, 0))"
        else:
            raise UntranslatableError(f'"{function}" over {operand}')
        divided = f"{arguments[1].sql} = 0" if function in ("%", "div") else ""
        backward = bool(divided)
        if isinstance(result, Decimal):
            whole = eager(arguments, sql, divided, backward=backward)
            return _fitted(whole, sql, result)
        return eager(arguments, sql, either(divided, _outside(sql, result)), backward=backward)

    def extreme(self, function: str, values: list[str], kind: DataType) -> str:
        """Return `greatest` or `least` of values, nulls skipped."""
        if kind in _FLOATS:
            raise UntranslatableError(f'"{function}" over {kind}')
        return f"{function}({', '.join(self.sortable(each, kind) for each in values)})"

    def call(self, function: str, arguments: list[str], constants: list[Any]) -> str:
        """Return a function that never fails and is null where an argument is."""
        first = arguments[0]
        match function:
            case "concat" | "||":
                return f"({' || '.join(arguments)})"
            case "length" | "replace":
                rest = ", ''" if function == "replace" and len(arguments) == 2 else ""
                return f"{function}({', '.join(arguments)}{rest})"
            case "trim" | "ltrim" | "rtrim":
                return f"{'b' if function == 'trim' else ''}{function}({first}, ' ')"
            case "instr":
                return f"strpos({first}, {arguments[1]})"
            case "contains":
                return f"(strpos({first}, {arguments[1]}) > 0)"
            case "startswith":
                return f"(left({first}, length({arguments[1]})) = {arguments[1]})"
            case "endswith":
                return f"(right({first}, length({arguments[1]})) = {arguments[1]})"
            case "left" | "right" if _count(constants[1]):
                return f"{function}({first}, {arguments[1]})"
            case "substring" if starts_and_rest(constants):
                return f"substring({', '.join(arguments)})"
            case "reverse":
                return f"reverse({first})"
            case "like" if _pattern(constants[1]):
                return f"({first} LIKE {arguments[1]})"
            case "to_date" | "to_timestamp":
                return first
            case "datediff":
                return f"({first} - {arguments[1]})"
            case "unix_date":
                return f"({first} - date '1970-01-01')"
            case "hour" | "minute" | "second":
                at = f"date_trunc('second', {first} AT TIME ZONE 'UTC')"
                return f"extract({function} FROM {at})::int"
            case "dayofweek":
                return f"(extract(dow FROM {first})::int + 1)"
            case "weekday":
                return f"(extract(isodow FROM {first})::int - 1)"
            case "last_day":
                return (
                    f"(date_trunc('month', {first}::timestamp) + interval '1 month -1 day')::date"
                )
            case _:
                if function in _PARTS:
                    return f"extract({_PARTS[function]} FROM {first})::int"
                raise UntranslatableError(f'the function "{function}"')

    def total(self, sql: str, result: DataType, operand: DataType) -> str:
        """Return the exact sum over rows, null where it does not fit or nothing is left."""
        whole = f"sum(({sql})::numeric)"
        if isinstance(result, Decimal):
            bound = 10 ** (result.precision - result.scale)
            return f"CASE WHEN abs({whole}) < {bound} THEN {whole} END"
        if not integral(operand):
            raise UntranslatableError(f"a sum over {operand}")
        bound = RANGES[str(result)]
        return f"CASE WHEN {whole} BETWEEN {-bound} AND {bound - 1} THEN {whole} END"

    def average(self, sql: str, result: DataType, operand: DataType) -> str:
        """Return the average over rows: sixty digits, then rounded once."""
        if not integral(operand):
            raise UntranslatableError(f"an average over {operand}")
        return f"(sum(({sql})::numeric) * {'1.' + '0' * 60} / count({sql}))::float8"

    def best(self, function: str, sql: str, kind: DataType) -> str:
        """Return `min` or `max` over rows."""
        if kind == BOOLEAN:
            return f"bool_{'and' if function == 'min' else 'or'}({sql})"
        if kind in _FLOATS or kind == Atomic("binary"):
            raise UntranslatableError(f"{function} over {kind}")
        return f"{function}({self.sortable(sql, kind)})"


def _double(sql: str) -> str:
    """Return the shortest digits in Python's form: `1.0`, and no exponent below 1e16."""
    told = f"({sql})::text"
    pointed = f"CASE WHEN {told} ~ '[.e]' THEN {told} ELSE {told} || '.0' END"
    wide = f"({told}::numeric)::text"
    return (
        f"(CASE WHEN {sql} IS NULL THEN 'null'"
        f" WHEN {told} IN ('NaN', 'Infinity', '-Infinity') THEN '\"' || {told} || '\"'"
        f" WHEN abs({sql}) >= 1e15 AND abs({sql}) < 1e16"
        f" THEN CASE WHEN {wide} ~ '[.]' THEN {wide} ELSE {wide} || '.0' END"
        f" ELSE {pointed} END)"
    )


def _type(kind: DataType) -> str:
    match kind:
        case Decimal():
            return "numeric"
        case Atomic(name):
            found = {
                "string": "text",
                "boolean": "boolean",
                "date": "date",
                "timestamp": "timestamptz",
                "double": "float8",
            }.get(name)
            if found or integral(kind):
                return found or "numeric"
        case Array() | Map() | Struct():
            pass
    raise UntranslatableError(f"a null of type {kind}")


def _outside(sql: str, kind: DataType) -> str:
    bound = RANGES[str(kind)]
    return f"{sql} NOT BETWEEN {-bound} AND {bound - 1}"


def _fitted(value: Fragment, sql: str, kind: Decimal) -> Fragment:
    rounded = f"round({sql}, {kind.scale})"
    bound = 10 ** (kind.precision - kind.scale)
    return Fragment(rounded, either(value.fails, f"abs({rounded}) >= {bound}"))


def _whole_of(value: Fragment, kind: DataType) -> Fragment:
    sql = value.sql
    fits = f"({sql} ~ {_WHOLE} AND length({sql}) <= {_MOST_DIGITS})"
    number = f"(CASE WHEN {fits} THEN substring({sql} FROM '[+-]?[0-9]+')::numeric END)"
    return eager([value], number, either(f"NOT {fits}", _outside(number, kind)))


def _quotient(arguments: list[Fragment]) -> Fragment:
    left, right = arguments
    if not (left.sql.endswith("::float8") and right.sql.endswith("::float8")):
        raise UntranslatableError("a division of doubles")
    divided = f"({left.sql} / nullif({right.sql}, 0))"
    return eager(arguments, divided, f"{right.sql} = 0", backward=True)


def _count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _pattern(value: Any) -> bool:
    return isinstance(value, str) and "\\" not in value
