"""The invariants of a stream's plan, each broken once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from joinery.errors import PlanError
from joinery.model.type import LONG, STRING, Field
from joinery.plan.build import build_plan
from joinery.plan.step import Lookup, Union
from joinery.plan.stream import Stream
from joinery.plan.verify import verify_stream
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  orders: {append: true, key: [id], time: at, fields: {id: long, sku: string, at: timestamp}}
  returns: {append: true, fields: {id: long, sku: string, at: timestamp}}
  prices: {key: [sku], time: since, fields: {sku: string, price: long, since: timestamp}}
streams:
  s:
    from: orders
    correction: again
    steps:
      - {lookup: prices, on: [sku], fields: [price], on_change: re_emit, for: 1d}
      - {lookup: prices, on: [sku], fields: {now: price}, read: database, store: {redis: {}}}
      - {filter: price > 1}
      - {select: [id, price]}
  other: {from: returns}
"""
STREAM, OTHER = build_plan(load_text(PROJECT)).streams
FIRST, STORED, FILTER, SELECT = STREAM.steps
assert isinstance(FIRST, Lookup)
assert isinstance(STORED, Lookup)


def stream(*steps: Any, **parts: Any) -> Stream:
    return replace(STREAM, steps=steps or STREAM.steps, **parts)


def test_a_plan_as_built_holds() -> None:
    verify_stream(STREAM)


@pytest.mark.parametrize(
    ("broken", "invariant"),
    [
        (stream(relation=replace(STREAM.relation, append=False)), "begins at a log"),
        (stream(STORED, FIRST, FILTER, SELECT), "state is read before a store"),
        (stream(columns=(Field("id", LONG),)), "those of its last step"),
        (stream(correction="price"), "its mark is new"),
        (stream(replace(FIRST, on=()), STORED, FILTER, SELECT), "compares the table's key"),
        (stream(SELECT), "what it reads is known"),
        (stream(replace(FIRST, for_ms=None), STORED, FILTER, SELECT), "what is remembered"),
        (stream(replace(FIRST, on_miss="wait"), STORED, FILTER, SELECT), "what waits"),
        (stream(FIRST, replace(STORED, store=None), FILTER, SELECT), "a store is named"),
        (
            stream(FIRST, replace(STORED, on_change="correct", for_ms=1), FILTER, SELECT),
            "state alone remembers",
        ),
        (
            stream(
                replace(FIRST, as_of="event", event_time="sku", valid_from="since"),
                STORED,
                FILTER,
                SELECT,
            ),
            "have a time",
        ),
        (stream(Union(replace(OTHER, columns=(Field("a", STRING),)))), "last step"),
        (stream(Union(OTHER)), "same kind of key"),
    ],
)
def test_a_broken_invariant_is_named(broken: Stream, invariant: str) -> None:
    with pytest.raises(PlanError) as caught:
        verify_stream(broken)

    assert invariant in caught.value.detail
