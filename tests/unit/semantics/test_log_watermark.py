"""How far the logs of a step have come, where the log tells when it took each record."""

from __future__ import annotations

from pathlib import Path

import joinery as jn
from joinery.expression.convert import micros_of
from joinery.model.type import TIMESTAMP
from joinery.plan.relation import Relation
from joinery.semantics.log_watermark import LogWatermark
from joinery.semantics.read_change import typed
from joinery.semantics.rows import Findings
from joinery.testing.changes import RowChange, insert

PROJECT = """
sources: {c: {kafka: {bootstrap: "b:9092"}}}
relations:
  tap:
    append: true
    fields: {id: long, made: timestamp, sent: timestamp}
    time: TIME
    watermark: {delay: 10s, ahead: 5m}
products:
  p: {aggregate: tap, window: {tumbling: 1h}, values: {n: count(*)}, sink: {files: {path: out}}}
"""


def relation(folder: Path, time: str) -> Relation:
    file = folder / "joinery.yaml"
    file.write_text(PROJECT.replace("TIME", time), encoding="utf-8")
    return jn.load(file).plan.products[0].relations[0]


def tap(id: int, made: str, logged: str) -> RowChange:
    at = f"2026-03-01T{made}Z"
    return insert("tap", id=id, made=at, sent=at).logged(f"2026-03-01T{logged}Z")


def watermark_after(taps: Relation, *changes: RowChange) -> int | None:
    watermark = LogWatermark([taps], Findings())
    watermark.take(each.change(taps) for each in changes)
    return watermark.micros


def at_us(clock: str) -> int:
    return micros_of(typed(f"2026-03-01T{clock}Z", TIMESTAMP))


def test_a_time_far_ahead_of_the_log_moves_no_watermark(tmp_path: Path) -> None:
    taps = relation(tmp_path, "made")

    told = watermark_after(
        taps,
        tap(1, "10:00:00", "10:00:01"),
        tap(2, "18:00:00", "10:01:00"),
        tap(3, "09:00:00", "10:02:00"),
    )

    assert at_us("09:59:50") == told


def test_a_device_that_runs_fast_moves_it_to_the_time_of_the_log(tmp_path: Path) -> None:
    taps = relation(tmp_path, "{event: made, sent: sent, received: $log}")

    told = watermark_after(taps, tap(1, "10:00:00", "10:00:01"), tap(2, "18:00:00", "10:01:00"))

    assert at_us("10:00:50") == told
