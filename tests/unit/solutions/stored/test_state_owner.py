"""Two projects that name the same place in a store do not take each other's join state."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from tests.sqlite_file import sqlite_file
from tests.unit.solutions.relational.products import FIRST, PRODUCT, SECOND, stored

from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.key_value.memory import MemoryStore
from joinery.solutions.key_value.state import KeyValueJoinState
from joinery.solutions.relational.sqlite import SqliteState
from joinery.solutions.stored.owner import OwnedError, Owner
from joinery.solutions.stored.state import Batch

OURS = Owner("shop, whose checkpoints are in /shop", "q")
THEIRS = Owner("fork, whose checkpoints are in /fork", "another")
NEW = Batch("another", 0, 1, 3_000_000)
ROWS = {(1,): stored({"id": 1, "name": "Ada"})}


def written(path: Path) -> SqliteState:
    state = SqliteState([PRODUCT], path, owner=OURS)
    state.begin(FIRST)
    state.write("user", ROWS)
    state.acknowledge(FIRST, {})
    return state


def test_tables_of_another_project_are_refused_with_one_line(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    state = written(path)

    with pytest.raises(OwnedError) as refused:
        SqliteState([PRODUCT], path, owner=THEIRS)

    error = pickle.loads(pickle.dumps(refused.value))
    assert f"p in {path} holds the join state of another project" == error.message
    assert "It belongs to shop, whose checkpoints are in /shop." == error.detail
    assert error.hint.startswith('Name another "database"')
    state.begin(SECOND)
    assert ROWS == state.rows("user", [(1,)])
    state.close()


def test_a_refused_project_leaves_no_table(tmp_path: Path) -> None:
    place = SolutionPlace(tmp_path, "p", owner=OURS)
    database = {"database": f"sqlite:///{tmp_path / 'shared.db'}"}
    open_solution("rdbms-store", [PRODUCT], database, place).close()
    with sqlite_file(tmp_path / "shared.db") as link:
        link.execute('DROP TABLE "p__star"')

    other = SolutionPlace(tmp_path, "p", owner=THEIRS)
    with pytest.raises(OwnedError):
        open_solution("rdbms-trigger", [PRODUCT], database, other)

    with sqlite_file(tmp_path / "shared.db") as link:
        assert [] == link.execute("PRAGMA table_info(p__star)").fetchall()


def test_a_project_that_was_moved_with_its_checkpoint_keeps_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    written(path).close()

    SqliteState([PRODUCT], path, owner=Owner("shop, moved", "q")).close()

    with pytest.raises(OwnedError):
        SqliteState([PRODUCT], path, owner=Owner("shop, whose checkpoints are in /shop 2"))


def test_a_project_that_begins_anew_takes_its_own_tables(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    written(path).close()
    again = SqliteState([PRODUCT], path, owner=Owner(OURS.project))

    assert not again.begin(NEW)
    assert {} == again.rows("user", [(1,)])
    again.close()


def test_tables_from_before_there_were_marks_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    SqliteState([PRODUCT], path).close()
    with sqlite_file(path) as link:
        link.execute("ALTER TABLE p__batch DROP COLUMN project")

    SqliteState([PRODUCT], path, owner=OURS).close()

    with pytest.raises(OwnedError):
        SqliteState([PRODUCT], path, owner=THEIRS)


def test_who_has_no_name_takes_only_what_nobody_marked(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    written(path).close()

    with pytest.raises(OwnedError):
        SqliteState([PRODUCT], path)


def test_entries_of_another_project_are_refused_before_a_batch() -> None:
    store = MemoryStore()
    state = KeyValueJoinState([PRODUCT], store, OURS)
    state.begin(FIRST)
    state.write("user", ROWS)
    state.acknowledge(FIRST, {})

    with pytest.raises(OwnedError, match="p in the store holds the join state of another project"):
        KeyValueJoinState([PRODUCT], store, THEIRS)
    state.begin(SECOND)
    assert ROWS == state.rows("user", [(1,)])


def test_who_marks_a_store_first_has_it() -> None:
    store = MemoryStore()
    first, second = (KeyValueJoinState([PRODUCT], store, each) for each in (OURS, THEIRS))
    first.begin(FIRST)

    with pytest.raises(OwnedError):
        second.begin(NEW)
