"""The store `dynamodb`: entries as items of one table, a partition of entries as one of items.

Limits: a sort key has up to 1,000 bytes; the name of a partition above 2,000 ends in a hash. The
fence is claimed by a condition; later writes carry none, since a batch of writes takes none: it is
read again before each step, and between the requests of one that takes many.

Makes a DynamoDB table with generic indexes, or checks the one that is there.

Invariant: what exists is never removed, and a table of another shape is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from joinery.clients.dynamodb import DynamoError, ask, open_dynamodb
from joinery.project.option import options, text
from joinery.slices import slices
from joinery.solutions.key_value.dynamodb_table import (
    DynamoTable,
    Item,
    Place,
    shortened,
    store_error,
    taken_over,
)
from joinery.solutions.key_value.store import Address
from joinery.solutions.stored.state import StoreError

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

_KEYS = {"pk": "HASH", "sk": "RANGE"}
_POLL_S = 1.0
_PATIENCE_S = 3_600.0


def ensure_table(
    client: Any,
    name: str,
    slots: Sequence[str] = (),
    *,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Make the table, and the indexes of `slots` that it lacks, and wait until they serve.

    Raises:
        StoreError: The table has other keys, or DynamoDB refuses.
    """
    try:
        described = _described(client, name)
        if described is None:
            _create(client, name, slots)
        else:
            _check(name, described)
        _wait(client, name, pause)
        for slot in slots:
            if slot not in _indexes(_described(client, name) or {}):
                _add(client, name, slot)
                _wait(client, name, pause)
    except DynamoError as error:
        raise store_error(error) from error


def table_exists(client: Any, name: str) -> bool:
    """Return whether the table is there.

    Raises:
        StoreError: DynamoDB refuses.
    """
    try:
        return _described(client, name) is not None
    except DynamoError as error:
        raise store_error(error) from error


def _described(client: Any, name: str) -> Mapping[str, Any] | None:
    try:
        table: Mapping[str, Any] = ask(client, "describe_table", {"TableName": name})["Table"]
    except DynamoError as error:
        if error.reason == "ResourceNotFoundException":
            return None
        raise
    return table


def _create(client: Any, name: str, slots: Sequence[str]) -> None:
    request: dict[str, Any] = {
        "TableName": name,
        "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, kind in _KEYS.items()],
        "AttributeDefinitions": [_text(each) for each in (*_KEYS, *slots)],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if slots:
        request["GlobalSecondaryIndexes"] = [_index(slot) for slot in slots]
    ask(client, "create_table", request)


def _add(client: Any, name: str, slot: str) -> None:
    """Add one index; DynamoDB makes one at a time."""
    request = {
        "TableName": name,
        "AttributeDefinitions": [_text(slot)],
        "GlobalSecondaryIndexUpdates": [{"Create": _index(slot)}],
    }
    ask(client, "update_table", request)


def _wait(client: Any, name: str, pause: Callable[[float], None]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while True:
        table = _described(client, name) or {}
        states = [table.get("TableStatus"), *(_indexes(table).values())]
        if all(state == "ACTIVE" for state in states):
            return
        if time.monotonic() > until:
            raise StoreError(f'table "{name}" of DynamoDB did not become ready within an hour')
        pause(_POLL_S)


def _check(name: str, table: Mapping[str, Any]) -> None:
    standing = {each["AttributeName"]: each["KeyType"] for each in table["KeySchema"]}
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    if standing != _KEYS or any(types[key] != "S" for key in _KEYS):
        told = ", ".join(f"{key} ({kind}, {types[key]})" for key, kind in standing.items())
        raise StoreError(
            f'table "{name}" of DynamoDB has different keys',
            detail=f"It has {told}; it needs pk (HASH, S), sk (RANGE, S).",
            hint="Name another table with the option `table`.",
        )


def _indexes(table: Mapping[str, Any]) -> dict[str, str]:
    told = table.get("GlobalSecondaryIndexes", ())
    return {each["IndexName"]: each.get("IndexStatus", "ACTIVE") for each in told}


def _index(slot: str) -> dict[str, Any]:
    return {
        "IndexName": slot,
        "KeySchema": [{"AttributeName": slot, "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }


def _text(attribute: str) -> dict[str, str]:
    return {"AttributeName": attribute, "AttributeType": "S"}


THREADS = 16
_LONGEST_PARTITION, _LONGEST_SORT = 2_000, 1_000
_PARTITIONS_AT_ONCE = 1_000


class DynamoStore:
    """Keeps entries in a table, all of them under `<prefix>…`."""

    def __init__(self, table: DynamoTable, prefix: str) -> None:
        self._table = table
        self._prefix = prefix

    def claim(self, address: Address, before: bytes | None, after: bytes) -> None:
        """Put `after` where `before` stands, or where nothing does."""
        place = self._place(address)
        claimed = self._table.put_if(place, after, before)
        # An answer may be lost on its way, and the request be made again by the driver.
        if not claimed and self._table.get([place]).get(place) != after:
            raise taken_over()
        self._table.guard(place, after)

    def get_many(self, addresses: Sequence[Address]) -> list[bytes | None]:
        """Return the value at each address."""
        places = [self._place(address) for address in addresses]
        found = self._table.get(places)
        return [found.get(place) for place in places]

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put and remove entries."""
        self._table.put(
            {
                self._place(address): None if value is None else Item(value)
                for address, value in entries.items()
            }
        )

    def scan(self, partitions: Sequence[bytes]) -> Iterator[tuple[Address, bytes]]:
        """Yield all entries of some partitions."""
        for some in slices(partitions, _PARTITIONS_AT_ONCE):
            found = self._table.partitions([*map(self._partition, some)])
            for partition, items in zip(some, found, strict=True):
                for (_, sk), value in items.items():
                    yield (partition, sk[1:].encode()), value

    def close(self) -> None:
        """Release connections."""
        self._table.close()

    def _place(self, address: Address) -> Place:
        sort = f"={address[1].decode()}"
        size = len(sort.encode())
        if size > _LONGEST_SORT:
            raise StoreError(
                "a key is too long for DynamoDB",
                detail=f"It has {size} bytes; the limit is {_LONGEST_SORT}: {sort[1:80]}…",
                hint="Keep the state in another store.",
            )
        return self._partition(address[0]), sort

    def _partition(self, name: bytes) -> str:
        return shortened(self._prefix + name.decode(), _LONGEST_PARTITION)


@options
class DynamoOptions:
    """`{kv: {store: dynamodb, url: …}}`; the table is `<prefix>-<query>`.

    Without `url` it is in the environment's region.
    """

    url: str = text("The address of the store's server.", default="", secret=True)
    prefix: str = text("What each key begins with, or the table's name.", default="joinery")

    def make(self, place: SolutionPlace) -> DynamoStore:
        """Return the store of a query, opened."""
        name = f"{self.prefix}-{place.query}"
        client = open_client(self.url, "")
        ensure_table(client, name)
        return DynamoStore(DynamoTable(client, name, threads=THREADS), "")


def open_client(endpoint: str, region: str) -> object:
    """Return a client of DynamoDB.

    Raises:
        StoreError: The driver is missing, or no region is known.
    """
    try:
        return open_dynamodb(endpoint, region, THREADS)
    except DynamoError as error:
        raise store_error(error) from error
