"""Portable expressions have the values of Spark in ANSI mode; failures are failures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal as D
from typing import Any

import pytest

from joinery.expression.evaluate import compile_expression
from joinery.expression.expression import NotPortableError, build_expression
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
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)

SCOPE: Mapping[str, DataType] = {
    "i": INT,
    "l": LONG,
    "d": DOUBLE,
    "c": Decimal(6, 2),
    "s": STRING,
    "b": BOOLEAN,
    "day": DATE,
    "at": TIMESTAMP,
    "xs": Array(INT),
    "m": Map(STRING, INT),
    "r": Struct((Field("p", INT), Field("q", STRING))),
}
ROW: Mapping[str, Any] = {
    "i": 7,
    "l": 2**63 - 1,
    "d": float("nan"),
    "c": D("1.05"),
    "s": "Grüße 😀",
    "b": None,
    "day": date(2024, 1, 31),
    "at": datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    "xs": [3, None, 1],
    "m": {"k": 1},
    "r": {"p": 1, "q": None},
}


def value(text: str, **changed: Any) -> Any:
    compute = compile_expression(build_expression(text, SCOPE)[0])
    return compute({**ROW, **changed})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-7 div 2", -3),
        ("-7 % 3", -1),
        ("pmod(-7, 3)", 2),
        ("i / 2", 3.5),
        ("c * c", D("1.1025")),
        ("round(c, 1)", D("1.1")),
        ("round(2.5D)", 3.0),
        ("d = d", True),
        ("d > 1e300", True),
        ("b and false", False),
        ("b or false", None),
        ("b <=> null", True),
        ("i in (1, null)", None),
        ("i in (7, null)", True),
        ("length(s)", 7),
        ("upper(s)", "GRÜSSE 😀"),
        ("substring(s, -1)", "😀"),
        ("concat_ws('-', s, null, 'x')", "Grüße 😀-x"),
        ("s like 'Gr__e%'", True),
        ("concat(s, null)", None),
        ("add_months(day, 1)", date(2024, 2, 29)),
        ("unix_seconds(at)", -1),
        ("string(at)", "1969-12-31 23:59:59.999999"),
        ("date_trunc('week', day)", datetime(2024, 1, 29, tzinfo=UTC)),
        ("cast(' 12 ' as int)", 12),
        ("try_cast('1.5' as int)", None),
        ("cast(1.005BD as decimal(5,2))", D("1.01")),
        ("filter(xs, x -> x > i - 5)", [3]),
        ("transform(xs, (x, at) -> x + at)", [3, None, 3]),
        ("exists(xs, x -> x > 3)", None),
        ("forall(xs, x -> x > 2)", False),
        ("array_sort(xs)", [1, 3, None]),
        ("element_at(xs, -1)", 1),
        ("m['missing']", None),
        ("r = named_struct('p', 1, 'q', null)", True),
        ("struct(r.p, i as j)", {"p": 1, "j": 7}),
        ("if(i = 0, 0, 10 div i)", 1),
        ("coalesce(r.q, s)", "Grüße 😀"),
    ],
)
def test_an_expression_has_the_value_that_spark_gives_it(text: str, expected: Any) -> None:
    assert expected == value(text)


@pytest.mark.parametrize(
    "text",
    [
        "l + 1",
        "i div 0",
        "i / 0",
        "2147483647 + 1",
        "abs(cast(-128 as tinyint))",
        "cast(s as int)",
        "cast(1e10 as int)",
        "cast(12345 as decimal(3,1))",
        "xs[3]",
        "element_at(xs, 0)",
        "to_date(s)",
        "make_date(2023, 2, 29)",
        "date_add(date'9999-12-31', 1)",
        "s like '\\\\x'",
    ],
)
def test_what_fails_in_spark_fails_here(text: str) -> None:
    with pytest.raises(EvaluationError):
        value(text)


def test_a_branch_that_is_not_taken_does_not_fail() -> None:
    assert 0 == value("case when i = 0 then 0 else 1 div i end", i=0)


def test_a_null_divisor_gives_null_before_anything_fails() -> None:
    assert value("(l + 1) / i", i=None) is None


def test_a_lambda_sees_the_row_and_hides_its_names() -> None:
    assert [[8, 10], [9, 11]] == value(
        "transform(array(1, 2), x -> transform(array(0, 2), i -> x + i + m['k'] + 6))"
    )


def test_an_expression_outside_the_subset_is_not_evaluated() -> None:
    with pytest.raises(NotPortableError):
        compile_expression(Expression("initcap(s)", STRING, frozenset({"s"})))
