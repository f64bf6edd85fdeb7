"""The store `dynamodb`: entries as items of one table, a partition of entries as one of items.

Limits: a partition's name has up to 2,000 bytes, a sort key up to 1,000. The fence is claimed
by a condition; later writes carry none, since a batch of writes takes none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from joinery.connect.dynamodb_link import DynamoError, open_dynamodb
from joinery.solutions.key_value.dynamodb_create import ensure_table
from joinery.solutions.key_value.dynamodb_failure import store_error
from joinery.solutions.key_value.dynamodb_table import DynamoTable, Item, Place
from joinery.solutions.key_value.option import check_options
from joinery.solutions.key_value.slices import slices
from joinery.solutions.key_value.store import Address
from joinery.solutions.store import FencedError, StoreError

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

THREADS = 16
_LONGEST = (2_000, 1_000)
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
            raise FencedError("another run has taken over the table", hint="Stop one of the two.")

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
            found = self._table.partitions([self._prefix + each.decode() for each in some])
            for partition, items in zip(some, found, strict=True):
                for (_, sk), value in items.items():
                    yield (partition, sk[1:].encode()), value

    def close(self) -> None:
        """Release connections."""
        self._table.close()

    def _place(self, address: Address) -> Place:
        place = self._prefix + address[0].decode(), f"={address[1].decode()}"
        for text, longest in zip(place, _LONGEST, strict=True):
            size = len(text) if len(text) * 4 <= longest else len(text.encode())
            if size > longest:
                raise StoreError(
                    "a key is too long for DynamoDB",
                    detail=f"It has {size} bytes, the most is {longest}: {text[:80]}…",
                    hint="Keep the state in another store.",
                )
        return place


def dynamodb_store(options: Mapping[str, object], place: SolutionPlace) -> DynamoStore:
    """Make the store `{store: dynamodb, url: …, prefix: …}`.

    The table is `<prefix>-<query>`; without `url` it is in the environment's region.
    """
    check_options("dynamodb", options, ("url", "prefix"))
    name = f"{options.get('prefix') or 'joinery'}-{place.query}"
    client = open_client(str(options.get("url") or ""), "")
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
