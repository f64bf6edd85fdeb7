"""The rows of a table have one writer, also when deletes are forgotten."""

from __future__ import annotations

import pytest
from tests.unit.solutions.key_value.stand_in import PRODUCT, StandIn

from joinery.solutions.key_value.dynamodb_table import DynamoTable
from joinery.solutions.single_table.state import SingleTableState
from joinery.solutions.stored.state import Batch, StoredRow, StoreFencedError

GONE = StoredRow(None, False, 1, True, 1)


def opened(client: StandIn) -> SingleTableState:
    return SingleTableState([PRODUCT], DynamoTable(client, "table"), {}, query="p", lag_s=0)


def test_a_run_that_was_replaced_forgets_nothing() -> None:
    client = StandIn()
    old, new = opened(client), opened(client)
    old.begin(Batch("q", 0, 1, 1))
    old.write("page", {("a",): GONE})
    new.begin(Batch("q", 0, 2, 1))

    with pytest.raises(StoreFencedError):
        old.forget(5)

    assert {("a",): GONE} == new.rows("page", [("a",)])
    new.forget(5)
    assert {} == new.rows("page", [("a",)])
    old.close()
    new.close()
