"""One DynamoDB table: many items read, written and queried in as few requests as it takes.

An item has a partition key `pk`, a sort key `sk`, its `value`, and the attributes of the
indexes it is in. A value too large for one item is cut into parts, which stand under `PART#…`;
the item then tells which they are. Parts are written before the item that tells of them, and
removed once it does so no more.

What DynamoDB leaves undone is asked for again, after a random wait that may double each time.

Limits: parts that a crash leaves behind stay; nobody reads them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar
from uuid import uuid4

from joinery.clients.dynamodb import DynamoError, ask
from joinery.retry import Patience
from joinery.slices import slices
from joinery.solutions.key_value.dynamodb_usage import Usage
from joinery.solutions.stored.state import StoreError, StoreFencedError, StoreUnavailableError


def store_error(error: DynamoError) -> StoreError:
    """Return a failure as one of a store."""
    kind = StoreUnavailableError if error.passing else StoreError
    return kind(error.message, detail=error.detail, hint=error.hint)


Place = tuple[str, str]
"""The partition key and the sort key of an item."""

A = TypeVar("A")
B = TypeVar("B")
_READ_AT_ONCE = 100
_WRITTEN_AT_ONCE = 25
_BYTES_A_REQUEST = 12 << 20
_BYTES_A_VALUE = 350_000
_TRIES = 14
_BUSY = Patience(first_s=0.05, longest_s=10.0)
_RAISE_CAPACITY = "Raise the table's capacity, or make it on-demand."


@dataclass(frozen=True, slots=True)
class Item:
    """What stands at a place: a value, and the attributes of the indexes it is in."""

    value: bytes
    slots: Mapping[str, str] = field(default_factory=dict)


class DynamoTable:
    """The items of a table that is there.

    Args:
        client: See `open_dynamodb`.
        name: The table's.
        threads: How many requests are under way at a time.
        pause: Waits for a number of seconds.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        threads: int = 8,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.usage = Usage()
        self._client = client
        self._name = name
        self._pause = pause
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="joinery-dynamodb")
        self._at_once = threads
        self._fence: tuple[Place, bytes] | None = None
        self._parts: dict[Place, list[Place]] = {}

    def guard(self, place: Place, value: bytes) -> None:
        """Write on only while `value` stands at a place: a run that takes over puts another there.

        That is looked at between the requests of one `put`, a few at a time, since each takes up
        to 25 items; before the first of them the caller looks.
        """
        self._fence = place, value

    def get(self, places: Iterable[Place]) -> dict[Place, bytes]:
        """Return the values that stand at some places now; empty places are left out."""
        found: dict[Place, Any] = {}
        for some in self._together(self._read, slices(dict.fromkeys(places), _READ_AT_ONCE)):
            found.update(some)
        return self._whole(found)

    def put(self, items: Mapping[Place, Item | None]) -> None:
        """Put items in place of what stands at their places; None removes one."""
        written: dict[Place, Any] = {}
        parts: dict[Place, Any] = {}
        former = [part for place in items for part in self._parts.pop(place, ())]
        for place, item in items.items():
            written[place] = None if item is None else _whole_item(place, item)
            if item is not None and len(item.value) > _BYTES_A_VALUE:
                written[place], below = _cut(place, item)
                parts.update(below)
                self._parts[place] = list(below)
        steps = (parts, written, dict.fromkeys(former))
        together = (some for each in steps for some in slices(_requests(each), self._at_once))
        for number, some in enumerate(together):
            if number > 0:
                self._check_fence()
            self._together(self._write, some)

    def put_if(self, place: Place, value: bytes, before: bytes | None) -> bool:
        """Put a value where `before` stands, or where nothing does; return whether it did."""
        request = {"TableName": self._name, "Item": _whole_item(place, Item(value))}
        request["ConditionExpression"] = "attribute_not_exists(pk)"
        if before is not None:
            request["ConditionExpression"] = "#v = :before"
            request["ExpressionAttributeNames"] = {"#v": "value"}
            request["ExpressionAttributeValues"] = {":before": _attribute(before)}
        try:
            self._ask("PutItem", request)
        except DynamoError as refused:
            if refused.reason != "ConditionalCheckFailedException":
                raise store_error(refused) from refused
            return False
        return True

    def partitions(self, pks: Sequence[str]) -> list[dict[Place, bytes]]:
        """Return all values under each partition key."""
        return [self._whole(each) for each in self._together(self._partition, pks)]

    def indexed(self, slot: str, values: Sequence[str]) -> list[dict[Place, bytes]]:
        """Return what each value of an index finds, as it stood a moment ago.

        A value whose parts have been replaced since is left out.
        """

        def query(value: str) -> dict[Place, Any]:
            return self._query(IndexName=slot, condition=slot, value=value)

        found = self._together(query, values)
        return [self._known(*self._taken(each)) for each in found]

    def close(self) -> None:
        """Release connections."""
        self._threads.shutdown()
        self._client.close()

    def _partition(self, pk: str) -> dict[Place, Any]:
        return self._query(condition="pk", value=pk, ConsistentRead=True)

    def _query(self, *, condition: str, value: str, **more: Any) -> dict[Place, Any]:
        request = {
            "TableName": self._name,
            "KeyConditionExpression": "#k = :v",
            "ExpressionAttributeNames": {"#k": condition},
            "ExpressionAttributeValues": {":v": {"S": value}},
            **more,
        }
        found: dict[Place, Any] = {}
        while True:
            answer = self._patiently("Query", request)
            found.update({_place(each): each for each in answer["Items"]})
            if not answer.get("LastEvaluatedKey"):
                return found
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _read(self, places: Sequence[Place]) -> dict[Place, Any]:
        asked: Any = {
            self._name: {"Keys": [_key(place) for place in places], "ConsistentRead": True}
        }
        found: dict[Place, Any] = {}
        for attempt in range(_TRIES):
            answer = self._patiently("BatchGetItem", {"RequestItems": asked}, again=attempt > 0)
            items = answer["Responses"].get(self._name, ())
            found.update({_place(each): each for each in items})
            asked = answer.get("UnprocessedKeys")
            if not asked:
                return found
            self._wait(0 if items else attempt)
        raise StoreUnavailableError("DynamoDB left items unread", hint=_RAISE_CAPACITY)

    def _write(self, requests: Sequence[Mapping[str, Any]]) -> None:
        asked: Any = {self._name: list(requests)}
        for attempt in range(_TRIES):
            answer = self._patiently("BatchWriteItem", {"RequestItems": asked}, again=attempt > 0)
            left = answer.get("UnprocessedItems")
            if not left:
                return
            progress = len(left[self._name]) < len(asked[self._name])
            asked = left
            self._wait(0 if progress else attempt)
        raise StoreUnavailableError("DynamoDB left items unwritten", hint=_RAISE_CAPACITY)

    def _patiently(self, operation: str, request: Mapping[str, Any], *, again: bool = False) -> Any:
        """Ask, and ask again while DynamoDB is busy."""
        for attempt in range(_TRIES):
            try:
                return self._ask(operation, request, again=again or attempt > 0)
            except DynamoError as error:
                if not error.busy or attempt == _TRIES - 1:
                    raise store_error(error) from error
                self._wait(attempt)
        raise AssertionError("the last try returns or raises")

    def _ask(self, operation: str, request: Mapping[str, Any], *, again: bool = False) -> Any:
        answer = ask(
            self._client, _METHODS[operation], {**request, "ReturnConsumedCapacity": "TOTAL"}
        )
        self.usage.count(operation, answer.get("ConsumedCapacity"), again=again)
        return answer

    def _wait(self, attempt: int) -> None:
        self._pause(_BUSY.wait_s(attempt + 1))

    def _together(self, act: Callable[[A], B], many: Iterable[A]) -> list[B]:
        return list(self._threads.map(act, list(many)))

    def _whole(self, found: Mapping[Place, Any]) -> dict[Place, bytes]:
        """Return the values of items, those in parts put together."""
        values, below = self._taken(found)
        self._parts.update(below)
        whole = self._known(values, below)
        if len(whole) < len(found):
            self._check_fence()
            raise StoreError(
                f'table "{self._name}" of DynamoDB lacks parts of a value',
                hint="Restore the table, or run with --rebuild.",
            )
        return whole

    def _check_fence(self) -> None:
        """Refuse to go on once another run has taken over."""
        if self._fence is None:
            return
        place, value = self._fence
        if self.get([place]).get(place, value) != value:
            raise taken_over()

    def _taken(
        self, found: Mapping[Place, Any]
    ) -> tuple[dict[Place, bytes], dict[Place, list[Place]]]:
        """Return the values of items, and where the parts are of those that are in parts."""
        below = {place: _below(place, item) for place, item in found.items() if "parts" in item}
        values = {place: _bytes(item) for place, item in found.items() if place not in below}
        return values, below

    def _known(
        self, values: dict[Place, bytes], below: Mapping[Place, list[Place]]
    ) -> dict[Place, bytes]:
        """Return values with those in parts, of which all parts are there."""
        if not below:
            return values
        parts = self.get(part for each in below.values() for part in each)
        joined = {
            place: b"".join(parts[part] for part in each)
            for place, each in below.items()
            if all(part in parts for part in each)
        }
        return values | joined


