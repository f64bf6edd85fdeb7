"""The tables of the sink, read for the page and for the comparison at the end."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

_SECONDS_SHOWN = 60


class Traffic:
    """What `traffic.db` holds; before the first views, nothing."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: dict[str, int] = {}

    def select(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Return the rows of a query; none where its table is not there yet."""
        if not self._file.exists():
            return []
        with closing(sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            try:
                return [dict(row) for row in database.execute(query, values)]
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return []
                raise

    def shown(self) -> dict[str, Any]:
        """Return what the page shows."""
        seconds = self._seconds()
        visits = self.select("select count(*) as visits, avg(views) as views from visits")
        return {
            "seconds": seconds,
            "pages": self.select("select * from pages order by views desc"),
            "trend": self.select("select * from trend order by window_start desc limit 6"),
            "visits": visits[0] if visits else {"visits": 0, "views": None},
            "longest": self._longest(),
        }

    def views(self) -> dict[int, int]:
        """Return the requests of each second."""
        rows = self.select("select window_start, requests from seconds")
        return {_second(row["window_start"]): row["requests"] for row in rows}

    def visitors(self) -> dict[int, int]:
        """Return how many visitors were there in each ten seconds."""
        rows = self.select("select window_start, visitors from steps")
        return {_second(row["window_start"]): row["visitors"] for row in rows}

    def _seconds(self) -> Sequence[dict[str, Any]]:
        """Return the last minute, each second with how many views it had when first seen."""
        rows = self.select(
            "select * from seconds order by window_start desc limit ?", _SECONDS_SHOWN
        )[::-1]
        for row in rows[:-2]:  # the newest two still fill up
            self._seen.setdefault(row["window_start"], row["requests"])
        return [
            {**row, "first": self._seen.get(row["window_start"], row["requests"])} for row in rows
        ]

    def _longest(self) -> list[dict[str, Any]]:
        rows = self.select(
            "select visitor, window_start, last_at, views from visits"
            " order by julianday(last_at) - julianday(window_start) desc limit 5"
        )
        for row in rows:
            spent = _moment(row["last_at"]) - _moment(row.pop("window_start"))
            row["seconds"] = round(spent.total_seconds(), 1)
            del row["last_at"]
        return rows


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _second(text: str) -> int:
    return int(_moment(text).timestamp())
