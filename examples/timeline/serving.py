"""The table of the sink, read for the page and for the comparison at the end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from examples.timeline.network import NAMES

_SHOWN = 4


class Timelines:
    """What `timelines.db` holds; before the first batch, nothing."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def documents(self) -> dict[int, Mapping[str, Any]]:
        """Return the timelines by user."""
        if not self._file.exists():
            return {}
        with closing(sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True)) as database:
            try:
                rows = database.execute("select id, document from timeline order by id").fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return {}
                raise
        return {user: json.loads(document) for user, document in rows}

    def shown(self) -> dict[str, Any]:
        """Return what the page shows: the fullest timelines, and who is in none of them."""
        documents = self.documents()
        fullest = sorted(documents, key=lambda user: (-documents[user]["posts_total"], user))
        hot = sorted({each for one in documents.values() for each in one["posts_hot"]})
        return {
            "users": len(documents),
            "hot": [NAMES[each - 1] for each in hot],
            "timelines": [
                {
                    **documents[user],
                    "posts_hot": [NAMES[e - 1] for e in documents[user]["posts_hot"]],
                }
                for user in sorted(fullest[:_SHOWN])
            ],
        }
