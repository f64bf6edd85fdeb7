from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal as D
from pathlib import Path

import pytest
from tests.sqlite_file import sqlite_file
from tests.unit.solutions.relational.products import (
    FIRST,
    PRODUCT,
    SECOND,
    STAR,
    USER,
    VALUES,
    product,
    relation,
    stored,
)

from joinery.model.progress import Waiting
from joinery.model.type import (
    INT,
    LONG,
    DataType,
    Field,
)
from joinery.retry import Patience
from joinery.semantics.document import SentDocument
from joinery.solutions.relational.sqlite import SqliteState
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.patient import PatientSolution
from joinery.solutions.stored.state import (
    Batch,
    Emitted,
    StoreBehindError,
    StoreError,
    StoreFencedError,
    StoreUnavailableError,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "state.db"


@pytest.fixture
def state(path: Path) -> Iterator[SqliteState]:
    opened = SqliteState([PRODUCT], path)
    opened.begin(FIRST)
    yield opened
    opened.close()


def test_rows_come_back_as_they_were_written(state: SqliteState) -> None:
    rows = {
        (1,): stored({"id": 1, "name": "a"}),
        (2,): stored({"id": 2, "name": None}, visible=False),
        (3,): stored(None),
    }
    state.write("user", rows)

    assert rows == state.rows("user", [(1,), (2,), (3,), (4,)])


def test_a_row_is_found_by_its_join_value_while_it_is_visible(state: SqliteState) -> None:
    one, two = {"user_id": 1, "repo": "a"}, {"user_id": 1, "repo": "b"}
    state.write("star", {("a", 1): stored(one), ("b", 1): stored(two, visible=False)})
    state.write("star", {("c", 1): stored({"user_id": 1, "repo": "c"})})
    state.write("star", {("c", 1): stored(None)})

    assert [one] == state.matching("star", ("user_id",), [(1,), (2,)])


def test_a_join_value_of_another_type_is_equal_by_value(state: SqliteState) -> None:
    row = {"user_id": 5, "repo": "a"}
    state.write("star", {("a", 5): stored(row)})

    assert [row] == state.matching("star", ("user_id",), [(D("5.00"),), (D("5.5"),), (1 << 70,)])


def test_a_batch_that_was_not_acknowledged_left_nothing(state: SqliteState, path: Path) -> None:
    state.write("user", {(1,): stored({"id": 1, "name": "a"})})
    state.close()
    again = SqliteState([PRODUCT], path)

    assert not again.begin(FIRST)
    assert {} == again.rows("user", [(1,)])
    assert {} == again.pending()


def test_a_batch_that_was_acknowledged_tells_what_it_sent(state: SqliteState, path: Path) -> None:
    done = {"p": Emitted({(2,): SentDocument("{}", 9), (1,): SentDocument(None, 8)})}
    state.acknowledge(FIRST, done)
    state.close()
    again = SqliteState([PRODUCT], path)

    assert again.begin(FIRST)
    assert done == again.emitted(FIRST)
    assert [(2,), (1,)] == list(again.emitted(FIRST)["p"].documents)
    assert not again.begin(SECOND)
    assert {(2,): SentDocument("{}", 9)} == again.sent("p", [(2,), (3,)])


def test_a_dead_letter_is_told_again_and_the_last_good_document_stays(state: SqliteState) -> None:
    failing = SentDocument("{}", 8, failing=True)
    emitted = Emitted({}, {(1,): ("overflow", "More.")}, {(1,): failing})
    state.acknowledge(FIRST, {"p": emitted})

    assert state.begin(FIRST)
    assert {(1,): ("overflow", "More.")} == state.emitted(FIRST)["p"].dead
    assert {(1,): failing} == state.sent("p", [(1,)])


def test_a_replaced_run_is_refused_for_good(state: SqliteState, path: Path) -> None:
    state.acknowledge(FIRST, {})
    newer = SqliteState([PRODUCT], path)
    newer.begin(Batch("q", 1, 2, 2_000_000))
    newer.close()

    with pytest.raises(StoreFencedError, match="another run"):
        state.begin(SECOND)


def test_a_new_checkpoint_begins_with_empty_tables_above_the_old_versions(
    state: SqliteState,
) -> None:
    state.write("user", {(1,): stored({"id": 1, "name": "a"})})
    state.acknowledge(FIRST, {"p": Emitted({(1,): SentDocument("{}", 9)})})

    assert not state.begin(Batch("other", 0, 1, 3_000_000))
    assert {} == state.rows("user", [(1,)])
    assert {(1,): SentDocument(None, 9)} == state.sent("p", [(1,)])


def test_a_checkpoint_whose_rows_are_lost_is_refused(path: Path) -> None:
    with pytest.raises(StoreError, match="is not in") as told:
        SqliteState([PRODUCT], path).begin(SECOND)

    assert "--rebuild" in told.value.hint


def test_an_older_checkpoint_is_refused(state: SqliteState) -> None:
    state.acknowledge(FIRST, {})
    state.begin(SECOND)
    state.acknowledge(SECOND, {})

    with pytest.raises(StoreError, match="batch 0 is not the last one in"):
        state.begin(FIRST)


def test_a_store_behind_its_checkpoint_is_refused(state: SqliteState) -> None:
    with pytest.raises(StoreBehindError) as claimed:
        state.begin(SECOND)
    state.begin(FIRST)
    state.acknowledge(FIRST, {})
    with pytest.raises(StoreBehindError) as restored:
        state.begin(Batch("q", 2, 1, 3_000_000))

    assert "It has no batch, and the checkpoint continues with batch 1." == claimed.value.detail
    assert (
        "Its last batch is 0, and the checkpoint continues with batch 2." == restored.value.detail
    )
    assert not state.begin(SECOND)


def test_deletes_and_gone_roots_are_forgotten_in_time(state: SqliteState) -> None:
    state.write("user", {(1,): stored(None), (2,): stored({"id": 2, "name": "b"})})
    gone = {(1,): SentDocument(None, 5), (2,): SentDocument("{}", 5)}
    state.acknowledge(FIRST, {"p": Emitted(gone)})
    state.forget(1_000_001)

    assert [(2,)] == list(state.rows("user", [(1,), (2,)]))
    assert [(2,)] == list(state.sent("p", [(1,), (2,)]))


def test_an_added_column_is_null_in_the_rows_that_stand(state: SqliteState, path: Path) -> None:
    state.write("user", {(1,): stored({"id": 1, "name": "a"})})
    state.acknowledge(FIRST, {})
    state.close()
    wider = relation("user", "id", *USER.columns, Field("age", INT))
    again = SqliteState([product(wider, STAR)], path)
    again.begin(SECOND)

    assert {"id": 1, "name": "a", "age": None} == again.rows("user", [(1,)])[(1,)].row


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('"p__user" (id INTEGER PRIMARY KEY)', "does not fit"),
        ('"p__documents__p" (id INTEGER PRIMARY KEY)', "does not fit"),
        ('"p__batch" (id INTEGER PRIMARY KEY)', "does not fit"),
    ],
)
def test_a_table_of_somebody_else_is_refused(tmp_path: Path, table: str, told: str) -> None:
    with sqlite_file(tmp_path / "other.db") as database:
        database.execute(f"CREATE TABLE {table}")

    with pytest.raises(StoreError, match=told) as error:
        SqliteState([PRODUCT], tmp_path / "other.db")

    assert "--rebuild" in error.value.hint


