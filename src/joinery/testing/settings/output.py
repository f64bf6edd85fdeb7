"""What a run left in its folder: the documents that stand, and the rows that it reported late."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_DECODER = json.JSONDecoder()

Documents = Mapping[str, str]
"""The documents of one product: the JSON text of a value by that of its key."""


def newest_documents(folder: Path) -> Documents:
    """Return what stands in a folder of the sink `files`: the highest version of each key."""
    lines: dict[str, tuple[int, str]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        with file.open(encoding="utf-8") as told:
            for line in told:
                key, value, version = _parts(line)
                if version >= lines.get(key, (0, ""))[0]:
                    lines[key] = version, value
    return {key: value for key, (_, value) in lines.items() if value != "null"}


def _parts(line: str) -> tuple[str, str, int]:
    """Return the texts of a line's key and value as they were written, and its version."""
    start = len('{"key":')
    _, end = _DECODER.raw_decode(line, start)
    value = end + len(',"value":')
    _, stop = _DECODER.raw_decode(line, value)
    return (
        line[start:end],
        line[value:stop],
        int(line[stop + len(',"version":') : line.rindex("}")]),
    )


def late_text(key: str, behind_s: float) -> str:
    """Return what is compared of a late row that has a key: as JSON, and how late it was."""
    return f"{key} is {behind_s:.6f} s late"


def rows_reported_late(folder: Path) -> Mapping[str, list[str]]:
    """Return the rows that a folder of dead letters tells late, by product.

    A row that is told twice at one place counts once. Rows that change have no place: of them it
    is the key with how late they were, each once.
    """
    told: dict[tuple[Any, ...], tuple[str, str]] = {}
    for file in folder.rglob("*.jsonl"):
        with file.open(encoding="utf-8") as lines:
            for letter in map(json.loads, lines):
                at = [letter.get(each) for each in ("file", "line", "partition", "offset")]
                if letter["reason"] == "late" and "relation" in letter:
                    name, key = str(letter["product"]), str(letter["key"])
                    behind = float(letter["detail"].split()[3])
                    told[name, key, behind] = name, late_text(key, behind)
                elif letter["reason"] == "late":
                    name = str(letter["product"])
                    told[name, letter["topic"], *at] = name, str(letter["value"])
    found = defaultdict[str, list[str]](list)
    for name, value in told.values():
        found[name].append(value)
    return found
