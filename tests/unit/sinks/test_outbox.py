"""The topic of an event follows from the columns of its row."""

from __future__ import annotations

import pytest

from joinery.sinks.outbox import topic_of


@pytest.mark.parametrize(
    ("value", "topic"),
    [("order", "shop.order"), (0, "shop.0"), (12, "shop.12"), (False, "shop.false")],
)
def test_a_column_of_any_simple_type_makes_a_topic(value: object, topic: str) -> None:
    assert topic == topic_of("shop.{kind}", {"kind": value})


@pytest.mark.parametrize("value", [None, "", "a/b", "ä", "x" * 249])
def test_what_kafka_takes_for_no_name_makes_no_topic(value: object) -> None:
    assert topic_of("shop.{kind}", {"kind": value}) is None


@pytest.mark.parametrize("value", [".", ".."])
def test_names_that_kafka_keeps_to_itself_make_no_topic(value: str) -> None:
    assert topic_of("{kind}", {"kind": value}) is None
