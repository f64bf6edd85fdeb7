"""What a log of MySQL or MariaDB told of tables: the connector notes it beside the change files.

A table that is dropped takes its rows with it, and the log tells of none of them; one that is made
again under its name begins without them, and one that is renamed to its name has others. The rows
of a partition go the same way, or are swapped with those of a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

HISTORY = "schema-history.jsonl"

_NAME = r"(`(?:[^`]|``)+`|[^\s`.(,;]+)"
# The connector understands nothing of it.
_REPLACES = re.compile(
    rf"\s*create\s+or\s+replace\s+table\s+{_NAME}(?:\s*\.\s*{_NAME})?", re.IGNORECASE
)
_EMPTIES = re.compile(r"\b(drop|truncate|convert)\s+partition\b", re.IGNORECASE)
_SWAPS = re.compile(
    rf"\bexchange\s+partition\s+{_NAME}\s+with\s+table\s+{_NAME}(?:\s*\.\s*{_NAME})?",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Noted:
    """What a log told of tables.

    Attributes:
        gone: What became of tables whose rows are others now, or none, by database.table.
        emptied: Those that lost the rows of partitions, and by what: drop, truncate and so on.
        swapped: Those that gave rows to another one and have its rows, by exchange partition.
        looked_at: How many bytes of the history have been looked at by now.
    """

    gone: Mapping[str, str]
    emptied: Mapping[str, str]
    swapped: frozenset[str]
    looked_at: int


def noted_since(file: Path, start: int | None) -> Noted:
    """Return what a log told of tables, after a place in a history.

    What the connector notes as it reads the tables at first is not a change of them.

    Args:
        file: The history.
        start: How many bytes of it were looked at; None where all that it has counts as such.
    """
    if not file.is_file():
        return Noted({}, {}, frozenset(), 0)
    if start is None:
        return Noted({}, {}, frozenset(), file.stat().st_size)
    with file.open("rb") as history:
        history.seek(start)
        whole, end, _ = history.read().rpartition(b"\n")
    followed = [each for each in map(json.loads, whole.splitlines()) if _is_followed(each)]
    return Noted(
        dict(chain.from_iterable(map(_gone, followed))),
        dict(chain.from_iterable(map(_emptied, followed))),
        frozenset(chain.from_iterable(map(_swapped, followed))),
        start + len(whole) + len(end),
    )


def _is_followed(noted: Mapping[str, Any]) -> bool:
    return not noted["position"].get("snapshot")


def _gone(noted: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the tables that a statement drops, renames or makes again, and which of these.

    Example:
        >>> drop = {"tableChanges": [{"type": "DROP", "id": '"shop"."order"'}]}
        >>> rename = {"tableChanges": [{"type": "ALTER", "id": '"a"."c"', "previousId": '"a"."b"'}]}
        >>> again = {"ddl": "create or replace table `order` (id int)", "databaseName": "shop"}
        >>> dict(_gone(drop)), dict(_gone(again))
        ({'shop.order': 'dropped'}, {'shop.order': 'replaced'})
        >>> dict(_gone(rename))
        {'a.c': 'renamed', 'a.b': 'renamed'}
    """
    for each in noted.get("tableChanges") or ():
        before = each.get("previousId")
        if each["type"] == "DROP":
            yield _named(each["id"]), "dropped"
        elif before and before != each["id"]:
            yield from ((_named(table), "renamed") for table in (each["id"], before))
    if made := _REPLACES.match(_statement(noted)):
        yield _written(noted, made[1], made[2]), "replaced"


def _emptied(noted: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the tables that a statement empties in part, and how."""
    found = _EMPTIES.search(_statement(noted))
    if found is not None:
        for each in noted.get("tableChanges") or ():
            yield _named(each["id"]), found[1].lower()


def _swapped(noted: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tables between which a statement swaps the rows of a partition.

    Example:
        >>> ddl = "alter table sale exchange partition old with table `archive` . sold"
        >>> altered = [{"type": "ALTER", "id": '"shop"."sale"'}]
        >>> list(_swapped({"ddl": ddl, "databaseName": "shop", "tableChanges": altered}))
        ['shop.sale', 'archive.sold']
        >>> list(_swapped({"ddl": ddl.replace("`archive` . ", ""), "databaseName": "shop"}))
        ['shop.sold']
    """
    if found := _SWAPS.search(_statement(noted)):
        yield from (_named(each["id"]) for each in noted.get("tableChanges") or ())
        yield _written(noted, found[2], found[3])


def _statement(noted: Mapping[str, Any]) -> str:
    return _COMMENT.sub(" ", noted.get("ddl") or "")


def _written(noted: Mapping[str, Any], first: str, second: str | None) -> str:
    """Return a table of a statement, which may name its database before it."""
    schema, table = (first, second) if second else (noted.get("databaseName") or "", first)
    return f"{_plain(schema)}.{_plain(table)}"


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _named(quoted: str) -> str:
    """Return a table as it is named here.

    Example:
        >>> _named('"shop"."my ""own"" order"')
        'shop.my "own" order'
    """
    schema, _, table = quoted.partition('"."')
    return f"{schema[1:]}.{table[:-1]}".replace('""', '"')