def taken_over() -> StoreFencedError:
    """Return the error of a run in whose place another one writes."""
    return StoreFencedError("another run has taken over the table", hint="Stop one of the two.")


_METHODS = {
    "BatchGetItem": "batch_get_item",
    "BatchWriteItem": "batch_write_item",
    "PutItem": "put_item",
    "Query": "query",
}


def shortened(text: str, most: int) -> str:
    """Return a text that DynamoDB takes as a key: the end of a long one becomes its hash.

    Args:
        text: Of a partition or sort key.
        most: How many bytes it may have.
    """
    if len(text) * 4 <= most or len(text.encode()) <= most:
        return text
    return f"{text[: most // 8]}#{sha256(text.encode()).hexdigest()}"


def _cut(place: Place, item: Item) -> tuple[dict[str, Any], dict[Place, Any]]:
    """Return an item that tells of parts, and the parts."""
    pieces = range(0, len(item.value), _BYTES_A_VALUE)
    pointer = f"{uuid4().hex[:12]} {len(pieces)}"
    whole = _whole_item(place, Item(b"", item.slots))
    whole["parts"] = {"S": pointer}
    values = [item.value[start : start + _BYTES_A_VALUE] for start in pieces]
    places = _part_places(place, pointer)
    return whole, {
        at: _whole_item(at, Item(value)) for at, value in zip(places, values, strict=True)
    }


