"""Streams in a project file: what is read, written back, and refused at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.project.load import dump_spec, load_spec
from joinery.project.product import ProjectSpec
from joinery.project.step import (
    Cache,
    FilterSpec,
    Limits,
    LookupSpec,
    MapSpec,
    RollingSpec,
    SelectSpec,
    StoreRead,
    UnionSpec,
    Wait,
    WithColumnsSpec,
)
from joinery.project.stream import StreamSpec, WatermarkSpec

RELATIONS = """\
relations:
  orders: {append: true, fields: {order_id: long, customer_id: long, amount: double}}
  customers: {key: [id], fields: {id: long, name: string}}
"""


def load(folder: Path, streams: str) -> ProjectSpec:
    file = folder / "joinery.yaml"
    file.write_text(RELATIONS + streams, encoding="utf-8")
    return load_spec(file)


def stream(folder: Path, steps: str) -> StreamSpec:
    return load(folder, f"streams: {{s: {{from: orders, steps: {steps}}}}}\n").streams[0]


def problems(folder: Path, steps: str) -> list[str]:
    with pytest.raises(ProjectErrors) as caught:
        stream(folder, steps)
    return [f"{each.location.column} {each}" for each in caught.value.problems if each.location]


def test_a_project_may_have_streams_alone(tmp_path: Path) -> None:
    spec = load(tmp_path, "streams: {s: {from: orders}}\n")

    assert ((), "orders") == (spec.products, spec.streams[0].origin)


def test_a_project_needs_products_or_streams(tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as caught:
        load(tmp_path, "")

    assert "Write products, streams, or both." == caught.value.problems[0].hint


def test_a_log_of_events_needs_no_key(tmp_path: Path) -> None:
    orders = load(tmp_path, "streams: {s: {from: orders}}\n").relations[0]

    assert (True, ()) == (orders.append, orders.key)


def test_each_kind_of_step_is_read(tmp_path: Path) -> None:
    steps = """[
      {lookup: customers, on: {id: customer_id}, fields: {customer: name}},
      {filter: amount > 0},
      {with_columns: {half: amount / 2}},
      {select: [order_id, {more: amount + 1}]},
      {map: {function: "hooks:score", output: {score: double}}},
      {union: other},
      {rolling: {by: [sku], over: 90s, values: {n: count(*)}, retention: 1d}}]"""

    assert (
        LookupSpec("customers", (("id", "customer_id"),), (("customer", "name"),)),
        FilterSpec("amount > 0"),
        WithColumnsSpec((("half", "amount / 2"),)),
        SelectSpec((("order_id", "order_id"), ("more", "amount + 1"))),
        MapSpec("hooks:score", (("score", "double"),)),
        UnionSpec("other"),
        RollingSpec(("sku",), 90_000_000, (("n", "count(*)"),), 86_400_000_000),
    ) == stream(tmp_path, steps).steps


def test_every_switch_of_a_lookup_is_read(tmp_path: Path) -> None:
    steps = """[
      {lookup: customers, on: {id: customer_id}, on_change: correct, for: 7d, every: 1h,
       where: amount > 5, on_miss: "wait:5m"},
      {lookup: customers, on: {id: customer_id}, as_of: event, time: at, late: correct,
       on_miss: null},
      {lookup: customers, on: {id: customer_id}, read: database,
       store: {postgres: {url: "postgresql://h/d"}},
       cache: {size: 5, ttl: 2s, negative: 1s},
       limits: {concurrency: 2, per_second: 100, batch: 10, warm_up: 5s}}]"""
    on = (("id", "customer_id"),)

    assert (
        LookupSpec(
            "customers",
            on,
            on_change="correct",
            for_ms=604_800_000,
            every_ms=3_600_000,
            where="amount > 5",
            on_miss=Wait(300_000),
        ),
        LookupSpec("customers", on, as_of="event", time="at", late="correct"),
        LookupSpec(
            "customers",
            on,
            read="database",
            store=StoreRead("postgres", (("url", "postgresql://h/d"),)),
            cache=Cache(5, 2000, 1000),
            limits=Limits(2, 100.0, 10, 5000),
        ),
    ) == stream(tmp_path, steps).steps


def test_a_relation_tells_its_time_and_its_watermark(tmp_path: Path) -> None:
    text = (
        "  prices: {key: [id], fields: {id: long, at: timestamp}, time: at, watermark: {delay: 1m}}"
    )

    spec = load(tmp_path, text + "\nstreams: {s: {from: orders}}\n")

    assert ("at", WatermarkSpec(60_000)) == (spec.relations[2].time, spec.relations[2].watermark)


def test_what_is_written_reads_back_as_an_equal_project(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        """\
  prices:
    {key: [id], fields: {id: long, at: timestamp}, time: at, watermark: {delay: 1m, idle: 90s}}
