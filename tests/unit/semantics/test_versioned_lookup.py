"""The row of an event's time on the reference, where the table's log has several partitions."""

from __future__ import annotations

from pathlib import Path

import joinery as jn
from joinery.testing.changes import RowChange, insert
from joinery.testing.driver import Emission
from joinery.testing.stream_driver import StreamDriver

PROJECT = """
sources: {c: {files: {path: data}}}
relations:
  orders: {append: true, key: [id], time: at, fields: {id: long, sku: string, at: timestamp}}
  prices:
    {key: [sku], time: since, watermark: WATERMARK,
     fields: {sku: string, price: long, since: timestamp}}
streams:
  s:
    from: orders
    steps:
      - {lookup: prices, on: [sku], fields: [price], as_of: event}
      - {select: [price]}
    sink: {files: {path: out}}
"""


def driver(folder: Path, watermark: str = "{delay: 0s}") -> StreamDriver:
    file = folder / "joinery.yaml"
    file.write_text(PROJECT.replace("WATERMARK", watermark), encoding="utf-8")
    return StreamDriver(jn.load(file).streams["s"])


def at(minute: int) -> str:
    return f"2026-03-01T12:{minute:02d}:00Z"


def price(minute: int, price: int, sku: str = "tea", *, partition: int = 0) -> RowChange:
    return insert("prices", sku=sku, price=price, since=at(minute)).within(partition)


def order(number: int, minute: int) -> RowChange:
    return insert("orders", id=number, sku="tea", at=at(minute))


def sent(emitted: list[Emission]) -> list[tuple[object, object]]:
    return [(each.key, each.value and each.value["price"]) for each in emitted]


def test_an_event_waits_for_the_slowest_partition(tmp_path: Path) -> None:
    made = driver(tmp_path)

    assert [] == made.send(price(1, 10), price(2, 0, "rye", partition=1), order(1, 15))
    assert [] == made.send(price(30, 30))
    assert [(1, 10)] == sent(made.send(price(16, 0, "rye", partition=1)))


def test_a_silent_partition_is_not_waited_for_and_what_it_brings_then_is_overtaken(
    tmp_path: Path,
) -> None:
    made = driver(tmp_path, "{idle: 10m}")
    made.send(price(1, 10), price(2, 0, "rye", partition=1), order(1, 15))
    made.send(price(20, 20), after="6m")

    assert [(1, 10)] == sent(made.send(after="4m"))
    made.send(price(14, 14, partition=1))
    assert [(2, 10), (3, 20)] == sent(made.send(order(2, 15), order(3, 20), after="10m"))
    assert (1, 0) == (made.counters["overtaken_versions"], made.counters["late_versions"])


def test_a_new_partition_makes_no_answer_another(tmp_path: Path) -> None:
    made = driver(tmp_path)
    made.send(price(1, 10), price(30, 30))

    made.send(price(14, 14, partition=1))

    assert [(1, 10), (2, 30)] == sent(
        made.send(order(1, 15), order(2, 30), price(40, 1), price(40, 1, "rye", partition=1))
    )
    assert 1 == made.counters["overtaken_versions"]