def test_a_column_of_another_type_is_refused(state: SqliteState, path: Path) -> None:
    state.close()
    other = relation("user", "id", Field("id", LONG), Field("name", INT))

    with pytest.raises(StoreError, match="does not fit") as error:
        SqliteState([product(other, STAR)], path)

    assert 'Its column "name" is TEXT, but has to be INTEGER.' == error.value.detail


def test_columns_that_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    other = relation("user", "id", Field("id", LONG), Field("Name", INT), Field("name", INT))

    with pytest.raises(StoreError) as refused:
        SqliteState([product(other, STAR)], tmp_path / "state.db")

    assert (
        'SQLite cannot tell the columns of "user", "Name" and "name" apart' == refused.value.message
    )


def test_a_column_that_the_table_has_itself_is_refused(tmp_path: Path) -> None:
    other = relation("user", "id", Field("id", LONG), Field("joinery_state", INT))

    with pytest.raises(StoreError) as refused:
        SqliteState([product(other, STAR)], tmp_path / "state.db")

    assert 'relation "user" cannot have a column "joinery_state" here' == refused.value.message


def test_relations_that_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as refused:
        SqliteState([product(USER, relation("User", "repo", *STAR.columns))], tmp_path / "state.db")

    assert 'SQLite cannot tell the tables "p__user" and "p__User" apart' == refused.value.message


