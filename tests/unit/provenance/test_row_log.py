"""A row is told without keeping the records of its logs."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.provenance import row_log
from joinery.provenance.row_log import RowLog
from joinery.provenance.row_maker import RowForm
from joinery.testing.changes import insert
from joinery.testing.conformance.project import load_text

PROJECT = """\
relations:
  sale: {append: true, fields: {shop: string, price: int}}
products:
  total: {aggregate: sale, by: [shop], values: {sum: sum(price)}}
"""
OTHERS = 300


class Made(Sequence[Change]):
    """Changes that are made anew at each walk, as those of a file are.

    Attributes:
        most: So many of them were there at the end of a walk at most.
        walks: How often they were walked.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes, self._first = changes, in_memory()
        self.most = self.walks = 0

    def __len__(self) -> int:
        return len(self._changes)

    def __iter__(self) -> Iterator[Change]:
        for each in self._changes:
            yield replace(each)
        self.walks += 1
        self.most = max(self.most, in_memory() - self._first)

    def __getitem__(self, at: Any) -> Any:
        raise AssertionError("only walks are expected")


def in_memory() -> int:
    """Return how many changes there are."""
    return sum(type(each) is Change for each in gc.get_objects())


@pytest.mark.parametrize("each", [2_000, 1], ids=["one by one", "the last ones"])
def test_records_of_other_groups_are_let_go(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_log, "_EACH", each)
    monkeypatch.setattr(row_log, "_TESTS", 1)
    product = build_plan(load_text(PROJECT)).products[0]
    assert isinstance(product.form, RowForm)
    (relation,) = product.relations
    sold = [("own", 1), ("own", 0), *[("other", 1)] * OTHERS, ("own", 2), ("own", 0)]
    made = Made(
        [
            replace(insert("sale", shop=shop, price=price).change(relation), place=(0, number))
            for number, (shop, price) in enumerate(sold)
        ]
    )

    told = RowLog(product, product.form, max_document_bytes=None).tell(made, "own")

    assert told is not None
    assert told.last is not None
    assert ('{"shop":"own","sum":3}', (0, OTHERS + 2)) == (told.text, told.last.change.place)
    assert made.most < 20
    assert made.walks >= 3


WINDOWED = """\
relations:
  sale: {append: true, fields: {shop: string, price: int, at: timestamp}, time: at}
products:
  total: {aggregate: sale, by: [shop], window: {tumbling: 1h}, values: {sum: sum(price)}}
"""


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("own,2026-03-01T09:00:00Z", ['["own","2026-03-01T10:00:00Z"]']),
        ("own", []),
        ("nobody,2026-03-01T10:00:00Z", []),
    ],
)
def test_who_names_no_row_is_told_those_of_the_group_or_what_keys_begin_with(
    asked: str, near: list[str]
) -> None:
    product = build_plan(load_text(WINDOWED)).products[0]
    assert isinstance(product.form, RowForm)
    (relation,) = product.relations
    sale = insert("sale", shop="own", price=1, at="2026-03-01T10:30:00Z").change(relation)
    log = RowLog(product, product.form, max_document_bytes=None)

    assert log.tell([replace(sale, place=(0, 0))], asked) is None
    assert (near, ["own"], True) == (log.near, log.known, log.begins)


PRICED = """\
relations:
  sale: {append: true, fields: {price: "decimal(6,2)", at: timestamp}, time: at}
products:
  total: {aggregate: sale, by: [price], window: {tumbling: 1h}, values: {n: count(*)}}
"""


@pytest.mark.parametrize(
    "asked",
    [
        "3.00,2026-03-01T10:00:00Z",
        "3,2026-03-01T11:00:00+01:00",
        '[3, "2026-03-01 10:00:00"]',
    ],
)
def test_a_group_is_found_however_its_numbers_and_times_are_spelled(asked: str) -> None:
    product = build_plan(load_text(PRICED)).products[0]
    assert isinstance(product.form, RowForm)
    (relation,) = product.relations
    sale = insert("sale", price="3.00", at="2026-03-01T10:30:00Z").change(relation)

    told = RowLog(product, product.form, max_document_bytes=None).tell(
        [replace(sale, place=(0, 0))], asked
    )

    assert told is not None