streams:
  s:
    from: orders
    correction: corrected
    group: g
    steps:
      - {lookup: customers, on: {id: customer_id}, on_change: re_emit, for: 7d, on_miss: drop}
      - {lookup: customers, on: [id], read: database, store: {sqlite: {path: a.db}},
         cache: {ttl: 1500ms}, limits: {per_second: 0.5, warm_up: 1m}}
      - {select: [order_id, {more: amount + 1}]}
      - {map: {function: "hooks:score", output: {score: double}}}
    sink: [{files: {path: out}}, {console: {}}]
  t: {from: s, steps: [{filter: score > 1}, {union: s}]}
""",
    )
    again = tmp_path / "again.yaml"
    again.write_text(dump_spec(spec), encoding="utf-8")

    assert spec == load_spec(again)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (
            "[{filtr: amount > 0}]",
            '38 SPEC_UNKNOWN_KEY step 1 of stream "s" has no key "filtr"',
        ),
        (
            "[{filter: a, select: [a]}]",
            '37 SPEC_SHAPE step 1 of stream "s" is "filter" and "select"',
        ),
        ("[amount]", '37 SPEC_SHAPE step 1 of stream "s" needs a map, not "amount"'),
        (
            "[{lookup: customers}]",
            '37 SPEC_MISSING_KEY step 1 of stream "s" needs "on"',
        ),
        (
            "[{lookup: customers, on: [id], on_change: re_emit}]",
            '78 SPEC_MISSING_KEY step 1 of stream "s" needs "for" with on_change: re_emit',
        ),
        (
            "[{lookup: customers, on: [id], for: 7d}]",
            '72 SPEC_VALUE step 1 of stream "s" has "for" without on_change: re_emit',
        ),
        (
            "[{lookup: customers, on: [id], cache: {ttl: 1s}}]",
            '74 SPEC_VALUE step 1 of stream "s" has "cache" without read: database',
        ),
        (
            "[{lookup: customers, on: [id], on_miss: wait}]",
            '76 SPEC_VALUE "on_miss" of step 1 of stream "s" cannot be "wait"',
        ),
        (
            "[{lookup: customers, on: [id], read: database, store: {oracle: {}}}]",
            '91 SPEC_UNKNOWN_KEY "store" of step 1 of stream "s" has no kind "oracle"',
        ),
        (
            "[{lookup: customers, on: [id], read: database, store: {sqlite: {pth: a.db}}}]",
            '100 SPEC_UNKNOWN_KEY "sqlite" of "store" of step 1 of stream "s" has no key "pth"',
        ),
        (
            "[{map: {function: score, output: {a: long}}}]",
            '54 SPEC_SHAPE "function" of "map" of step 1 of stream "s" needs module:name,'
            ' not "score"',
        ),
        (
            "[{map: {function: 'm:f', output: {a: lng}}}]",
            '73 SPEC_TYPE field "a" of "map" of step 1 of stream "s": there is no type "lng"',
        ),
    ],
)
def test_what_cannot_be_meant_is_told_at_its_place(
    tmp_path: Path, steps: str, problem: str
) -> None:
    assert problem == problems(tmp_path, steps)[-1]
