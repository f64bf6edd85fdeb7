"""Sets of values in SQLite: as many as there are, found once each."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.solutions.relational.sqlite_database import found, insert_rows, open_database


@pytest.mark.parametrize("count", [0, 1, 250, 251, 1003])
def test_all_rows_are_inserted_whatever_their_number(tmp_path: Path, count: int) -> None:
    database = open_database(tmp_path / "state.db")
    database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    rows = [(each, f"row {each}") for each in range(count)]

    insert_rows(database, "INSERT INTO t", rows)
    insert_rows(database, "INSERT INTO t", rows, " ON CONFLICT (a) DO UPDATE SET b = 'again'")

    assert [(each, "again") for each in range(count)] == database.execute(
        "SELECT * FROM t ORDER BY a"
    ).fetchall()
    sought = [(each,) for each in range(1, count + 1)]
    assert [(each,) for each in range(1, count)] == sorted(
        found(database, "t", ["a"], sought, ["a"])
    )
    database.close()


def test_a_statement_takes_no_more_values_than_it_may(tmp_path: Path) -> None:
    database = open_database(tmp_path / "state.db")
    columns = [f"c{each}" for each in range(400)]
    database.execute(f"CREATE TABLE wide ({', '.join(columns)})")

    insert_rows(database, "INSERT INTO wide", [tuple(range(400))] * 300)

    assert [(300,)] == database.execute("SELECT count(*) FROM wide WHERE c399 = 399").fetchall()
    database.close()
