"""The order of values is Spark's, and descending is its exact reverse."""

from __future__ import annotations

import math

from joinery.expression.order import order_key, row_key
from joinery.model.type import BOOLEAN, DOUBLE, INT, STRING, Array, Field, Struct


def test_nulls_come_first_and_nan_last() -> None:
    ordered = sorted([math.nan, math.inf, None, -0.5], key=order_key(DOUBLE))

    assert [None, -0.5, math.inf] == ordered[:3]


def test_texts_compare_by_their_utf8_bytes() -> None:
    assert ["Z", "a", "\uffff", "😀"] == sorted(["😀", "\uffff", "a", "Z"], key=order_key(STRING))


def test_false_comes_before_true() -> None:
    assert [None, False, True] == sorted([True, None, False], key=order_key(BOOLEAN))


def test_a_shorter_list_comes_before_its_longer_ones() -> None:
    lists = [[1, 0], [1], [None, 9], []]

    assert [[], [None, 9], [1], [1, 0]] == sorted(lists, key=order_key(Array(INT)))


def test_objects_compare_field_by_field() -> None:
    kind = Struct((Field("a", INT), Field("b", INT)))

    assert {"a": 1, "b": None} == min({"a": 1, "b": 2}, {"a": 1, "b": None}, key=order_key(kind))


def test_descending_puts_nulls_last_and_the_next_column_decides_ties() -> None:
    rows = [(1, "b"), (None, "x"), (2, "c"), (1, "a")]

    ordered = sorted(rows, key=row_key([(INT, True), (STRING, False)]))

    assert [(2, "c"), (1, "a"), (1, "b"), (None, "x")] == ordered