def _below(place: Place, item: Mapping[str, Any]) -> list[Place]:
    return _part_places(place, item["parts"]["S"])


def _part_places(place: Place, pointer: str) -> list[Place]:
    name, _, size = pointer.partition(" ")
    return [(f"PART#{name}", str(at)) for at in range(int(size))]


def _requests(written: Mapping[Place, Any]) -> Iterable[list[Mapping[str, Any]]]:
    """Yield requests to write, none with too many items or bytes."""
    some: list[Mapping[str, Any]] = []
    size = 0
    for place, item in written.items():
        deleted = {"DeleteRequest": {"Key": _key(place)}}
        some.append(deleted if item is None else {"PutRequest": {"Item": item}})
        size += 0 if item is None else len(_bytes(item))
        if len(some) == _WRITTEN_AT_ONCE or size > _BYTES_A_REQUEST:
            yield some
            some, size = [], 0
    if some:
        yield some


def _whole_item(place: Place, item: Item) -> dict[str, Any]:
    slots = {slot: {"S": value} for slot, value in item.slots.items()}
    return {**_key(place), "value": _attribute(item.value), **slots}


def _attribute(value: bytes) -> dict[str, Any]:
    """Return a value as text where it is one, so that people can read it."""
    try:
        return {"S": value.decode()}
    except UnicodeDecodeError:
        return {"B": value}


def _bytes(item: Mapping[str, Any]) -> bytes:
    value = item["value"]
    return str(value["S"]).encode() if "S" in value else bytes(value["B"])


def _key(place: Place) -> dict[str, Any]:
    return {"pk": {"S": place[0]}, "sk": {"S": place[1]}}


def _place(item: Mapping[str, Any]) -> Place:
    return item["pk"]["S"], item["sk"]["S"]
