"""Types guessed from messages in JSON."""

from __future__ import annotations

import pytest

from joinery.onboarding.topic_sample import columns_of_rows, rows_of


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], "long"),
        ([1, 2.5], "double"),
        ([True, None], "boolean"),
        (["a", None], "string"),
        ([None], "string"),
        ([1, "a"], "string"),
        (["2026-01-02"], "date"),
        (["2026-01-02", "2026-01-02T03:04:05+01:00"], "timestamp"),
        (["2026-01-02", "soon"], "string"),
        ([[1], [], None], "array<long>"),
        ([{"a": 1}, {"b": "x"}], "struct<a: long, b: string>"),
        ([5, "__debezium_unavailable_value"], "long"),
    ],
)
def test_a_column_is_as_wide_as_its_values(values: list[object], expected: str) -> None:
    (field,) = columns_of_rows([{"v": each} for each in values]).fields

    assert str(field.type) == expected


def test_columns_that_are_joinerys_own_are_none() -> None:
    rows = [{"id": 1, "__deleted": "false", "__position": 7}]

    assert str(columns_of_rows(rows)) == "struct<id: long>"


def test_debeziums_events_carry_rows_with_and_without_schemas() -> None:
    event = {"op": "u", "before": None, "after": {"id": 1}}
    gone = {"op": "d", "before": {"id": 2}, "after": None}

    assert rows_of([event, gone]) == ([{"id": 1}, {"id": 2}], True)
    assert rows_of([{"schema": {}, "payload": event}]) == ([{"id": 1}], True)
    assert rows_of([{"id": 1}]) == ([{"id": 1}], False)
