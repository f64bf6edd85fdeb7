"""Expressions, and rows to compute them over, for every dialect."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal as D
from typing import Any

from joinery.expression.evaluate import compile_expression
from joinery.expression.expression import build_expression
from joinery.expression.problem import EvaluationError
from joinery.expression.typed import Expression
from joinery.model.type import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    Decimal,
)
from joinery.semantics.render import document_json

SCOPE: Mapping[str, DataType] = {
    "i": INT,
    "j": INT,
    "l": LONG,
    "d": DOUBLE,
    "c": Decimal(6, 2),
    "s": STRING,
    "t": STRING,
    "b": BOOLEAN,
    "day": DATE,
    "at": TIMESTAMP,
}
VALUES: Mapping[str, Sequence[Any]] = {
    "i": (None, 0, 1, -7, 2**31 - 1, -(2**31)),
    "j": (3, 0, None, -1, 2, 1),
    "l": (2**63 - 1, -(2**63), 0, None, 42, 10**15),
    "d": (0.0, -0.0, 1.5, 1e16, 1234567890123456.8, 1e15, float("nan"), float("-inf"), 5e-324, 0.1),
    "c": (D("1.05"), D("0.00"), D("-2.25"), None, D("9999.99"), D("1.50")),
    "s": (
        "",
        "12",
        " -7\t",
        "a",
        "Grüße 😀",
        'q"\\\n\x01/',
        "99999999999999999999",
        "B%_*[x]",
        None,
    ),
    "t": ("a", "", None, "é", "12", "%", "*"),
    "b": (True, False, None),
    "day": (date(2024, 2, 29), date(1, 1, 1), None, date(9999, 12, 31), date(2026, 11, 21)),
    "at": (
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        None,
        datetime(2026, 1, 2, 3, 4, 5, 50_000, UTC),
        datetime(1, 1, 1, tzinfo=UTC),
    ),
}

EXPRESSIONS = """
i
l
d
c
s
b
day
at
i + j
i - j
i * j
l + 1
l * l
-i
abs(i)
abs(l)
-l
i % j
i div j
l div j
10 / j
i / j
(i + j) + (i * j)
coalesce(i + j, 5)
coalesce(i % j, 5)
coalesce(j, i % j)
case when i > 0 then i % j else 7 end
case when i % j = 1 then 'one' when b then 'b' end
i % j = 1 or b
b or i % j = 1
b and i % j = 1
not b
i = j
i <=> j
s <=> t
s < t
s >= t
d > 1
d = d
day < date'2025-01-01'
at <= timestamp'2026-01-02 03:04:05'
i in (0, 1, j)
s in ('a', 'B%_*[x]')
not (s in ('a', t))
i between 0 and j
i is null
(i % j) is null
i is not null
nullif(i, j)
if(b, s, t)
nvl2(i, 'known', 'not')
greatest(i, j)
least(i, j, 5)
greatest(s, t)
concat(s, '/', t)
s || t
concat_ws('-', s, t, 'x')
length(s)
trim(s)
ltrim(s)
rtrim(s)
replace(s, 'a', t)
replace(s, 's')
instr(s, t)
contains(s, t)
startswith(s, 'B')
startswith(s, '')
left(s, 2)
substring(s, 2, 3)
substring(s, 1)
s like '%b%'
s like 'B%'
s like '_'
s like '%*[%'
s like ''
cast(i as string)
cast(b as string)
cast(b as int)
cast(i as boolean)
cast(s as int)
try_cast(s as int)
cast(s as bigint)
try_cast(s as bigint)
coalesce(try_cast(s as int), -1)
coalesce(cast(s as int), -1)
cast(l as int)
try_cast(l as int)
cast(i as bigint)
cast(i as decimal(12,2))
cast(i as decimal(6,2))
cast(c as string)
cast(day as string)
cast(at as string)
cast(at as date)
cast(day as timestamp)
year(day)
month(day)
day(day)
year(at)
hour(at)
minute(at)
second(at)
coalesce(c, cast(1 as decimal(6,2)))
coalesce(s, '-')
coalesce(d, 0.5D)
case when s = '' then null else s end
'it''s'
1.50
2.5D
date'2024-02-29'
timestamp'2024-02-29 01:02:03.04'
""".strip().splitlines()


def rows() -> list[Mapping[str, Any]]:
    """Return rows in which every value of a column meets several of the others."""
    columns = {name: itertools.cycle(values) for name, values in VALUES.items()}
    return [{name: next(column) for name, column in columns.items()} for _ in range(90)]


def built(text: str) -> Expression:
    """Return a checked expression."""
    return build_expression(text, SCOPE)[0]


def expected(text: str) -> Iterator[str]:
    """Yield the JSON text of an expression's value over each row."""
    expression = built(text)
    compute = compile_expression(expression)
    for row in rows():
        try:
            value = compute(row)
        except EvaluationError:
            value = None
        yield document_json(value, expression.type)
