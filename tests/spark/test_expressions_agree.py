"""Portable expressions have the types and the values that Spark 4.3 gives them in ANSI mode."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Context
from decimal import Decimal as D
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType
from tests.spark.expressions import CASES, SCOPE

from joinery.expression.evaluate import compile_expression
from joinery.expression.expression import build_expression
from joinery.expression.problem import EvaluationError
from joinery.spark.analyse import SETTINGS, model_type

pytestmark = pytest.mark.spark


def _exact(text: str) -> D:
    """Return a value of the column `big`, with all places of its scale."""
    return D(text).quantize(D("1e-18"), context=Context(prec=38))


ROWS: list[tuple[Any, ...]] = [
    # y, h, i, j, l, f, d, dc, big, s, t, dt, ts, b, bin, xs, ss, m, st, sts
    (
        *(7, 8, 9, 2, 10, 1.5, 2.5, D("12.34"), _exact("5")),
        *("abc", "b", date(2024, 2, 29), datetime(2024, 2, 29, 12, 34, 56, 789000, UTC)),
        *(True, b"\x01\x02", [1, 2, None], ["a", "b"], {"k": 1}, {"p": 1, "q": "z"}),
        [{"p": 1, "q": "z"}, None, {"p": None, "q": "y"}],
    ),
    (
        *(
            -128,
            -32768,
            -(2**31),
            -1,
            -(2**63),
            -0.0,
            -0.0,
            D("-99.99"),
            _exact("-1.000000000000000001"),
        ),
        *("", "", date(4, 12, 31), datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
        *(False, b"", [], [], {}, {"p": None, "q": None}, []),
    ),
    (
        *(127, 32767, 2**31 - 1, 0, 2**63 - 1, math.inf, math.inf, D("99.99"), _exact("9" * 20)),
        *("ÄßΣ😀 x", "😀", date(9999, 12, 31), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
        *(
            None,
            b"\xff",
            [3, -1, 2, 2],
            ["x", None, ""],
            {"k": None, "": 3},
            {"p": 5, "q": "b"},
            None,
        ),
    ),
    (
        *(0, 0, 0, 3, 0, math.nan, math.nan, D("0.00"), _exact("0")),
        *(" 42 ", "4", date(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)),
        *(True, b"abc", [None], [None], {"z": 0}, None, [{"p": 3, "q": ""}]),
    ),
    (
        *(-1, 5, -7, 3, -7, 0.125, -2.5, D("0.05"), _exact("0.000000000000000005")),
        *(
            "2024-01-31 10:20:30.5+02:00",
            "-",
            date(2023, 1, 31),
            datetime(2000, 3, 1, 7, 8, 9, 5, UTC),
        ),
        *(False, None, [5, 5, None, 4], ["b", "a", "b"], {"k": 7}, {"p": 2, "q": "B"}, []),
    ),
    (
        *(3, -5, 100, -3, 123456789012, 1e10, 1e300, D("-2.50"), _exact("123456789.123456789")),
        *("a%b_c\\d", "a\\%", date(2020, 12, 31), datetime(2020, 12, 31, 0, 0, 0, 1, UTC)),
        *(True, b"\x00", [7], ["ab", "Ab"], {"a": 1, "b": 2}, {"p": 1, "q": "Z"}, []),
    ),
    (
        *(1, 2, 3, 4, 5, 16777216.0, 0.1, D("1.00"), _exact("1")),
        *("true", "TRUE ", date(2021, 1, 3), datetime(2021, 1, 3, 3, 4, 5, 60000, UTC)),
        *(None, b"x", None, None, None, {"p": 1, "q": None}, [None]),
    ),
    (None,) * 20,
]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    """The rows as an inline table, which Spark's optimizer evaluates without a job."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    lines = (
        ", ".join(f"cast({_sql(row[name])} as {kind.ddl})" for name, kind in SCOPE.items())
        for row in rows()
    )
    table = ", ".join(f"({line})" for line in lines)
    return session.sql(f"select * from values {table} as rows({', '.join(SCOPE)})")


def expressions() -> list[str]:
    """Return the cases: one a line."""
    lines = (line.strip() for line in CASES.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("--")]


