"""The tables of the sinks, read for the page and for the comparison at the end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

_SHOWN = 3
Rows = dict[int, Mapping[str, Any]]


class Views:
    """What `bank.db` holds; before the first batch, nothing."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def rows(self, view: str) -> Rows:
        """Return the rows of a view by their key."""
        if not self._file.exists():
            return {}
        with closing(sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True)) as database:
            try:
                # The key is the first column.
                rows = database.execute(f"select *, document from {view} order by 1").fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return {}
                raise
        return {row[0]: json.loads(row[-1]) for row in rows}

    def suspicious(self) -> list[int]:
        """Return the accounts that the fraud view warns of."""
        return [account for account, row in self.rows("fraud").items() if row["suspicious"]]

    def shown(self) -> dict[str, Any]:
        """Return what the page shows: all accounts, and the statements of some suspicious ones."""
        accounts, statements = self.rows("account"), self.rows("statement")
        suspicious, transfers = self.suspicious(), self.rows("transfer")
        return {
            "accounts": [
                {**row, "suspicious": account in suspicious} for account, row in accounts.items()
            ],
            "transfers": len(transfers),
            "open": sum(not row["settled"] for row in transfers.values()),
            "statements": [statements[each] for each in suspicious[:_SHOWN] if each in statements],
        }
