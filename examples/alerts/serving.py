"""Saved searches with their matches, the last notifications, and why a search cannot be read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.sent import SHOWN, Sent, Standing

Match = tuple[int, int]
"""The ids of a search and a listing."""


class Alerts:
    """Who is told of what, and which searches could not be read.

    Args:
        sent: What the product's sink was sent.
        letters: The folder with its dead letters.
    """

    def __init__(self, sent: Sent, letters: Path) -> None:
        self._standing, self._letters = Standing(sent), letters
        self.counts = self._standing.counts

    def matches(self) -> dict[Match, Mapping[str, Any]]:
        """Return the matches that stand."""
        rows = self._standing.rows()
        return {(key["query"]["id"], key["document"]["id"]): value for key, value in rows}

    def broken(self) -> dict[int, tuple[str, str]]:
        """Return when and why searches could not be read, the newest of each by its id."""
        found = dict[int, tuple[str, str]]()
        for file in sorted(self._letters.rglob("*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                letter = json.loads(line)
                if letter.get("reason") == "query_broken":
                    told = letter["time"], letter["detail"]
                    id = json.loads(letter["key"])["query"]["id"]
                    found[id] = max(told, found.get(id, told))
        return found

    def shown(self, searches: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        """Return what the page shows of the searches that stand: yours, then the newest."""
        matches, broken = self.matches(), self.broken()
        counted = Counter(search for search, _ in matches)
        told = [
            {**row, "matches": counted[id], "broken": _reason(row, broken.get(id))}
            for id, row in searches.items()
        ]
        told.sort(key=lambda each: (each["person"] != "you", -each["id"]))
        return {
            "searches": told[:SHOWN],
            "standing": len(searches),
            "matches": len(matches),
            "news": list(self._standing.last),
        }


def _reason(row: Mapping[str, Any], letter: tuple[str, str] | None) -> str | None:
    """Return why a search cannot be read as it is now; a letter may be about what it was."""
    return None if letter is None or letter[0] < row["at"] else letter[1]
