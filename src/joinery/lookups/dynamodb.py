"""The lookup store dynamodb: items of one table, by `BatchGetItem`.

The table's partition and sort key are the relation's key columns, under their own names.
Reads are eventually consistent unless `consistent: true`, which costs twice the capacity.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from joinery.errors import needs_extra
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupTable,
    LookupUnavailableError,
)
from joinery.lookups.value import RowReader, answers_of, json_value
from joinery.project.option import Target, flag, options, text
from joinery.retry import Patience

_MOST_KEYS = 100
_TRIES = 6
_BUSY = Patience(first_s=0.05)
_LONGEST = {"HASH": 2_048, "RANGE": 1_024}
"""How many bytes a key's attribute may have."""
_PASSING = (
    "InternalServerError",
    "ItemCollectionSizeLimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ResourceNotFoundException",
    "ServiceUnavailable",
    "ThrottlingException",
)


class DynamoStore:
    """Reads up to a hundred items by one request."""

    most_keys: int | None = _MOST_KEYS

    def __init__(
        self, table: LookupTable, name: str, *, consistent: bool, place: Mapping[str, str]
    ) -> None:
        self._table = table
        self._name = name
        self._consistent = consistent
        self._place = dict(place)
        self._key = RowReader(table.key)
        self._rows = RowReader(table.columns)
        self._client: Any = None
        self._longest: Sequence[int] = ()
        self.target = f'dynamodb {place.get("endpoint_url", "")}, table "{name}"'.replace(" ,", ",")

    def open(self) -> None:
        """Connect, and see that the table is there."""
        self._client = self._call(partial(_driver().client, "dynamodb", **self._place))
        told = self._call(lambda: self._client.describe_table(TableName=self._name))
        kinds = {each["AttributeName"]: each["KeyType"] for each in told["Table"]["KeySchema"]}
        self._longest = [_LONGEST.get(kinds.get(each.name, ""), 0) for each in self._table.key]

    def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
        """Return the rows of `keys`; keys that the table did not process are requested again.

        A key that no item can have, such as an empty text, has no row.
        """
        from boto3.dynamodb.types import TypeDeserializer

        if self._client is None:
            raise LookupStoreError(f"{self.target} is not open")
        if not (held := [key for key in keys if self._may_stand(key)]):
            return {}
        read = TypeDeserializer().deserialize
        asked: Mapping[str, Any] = {self._name: self._request(held)}
        items: list[dict[str, Any]] = []
        for attempt in range(1, _TRIES + 1):
            given = self._call(lambda asked=asked: self._client.batch_get_item(RequestItems=asked))
            items += (
                {name: read(value) for name, value in item.items()}
                for item in given["Responses"].get(self._name, ())
            )
            asked = given.get("UnprocessedKeys") or {}
            if not asked:
                return answers_of(self._key, self._rows, items)
            time.sleep(_BUSY.wait_s(attempt))
        raise LookupUnavailableError(
            f"could not read from {self.target}",
            detail="It left keys unread in request after request.",
            hint="Raise the table's capacity, or set limits.",
        )

    def close(self) -> None:
        """Release connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _may_stand(self, key: Key) -> bool:
        """Return whether an item can have a key; a request with one that none can have fails."""
        return all(_fits(value, longest) for value, longest in zip(key, self._longest, strict=True))

    def _request(self, keys: Sequence[Key]) -> dict[str, Any]:
        wanted = dict.fromkeys(each.name for each in (*self._table.key, *self._table.columns))
        names = {f"#c{place}": name for place, name in enumerate(wanted)}
        return {
            "Keys": [
                {
                    each.name: _attribute(value)
                    for each, value in zip(self._table.key, key, strict=True)
                }
                for key in keys
            ],
            "ConsistentRead": self._consistent,
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": names,
        }

    def _call(self, ask: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return ask()
        except ClientError as error:
            told = error.response.get("Error", {})
            raise self._told(told.get("Code", ""), str(told.get("Message", error))) from error
        except (BotoCoreError, ValueError) as error:  # the latter of an address that is none
            raise self._told("ServiceUnavailable" if _network(error) else "", str(error)) from error

    def _told(self, code: str, detail: str) -> LookupStoreError:
        passes = code in _PASSING
        kind = LookupUnavailableError if passes else LookupStoreError
        hint = "Check the table, the region, and the credentials' permissions."
        return kind(
            f"could not read from {self.target}", detail=f"{detail.rstrip('.')}.", hint=hint
        )


@options
class DynamoOptions:
    """`{dynamodb: {table: …}}`; the table is the relation's name."""

    table: str = text("The table; by default the relation's name.", default="")
    region: str = text("The region; by default that of the environment.", default="")
    endpoint: str = text("The address of DynamoDB; by default the region's own.", default="")
    consistent: bool = flag("Read consistently.", default=False)

    def make(self, table: LookupTable, folder: Path) -> DynamoStore:
        """Return the store of a table."""
        named = {"region_name": self.region, "endpoint_url": self.endpoint}
        return DynamoStore(
            table,
            self.table or table.name,
            consistent=self.consistent,
            place={name: value for name, value in named.items() if value},
        )

    def target(self, relation: str, folder: Path) -> Target:
        """Return the table."""
        return Target("dynamodb", (self.endpoint, self.region), self.table or relation)


def _attribute(value: object) -> dict[str, object]:
    """Return a key's value as DynamoDB takes it: text, number or binary."""
    if isinstance(value, bytes):
        return {"B": value}
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return {"N": str(value)}
    return {"S": str(json_value(value) if isinstance(value, date) else value)}


def _fits(value: object, longest: int) -> bool:
    """Return whether a value may be a key's attribute, which has at most `longest` bytes."""
    (told,) = _attribute(value).values()
    if isinstance(value, float) and not _is_number(value):
        return False
    size = len(told if isinstance(told, bytes) else str(told).encode())
    return not longest or 0 < size <= longest


def _is_number(value: float) -> bool:
    """Return whether DynamoDB has a number: zero, and those from 1e-130 to below 1e126.

    Example:
        >>> [_is_number(each) for each in (0.0, -2.5, 1e200, float("nan"))]
        [True, True, False, False]
    """
    return value == 0 or 1e-130 <= abs(value) < 1e126


def _network(error: Exception) -> bool:
    from botocore.exceptions import ConnectionError, HTTPClientError

    return isinstance(error, ConnectionError | HTTPClientError)


def _driver() -> Any:
    message = 'lookup store "dynamodb" needs the package boto3'
    with needs_extra("dynamodb", message, LookupStoreError):
        import boto3
    return boto3
