"""A table of a store is broadcast where that can change no result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from joinery.model.type import DOUBLE, LONG, STRING, DataType, Field
from joinery.plan.relation import JoinPair, Relation
from joinery.plan.step import Lookup
from joinery.plan.whole import filter_ms, whole_ms, why_no_filter, why_not_whole
from joinery.project.step import Cache, StoreRead


def lookup(kind: str = "postgres", type: DataType = LONG) -> Lookup:
    columns = (Field("id", type), Field("name", STRING))
    table = Relation("customers", "s", "customers", "json", ("id",), columns)
    pairs = (JoinPair("id", "customer_id", type),)
    return Lookup(table, pairs, (), read="database", store=StoreRead(kind))


def test_a_table_answers_for_as_long_as_any_answer_of_it_might() -> None:
    declared = lookup()

    assert "" == why_not_whole(declared)
    assert 10_000 == whole_ms(declared)
    assert 3_000 == whole_ms(replace(declared, cache=Cache(ttl_ms=3_000)))


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        (lookup("redis"), "redis is queried by keys alone"),
        (lookup(type=DOUBLE), 'its store compares "id", which is double, in its own way'),
        (replace(lookup(), cache=Cache(negative_ms=0)), "its answers are not kept"),
        (replace(lookup(), cache=Cache(size=0)), "its answers are not kept"),
    ],
)
def test_what_keeps_a_table_from_being_broadcast_is_told(declared: Lookup, why: str) -> None:
    assert why == why_not_whole(declared)


def test_keys_are_filtered_where_a_missing_row_may_be_told_for_long() -> None:
    patient = replace(lookup(), cache=Cache(negative_ms=600_000))

    assert "" == why_no_filter(patient)
    assert 600_000 == filter_ms(patient)
    assert "rebuilt every 10s" in why_no_filter(lookup())
    assert "redis is queried by keys alone" == why_no_filter(lookup("redis"))