def rows() -> Iterator[dict[str, Any]]:
    """Return the rows as the evaluator takes them."""
    for at, row in enumerate(ROWS):
        yield dict(zip(SCOPE, (at, *row), strict=True))


@pytest.fixture(scope="module")
def answers(frame: DataFrame) -> tuple[StructType, Mapping[int, Row]]:
    """What Spark says to all expressions at once, on the rows where ours do not fail."""
    asked = [_where_known(each, _values(each), at) for at, each in enumerate(expressions())]
    answered = frame.selectExpr("id", *asked)
    return answered.schema, {row["id"]: row for row in answered.collect()}


def test_every_listed_expression_has_the_type_that_spark_gives_it(
    answers: tuple[StructType, Mapping[int, Row]],
) -> None:
    schema, _ = answers

    ours = {each: build_expression(each, SCOPE)[0].type for each in expressions()}

    theirs = [model_type(field.dataType) for field in schema.fields[1:]]
    assert dict(zip(expressions(), theirs, strict=True)) == ours


def test_every_listed_expression_has_the_values_that_spark_gives_it(
    answers: tuple[StructType, Mapping[int, Row]],
) -> None:
    _, theirs = answers

    ours = [_values(each) for each in expressions()]

    wrong = [
        (text, row, value, _plain(theirs[row][f"x{at}"]))
        for at, (text, found) in enumerate(zip(expressions(), ours, strict=True))
        for row, value in found.items()
        if not _same(value, _plain(theirs[row][f"x{at}"]))
    ]
    assert [] == wrong


def test_where_the_evaluation_fails_spark_fails_too(frame: DataFrame) -> None:
    failing = [(each, max(rows)) for each in expressions() if (rows := _failures(each))]

    with ThreadPoolExecutor(8) as beside:  # each waits for Spark more than it computes
        fails = list(beside.map(lambda pair: _spark_fails(frame, *pair), failing))

    assert [] == [pair for pair, told in zip(failing, fails, strict=True) if not told]
    assert len(failing) > 50


def _values(text: str) -> Mapping[int, Any]:
    """Return the values by row, without the rows where the evaluation fails."""
    compute = compile_expression(build_expression(text, SCOPE)[0])
    found: dict[int, Any] = {}
    for at, row in enumerate(rows()):
        try:
            found[at] = compute(row)
        except EvaluationError:
            continue
    return found


def _failures(text: str) -> set[int]:
    return set(range(len(ROWS))) - set(_values(text))


def _sql(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool() | int():
            return str(value).lower()
        case float():
            return f"'{value!r}'"
        case D():
            return f"{value:f}BD"
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            return f"timestamp'{value:%Y-%m-%d %H:%M:%S.%f}'"
        case date():
            return f"date'{value.isoformat()}'"
        case list():
            return f"array({', '.join(map(_sql, value))})"
        case dict() if "p" in value:
            return f"named_struct('p', {_sql(value['p'])}, 'q', {_sql(value['q'])})"
        case dict():
            return f"map({', '.join(f'{_sql(key)}, {_sql(each)}' for key, each in value.items())})"
        case _:
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _where_known(text: str, found: Mapping[int, Any], at: int) -> str:
    if len(found) == len(ROWS):
        return f"({text}) as x{at}"
    known = ", ".join(map(str, found)) or "-1"
    return f"case when id in ({known}) then ({text}) end as x{at}"


def _spark_fails(frame: DataFrame, text: str, row: int) -> bool:
    try:
        frame.where(f"id = {row}").selectExpr(f"({text}) as x").collect()
    except Exception:
        return True
    return False


def _plain(value: Any) -> Any:
    match value:
        case Row():
            return {name: _plain(part) for name, part in value.asDict().items()}
        case list():
            return [_plain(part) for part in value]
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case datetime():
            return value.astimezone(UTC)
        case bytearray():
            return bytes(value)
        case _:
            return value


def _same(ours: Any, theirs: Any) -> bool:
    if type(ours) is not type(theirs):
        return False
    match ours:
        case float():
            return repr(ours) == repr(theirs)
        case list():
            return len(ours) == len(theirs) and all(map(_same, ours, theirs))
        case dict():
            return list(ours) == list(theirs) and all(
                _same(ours[name], theirs[name]) for name in ours
            )
        case _:
            return bool(ours == theirs)
