"""Aggregates over groups: what they give, and what is refused of them."""

from __future__ import annotations

import pytest

from joinery.expression.expression import ExpressionError, build_expression
from joinery.expression.group_aggregate import WINDOW_SECONDS, folded
from joinery.expression.problem import unknown_column
from joinery.expression.typed import Aggregate
from joinery.model.type import DOUBLE, LONG, STRING, TIMESTAMP, Array, DataType, Decimal

ROWS: dict[str, DataType] = {
    "x": LONG,
    "s": STRING,
    "d": DOUBLE,
    "p": Decimal(10, 2),
    "at": TIMESTAMP,
    "sent": TIMESTAMP,
}
OUTER: dict[str, DataType] = {"day": STRING, "__window_seconds": DOUBLE}


def lifted(text: str, outer: dict[str, DataType] | None = None) -> tuple[str, list[Aggregate]]:
    scope = OUTER if outer is None else outer
    expression, aggregates = build_expression(text, scope, rows=ROWS)
    return f"{expression.sql}: {expression.type}", list(aggregates)


def over(text: str, *values: object) -> object:
    (aggregate,) = lifted(text)[1]
    return folded(aggregate, values)


def test_a_count_of_distinct_values_takes_each_once() -> None:
    assert 2 == over("count(distinct x)", 3, None, 3, 1)
    assert 2 == over("count(distinct d)", float("nan"), 0.0, -0.0, float("nan"))
    assert 0 == over("count(distinct s)")


def test_first_last_and_collect_follow_the_order_of_their_rows() -> None:
    assert "a" == over("first(s)", None, "a", "b", None)
    assert "b" == over("last(s)", None, "a", "b", None)
    assert ["a", "b"] == over("collect(s, 2)", "a", None, "b", "c")
    assert (None, []) == (over("first(s)"), over("collect(s, 2)"))


def test_types_are_those_of_any_number_of_rows() -> None:
    assert "__agg_0: decimal(38,2)" == lifted("sum(p)")[0]
    assert "__agg_0: double" == lifted("avg(p)")[0]
    assert Array(STRING) == lifted("collect(s, 3)")[1][0].type


def test_a_rate_divides_by_the_seconds_of_the_window() -> None:
    told, aggregates = lifted("1 + rate(count(*) filter (where x > 1))")

    assert "1 + ((__agg_0) / __window_seconds): double" == told
    assert "x > 1" == str(aggregates[0].filter and aggregates[0].filter.sql)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("(max(at)) - min(at)", "((unix_micros((__agg_0)) - unix_micros(__agg_1)) / 1e6): double"),
        (
            "max(at) - min(at) - 1 > 60",
            "((unix_micros(__agg_0) - unix_micros(__agg_1)) / 1e6) - 1 > 60: boolean",
        ),
        ("max(x) - min(x)", "__agg_0 - __agg_1: long"),
    ],
)
def test_a_difference_of_times_is_seconds(text: str, told: str) -> None:
    assert told == lifted(text)[0]


def test_a_difference_of_times_in_an_aggregate_is_seconds() -> None:
    (mean,) = lifted("avg(at - sent) filter (where at - sent < 60)")[1]

    seconds = "((unix_micros(at) - unix_micros(sent)) / 1e6)"
    assert mean.argument is not None
    assert mean.filter is not None
    assert (seconds, f"{seconds} < 60") == (mean.argument.sql, mean.filter.sql)


def test_equal_aggregates_are_kept_once() -> None:
    assert 2 == len(lifted("count(x) + count(x) + count(distinct x)")[1])


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("x + count(*)", 0, '"x"'),
        ("count(day)", 6, '"day"'),
        ("sum(s)", 4, "needs numbers"),
        ("sum(*)", 0, '"sum" needs a column'),
        ("count(distinct *)", 0, '"count" needs a column'),
        ("sum(distinct x)", 0, "takes no distinct values"),
        ("collect(s)", 0, "takes a value and the number of items"),
        ("collect(s, 0)", 0, "a number from 1"),
        ("approx_quantile(x)", 0, "takes a value and the quantile"),
        ("bloom(s)", 0, "takes a value, the number of values and the false-positive rate"),
        ("count(x) filter (where s)", 23, "needs a condition"),
        ("median(x)", 0, "is not kept over groups"),
        ("sum(count(*))", 4, "cannot be used here"),
        ("rate(count(*)) filter (where x > 1)", 0, "a rate takes one value"),
    ],
)
def test_what_cannot_be_kept_is_refused_where_it_stands(
    text: str, offset: int, message: str
) -> None:
    with pytest.raises(ExpressionError) as refused:
        lifted(text)

    assert message in str(refused.value)
    assert offset == refused.value.offset


@pytest.mark.parametrize(
    "text",
    [
        "approx_quantile(x, 0.5, 0.001)",
        "approx_quantile(x, 0.5, 0.5)",
        "approx_count_distinct(x, 0.00205)",
        "approx_count_distinct(x, 0.26)",
        "quantile_sketch(x, 1e-3)",
    ],
)
def test_a_number_may_be_the_bound_that_an_error_names(text: str) -> None:
    assert 1 == len(lifted(text)[1])


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("bloom(s)", "Write bloom(column, 1000, 0.01)."),
        ("median(x)", "Write approx_quantile(x, 0.5)."),
        ("collect_list(x)", "Write collect(x, n)."),
    ],
)
def test_the_hint_has_what_to_write(text: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        lifted(text)

    assert hint == refused.value.hint


def test_a_rate_without_a_window_is_refused() -> None:
    with pytest.raises(ExpressionError, match="a rate needs a window"):
        lifted("rate(count(*))", {"day": STRING})


def test_the_seconds_of_a_window_are_no_name_that_is_known() -> None:
    problem = unknown_column("ms", ["window_start", WINDOW_SECONDS], offset=0)

    assert problem.detail == "Known here are window_start."
