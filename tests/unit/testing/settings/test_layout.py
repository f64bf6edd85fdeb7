"""How logs are laid out anew, and what of them is late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import joinery as jn
from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.settings.compare import late_rows
from joinery.testing.settings.layout import dealt, shuffled

START = datetime(2026, 3, 1, tzinfo=UTC)
PROJECT = """\
name: views
sources: {log: {files: {path: in}}}
relations:
  view:
    append: true
    format: json
    fields: {id: long, at: timestamp}
    time: at
    watermark: {delay: 20s}
  order: {key: [id], format: json, fields: {id: long, at: timestamp}, time: at, source: log}
products:
  views: {aggregate: view, values: {n: count(*)}, emit: {late: dead_letter, allowed: 5s}}
  orders: {aggregate: order, values: {n: count(*)}}
"""


def load(folder: Path) -> jn.Project:
    file = folder / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    return jn.load(file)


def view(id: int, second: float) -> RowChange:
    return insert("view", id=id, at=START + timedelta(seconds=second))


def test_a_row_below_what_its_partition_allows_is_late(tmp_path: Path) -> None:
    (views, _) = load(tmp_path).plan.products
    log = [view(1, 100), view(2, 75), view(3, 74.9), insert("view", id=4), view(5, 0).within(1)]

    assert ['{"id":3,"at":"2026-03-01T00:01:14.900000Z"}'] == late_rows(views, log)


def test_rows_that_are_shuffled_within_the_delay_stay_in_time(tmp_path: Path) -> None:
    products = load(tmp_path).plan.products
    relations = {each.name: each for one in products for each in one.relations}
    log = [view(number, number) for number in range(200)]

    found = shuffled(log, relations)

    assert log != found
    assert sorted(map(repr, log)) == sorted(map(repr, found))
    assert [] == late_rows(products[0], found)


def test_changes_of_one_key_keep_their_order_and_share_a_partition(tmp_path: Path) -> None:
    products = load(tmp_path).plan.products
    relations = {each.name: each for one in products for each in one.relations}
    log = [insert("order", id=1, at=START), insert("order", id=2, at=START), delete("order", id=1)]

    found = dealt(shuffled(log, relations), relations, 7)

    ones = [each for each in found if each.columns["id"] == 1]
    assert ["insert", "delete"] == [each.op for each in ones]
    assert ones[0].partition == ones[1].partition
