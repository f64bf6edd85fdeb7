"""What a log of MySQL or MariaDB told of tables: the connector notes it beside the change files.

A table that is dropped takes its rows with it, and the log tells of none of them; one that is made
anew under its name begins without them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HISTORY = "schema-history.jsonl"


def dropped_since(file: Path, start: int | None) -> tuple[frozenset[str], int]:
    """Return the tables that a log told were dropped, after a place in a history.

    What the connector notes as it reads the tables at first is no change of them.

    Args:
        file: The history.
        start: So many bytes of it were looked at; None where all that it has counts as such.

    Returns:
        The tables, as database.table, and how many bytes have been looked at now.
    """
    if not file.is_file():
        return frozenset(), 0
    if start is None:
        return frozenset(), file.stat().st_size
    with file.open("rb") as history:
        history.seek(start)
        whole, end, _ = history.read().rpartition(b"\n")
    found = {table for line in whole.splitlines() for table in _dropped(json.loads(line))}
    return frozenset(found), start + len(whole) + len(end)


def _dropped(noted: Mapping[str, Any]) -> list[str]:
    """Return the tables that a statement drops.

    Example:
        >>> _dropped({"position": {}, "tableChanges": [{"type": "DROP", "id": '"shop"."order"'}]})
        ['shop.order']
    """
    if noted["position"].get("snapshot"):
        return []
    changes = noted.get("tableChanges") or ()
    return [_named(each["id"]) for each in changes if each["type"] == "DROP"]


def _named(quoted: str) -> str:
    """Return a table as it is named here.

    Example:
        >>> _named('"shop"."my ""own"" order"')
        'shop.my "own" order'
    """
    schema, _, table = quoted.partition('"."')
    return f"{schema[1:]}.{table[:-1]}".replace('""', '"')