def test_a_relation_may_have_the_name_of_a_table_of_the_store(tmp_path: Path) -> None:
    state = SqliteState(
        [product(USER, relation("batch", "repo", *STAR.columns))], tmp_path / "state.db"
    )
    state.begin(FIRST)
    state.write("batch", {("a",): stored({"user_id": 1, "repo": "a"})})
    state.acknowledge(FIRST, {})

    assert state.begin(FIRST)
    assert [("a",)] == list(state.rows("batch", [("a",)]))
    state.close()


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("no database at all, but long enough to be looked at")

    with pytest.raises(StoreError, match="could not use the database"):
        SqliteState([PRODUCT], tmp_path / "state.db")


def test_a_file_that_another_query_writes_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.solutions.relational.sqlite_database._WAIT_S", 0.0)
    other = SqliteState([PRODUCT], path, name="other")
    other.begin(FIRST)
    waits: list[str] = []

    def make() -> StoreDriver:
        return StoreDriver([PRODUCT], SqliteState([PRODUCT], path))

    def free(waiting: Waiting | None) -> None:
        if waiting is not None:
            waits.append(waiting.reason)
            other.acknowledge(FIRST, {})

    soon = Patience(first_s=0.01, longest_s=0.01, rest_s=0.01)
    solution = PatientSolution(make, "p", "the store of p", tell=free, patience=soon)
    solution.apply([], FIRST)

    assert [f"could not use the database {path}. database is locked."] == waits
    other.close()
    solution.close()


def test_a_disk_that_is_full_is_an_outage_and_leaves_what_stood(
    state: SqliteState, path: Path
) -> None:
    state.write("user", {(1,): stored({"id": 1, "name": "a"})})
    state.acknowledge(FIRST, {})
    with sqlite_file(path) as link:
        (pages,) = link.execute("PRAGMA page_count").fetchone()
    state._link.execute(f"PRAGMA max_page_count = {pages}")
    state.begin(SECOND)

    with pytest.raises(StoreUnavailableError, match="could not use the database"):
        state.write("user", {(2,): stored({"id": 2, "name": "x" * 100_000})})

    state._link.execute(f"PRAGMA max_page_count = {2 * pages}")
    assert not state.begin(SECOND)
    assert [(1,)] == list(state.rows("user", [(1,), (2,)]))


def test_a_path_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="could not use the database"):
        SqliteState([PRODUCT], tmp_path / "file" / "state.db")


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, each) for kind, many in VALUES for each in [*many, None]]
)
def test_a_value_comes_back_as_it_was(kind: DataType, value: object, tmp_path: Path) -> None:
    typed = relation("user", "id", Field("id", LONG), Field("value", kind))
    state = SqliteState([product(typed, STAR)], tmp_path / "state.db")
    state.begin(FIRST)
    state.write("user", {(1,): stored({"id": 1, "value": value})})

    found = state.rows("user", [(1,)])[(1,)]

    assert found.row is not None
    assert repr(value) == repr(found.row["value"])
    state.close()
