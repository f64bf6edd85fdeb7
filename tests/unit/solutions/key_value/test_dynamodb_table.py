"""Values in parts, and what a table of DynamoDB leaves undone, beside a stand-in of its client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.solutions.key_value.stand_in import FENCE_KEY, PRODUCT, StandIn

from joinery.semantics.document import SentDocument
from joinery.solutions.key_value.batch_log import BatchLog
from joinery.solutions.key_value.dynamodb import DynamoStore
from joinery.solutions.key_value.dynamodb_table import DynamoTable, Item
from joinery.solutions.stored.state import (
    Batch,
    Emitted,
    StoreError,
    StoreFencedError,
    StoreUnavailableError,
)

PLACE = ("row", "1")
OLD, NEW = b"o" * 400_000, b"n" * 400_000


@pytest.fixture
def client() -> StandIn:
    return StandIn()


@pytest.fixture
def table(client: StandIn) -> Iterator[DynamoTable]:
    opened = DynamoTable(client, "table", pause=lambda seconds: None)
    yield opened
    opened.close()


def test_an_index_that_lags_shows_no_value_whose_parts_were_replaced(
    client: StandIn, table: DynamoTable
) -> None:
    table.put({PLACE: Item(OLD, {"GSI_1": "a"}), ("row", "2"): Item(b"small", {"GSI_1": "a"})})
    client.settle()
    table.put({PLACE: Item(NEW, {"GSI_1": "a"})})

    assert [{("row", "2"): b"small"}] == table.indexed("GSI_1", ["a"])
    assert {PLACE: NEW} == table.get([PLACE])
    client.settle()
    assert [{PLACE: NEW, ("row", "2"): b"small"}] == table.indexed("GSI_1", ["a"])


def test_parts_go_with_the_value_that_an_index_showed_late(
    client: StandIn, table: DynamoTable
) -> None:
    table.put({PLACE: Item(OLD, {"GSI_1": "a"})})
    client.settle()
    table.put({PLACE: Item(NEW, {"GSI_1": "a"})})
    table.indexed("GSI_1", ["a"])

    table.put({PLACE: None})

    assert {} == client.items


def test_a_value_that_has_lost_a_part_is_an_error(client: StandIn, table: DynamoTable) -> None:
    table.put({PLACE: Item(OLD)})
    part = next(place for place in client.items if place[0].startswith("PART#"))
    del client.items[part]

    with pytest.raises(StoreError, match="lacks parts of a value"):
        table.get([PLACE])


def test_a_run_that_is_replaced_in_the_midst_of_many_requests_stops(client: StandIn) -> None:
    table = DynamoTable(client, "table", threads=2)
    DynamoStore(table, "p/").claim((b"fence", b""), None, b"ours")
    client.taken_over_after = 3

    with pytest.raises(StoreFencedError, match="another run has taken over the table"):
        table.put({("row", str(number)): Item(b"small") for number in range(25 * 10)})

    assert 4 == client.writes
    table.close()


def test_a_run_that_is_replaced_does_not_tell_that_parts_are_lost(
    client: StandIn, table: DynamoTable
) -> None:
    DynamoStore(table, "p/").claim((b"fence", b""), None, b"ours")
    table.put({PLACE: Item(OLD)})
    part = next(place for place in client.items if place[0].startswith("PART#"))
    del client.items[part]
    client.put_item(Item={**FENCE_KEY, "value": {"S": "theirs"}})

    with pytest.raises(StoreFencedError, match="another run has taken over the table"):
        table.get([PLACE])


def test_what_stays_undone_for_long_is_an_outage(client: StandIn, table: DynamoTable) -> None:
    client.full = True

    with pytest.raises(StoreUnavailableError, match="left items unwritten"):
        table.put({PLACE: Item(b"small")})


def test_a_root_with_a_long_key_is_sent_and_forgotten(client: StandIn, table: DynamoTable) -> None:
    batch_log = BatchLog([PRODUCT], DynamoStore(table, "p/"))
    sent = {(letter * 3_000,): SentDocument("{}", 1) for letter in "ab"}
    gone = {key: SentDocument(None, 2) for key in sent}
    for number, told in enumerate((sent, gone)):
        assert not batch_log.begin(Batch("q", number, 1, number))
        batch_log.acknowledge(Batch("q", number, 1, number), {"p": Emitted(told)})
        assert told == batch_log.sent("p", told)

    batch_log.forget(3)

    assert {} == batch_log.sent("p", gone)
    assert all(len(part.encode()) <= 2_000 for place in client.items for part in place)
    assert {"p/0/emitted/1.0", "p/0/done", "p/fence"} == {pk for pk, _ in client.items}
