"""Makes a DynamoDB table with generic indexes, or checks the one that is there.

Invariant: what exists is never removed, and a table of another shape is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from joinery.connect.dynamodb_link import DynamoError, ask
from joinery.solutions.key_value.dynamodb_failure import store_error
from joinery.solutions.store import StoreError

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


def table_stands(client: Any, name: str) -> bool:
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
            f'table "{name}" of DynamoDB has other keys',
            detail=f"It has {told}; needed are pk (HASH, S), sk (RANGE, S).",
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
