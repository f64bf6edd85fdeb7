"""Aggregates skip nulls, are exact, and do not depend on the order of rows."""

from __future__ import annotations

import math
from decimal import Decimal as D

import pytest

from joinery.expression.aggregate import aggregate
from joinery.expression.problem import EvaluationError
from joinery.model.type import DOUBLE, INT, LONG, STRING, Decimal


def test_nothing_gives_null_and_a_count_of_nothing_is_zero() -> None:
    assert [None, None, 0] == [
        aggregate("sum", LONG, [None]),
        aggregate("max", STRING, []),
        aggregate("count", LONG, [None]),
    ]


def test_a_sum_of_doubles_does_not_depend_on_their_order() -> None:
    values = [1e16, 1.0, -1e16, 0.1]

    assert 1.1 == aggregate("sum", DOUBLE, values) == aggregate("sum", DOUBLE, values[::-1])


def test_a_sum_that_passes_beyond_long_in_between_is_still_exact() -> None:
    assert 5 == aggregate("sum", LONG, [2**63 - 1, 6, -(2**63)])


def test_a_sum_beyond_long_fails() -> None:
    with pytest.raises(EvaluationError):
        aggregate("sum", LONG, [2**63 - 1, 1])


def test_infinities_of_both_signs_sum_to_nan() -> None:
    assert math.isnan(aggregate("sum", DOUBLE, [math.inf, -math.inf]))


def test_a_sum_beyond_the_largest_double_is_infinite() -> None:
    sums = (aggregate("sum", DOUBLE, [each, each]) for each in (1e308, -1e308))

    assert [math.inf, -math.inf] == list(sums)


def test_an_average_of_whole_numbers_is_a_double() -> None:
    assert 1.5 == aggregate("avg", DOUBLE, [1, None, 2])


def test_an_average_of_decimals_rounds_half_up_to_its_scale() -> None:
    assert D("0.666667") == aggregate("avg", Decimal(10, 6), [D("1.00"), D("1.00"), D("0.00")])


def test_the_greatest_double_is_nan() -> None:
    assert math.isnan(aggregate("max", DOUBLE, [1.0, math.nan, math.inf]))


def test_the_least_of_texts_is_least_by_bytes() -> None:
    assert "Z" == aggregate("min", STRING, ["a", "Z", "ä"])


def test_the_greatest_whole_number_wins() -> None:
    assert 9 == aggregate("max", INT, [3, 9, None])
