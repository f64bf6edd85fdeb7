"""Logs of views by the minute, and which of them are late by reading each log once."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

ALLOWED_S = 25
FILES, LINES = 4, 6_000
View = Mapping[str, Any]


def log_of(seed: int) -> list[list[View]]:
    """Return the views of each file: seconds that go on by and by, some of them far behind."""
    draw, views = random.Random(seed), list[list[View]]()
    for number in range(FILES):
        file = list[View]()
        for line in range(LINES):
            place = number * LINES + line
            behind = draw.choice([0, 0, 0, 3, 15]) if draw.random() < 0.98 else draw.randint(0, 90)
            seconds = place // 20 - behind
            at = None if draw.random() < 0.001 else 1_700_000_000 + seconds
            file.append({"id": place, "page": f"p{draw.randint(0, 20)}", "at": at})
        views.append(file)
    return views


def late_of(partition: Iterable[View]) -> Iterator[View]:
    """Yield the views of one partition that come late."""
    newest = None
    for view in partition:
        if view["at"] is None:
            continue
        if newest is not None and view["at"] < newest - ALLOWED_S:
            yield view
        newest = view["at"] if newest is None else max(newest, view["at"])


def minutes(views: Iterable[View]) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the number of views and the sum of their ids, by page and minute."""
    found = dict[tuple[str, int], tuple[int, int]]()
    for each in views:
        if each["at"] is not None:
            key = each["page"], each["at"] // 60 * 60
            count, ids = found.get(key, (0, 0))
            found[key] = count + 1, ids + each["id"]
    return found


def told(folder: Path) -> list[int]:
    """Return the ids of the views that dead letters tell as late."""
    files = (folder / ".joinery/dead_letters").rglob("*.jsonl")
    letters = [json.loads(line) for each in files for line in each.open(encoding="utf-8")]
    assert all(("late", "hours") == (each["reason"], each["product"]) for each in letters)
    return sorted(json.loads(each["value"])["id"] for each in letters)


def newest(folder: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """Return what stands in the sink, as `minutes` does."""
    lines = [
        json.loads(line) for file in (folder / "out/hours").glob("*.jsonl") for line in file.open()
    ]
    values = {json.dumps(each["key"]): each["value"] for each in sorted(lines, key=_version)}
    return {
        (each["page"], int(_seconds(each["window_start"]))): (each["n"], each["ids"])
        for each in values.values()
        if each is not None
    }


def _version(line: Mapping[str, Any]) -> int:
    return int(line["version"])


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
