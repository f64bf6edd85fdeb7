"""The sqlite sink keeps the newest document of each key."""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sqlite_file import sqlite_file

from joinery.delivery.outlet import PatientSink
from joinery.errors import SinkOptionError
from joinery.lookups.protocol import LookupTable
from joinery.lookups.registry import make_store
from joinery.model.progress import Waiting
from joinery.model.type import BOOLEAN, DOUBLE, LONG, STRING, Array, Decimal, Field, Struct
from joinery.retry import Patience
from joinery.sinks.protocol import (
    FencedError,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    make_sink,
)
from joinery.sinks.reader import Held
from joinery.sinks.sqlite import SqliteSink
from joinery.sinks.sqlite_reader import SqliteReader

Stage = Callable[..., StagedBatch]
KEY = Struct((Field("owner", STRING), Field("number", LONG)))
VALUE = Struct((Field("title", STRING),))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    def build(*lines: str, batch_id: int = 0, epoch: int = 1, key: Struct = KEY) -> StagedBatch:
        file = tmp_path / f"staged-{batch_id}-{epoch}.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return StagedBatch(
            product="ticket",
            query="ticket",
            query_id="q1",
            batch_id=batch_id,
            files=(file,),
            key=key,
            value=VALUE,
            epoch=epoch,
        )

    return build


@pytest.fixture
def sink(tmp_path: Path) -> SqliteSink:
    made = make_sink("sqlite", "ticket", {"path": "out/documents.db"}, tmp_path)
    assert isinstance(made, SqliteSink)
    made.open()
    return made


def upsert(owner: str, number: int, title: str, *, version: int) -> str:
    key = json.dumps({"owner": owner, "number": number}, separators=(",", ":"))
    value = json.dumps({"title": title}, separators=(",", ":"), ensure_ascii=False)
    return f'{{"key":{key},"value":{value},"version":{version}}}'


def tombstone(owner: str, number: int, *, version: int) -> str:
    key = json.dumps({"owner": owner, "number": number}, separators=(",", ":"))
    return f'{{"key":{key},"value":null,"version":{version}}}'


def rows(tmp_path: Path) -> list[tuple[object, ...]]:
    with sqlite_file(tmp_path / "out/documents.db") as database:
        return database.execute("SELECT * FROM ticket ORDER BY owner, number").fetchall()


def test_a_document_is_a_row_with_the_key_columns(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    sink.write(stage(upsert("ann", 1, "naïve", version=5), upsert("bob", 2, "b", version=5)))

    expected = [("ann", 1, '{"title":"naïve"}', 5), ("bob", 2, '{"title":"b"}', 5)]
    assert expected == rows(tmp_path)


def test_a_key_without_columns_has_one_row(sink: SqliteSink, stage: Stage, tmp_path: Path) -> None:
    def line(value: str, version: int) -> str:
        return f'{{"key":{{}},"value":{value},"version":{version}}}'

    sink.write(stage(line('{"title":"a"}', 5), key=Struct(())))
    sink.write(stage(line('{"title":"b"}', 6), batch_id=1, key=Struct(())))

    assert ["{}"] == list(sink.keys(stage(batch_id=2, key=Struct(()))))
    reader = SqliteReader(tmp_path / "out/documents.db", "ticket", Struct(()))
    assert {"{}": Held('{"title":"b"}', 6)} == reader.read(["{}"])
    reader.close()
    sink.write(stage(line("null", 7), batch_id=3, key=Struct(())))
    assert [] == list(sink.keys(stage(batch_id=4, key=Struct(()))))


def test_a_key_with_a_null_is_a_row_of_its_own(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    key = '{"owner":null,"number":1}'

    def line(value: str, version: int) -> str:
        return f'{{"key":{key},"value":{value},"version":{version}}}'

    sink.write(stage(upsert("None", 1, "a name", version=5), line('{"title":"nobody"}', 5)))
    sink.write(stage(line('{"title":"none"}', 6), line('{"title":"old"}', 4), batch_id=1))

    reader = SqliteReader(tmp_path / "out/documents.db", "ticket", KEY)
    assert {key: Held('{"title":"none"}', 6)} == reader.read([key])
    assert {key, '{"owner":"None","number":1}'} == set(reader.keys())
    assert {key, '{"owner":"None","number":1}'} == set(sink.keys(stage(batch_id=2)))
    sink.write(stage(line("null", 7), batch_id=3))
    sink.write(stage(line('{"title":"late"}', 6), batch_id=4))
    assert {} == reader.read([key])
    reader.close()


def test_a_null_is_a_row_of_its_own_beside_numbers(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    key = Struct((Field("number", LONG),))
    lines = [
        f'{{"key":{{"number":{each}}},"value":{{"title":"a"}},"version":5}}' for each in (1, "null")
    ]

    sink.write(stage(*lines, key=key))

    assert {'{"number":1}', '{"number":null}'} == set(sink.keys(stage(batch_id=1, key=key)))


@pytest.mark.parametrize("version", ["abc", None, 9.5, b""])
def test_a_version_that_is_no_number_is_older_than_any(
    version: object, sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    sink.write(stage(upsert("ann", 1, "a", version=5), upsert("bob", 2, "b", version=5)))
    with sqlite_file(tmp_path / "out/documents.db") as database:
        database.execute("UPDATE ticket SET version = ?", [version])

    sink.write(stage(upsert("ann", 1, "c", version=6), tombstone("bob", 2, version=6), batch_id=1))

    assert [("ann", 1, '{"title":"c"}', 6)] == rows(tmp_path)


def test_an_older_version_never_replaces_a_newer_one(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    sink.write(stage(upsert("ann", 1, "new", version=9)))
    sink.write(stage(upsert("ann", 1, "old", version=8), batch_id=1))

    assert [("ann", 1, '{"title":"new"}', 9)] == rows(tmp_path)


def test_a_delete_is_remembered_against_older_documents(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    sink.write(stage(upsert("ann", 1, "a", version=5)))
    sink.write(stage(tombstone("ann", 1, version=7), batch_id=1))
    sink.write(stage(upsert("ann", 1, "late", version=6), batch_id=2))

    assert [] == rows(tmp_path)


def test_a_document_comes_back_above_its_delete(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    sink.write(stage(tombstone("ann", 1, version=7)))
    sink.write(stage(upsert("ann", 1, "again", version=8), batch_id=1))

    assert [("ann", 1, '{"title":"again"}', 8)] == rows(tmp_path)


def test_an_older_delete_does_not_remove_a_newer_document(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    sink.write(stage(upsert("ann", 1, "a", version=9)))
    sink.write(stage(tombstone("ann", 1, version=7), batch_id=1))

    assert [("ann", 1, '{"title":"a"}', 9)] == rows(tmp_path)


def test_an_object_in_a_key_is_its_json_text(tmp_path: Path, stage: Stage) -> None:
    pair = Struct((Field("id", LONG), Field("click", Struct((Field("n", LONG), Field("a", LONG))))))
    sink = make_sink("sqlite", "ticket", {"path": "out/documents.db"}, tmp_path)
    assert isinstance(sink, SqliteSink)
    sink.open()
    one, two = ('{"id":1,"click":{"n":2,"a":3}}', '{"id":1,"click":{"n":4,"a":3}}')
    lines = [f'{{"key":{each},"value":{{"title":"t"}},"version":5}}' for each in (one, two)]
    gone = f'{{"key":{one},"value":null,"version":6}}'

    sink.write(stage(*lines, key=pair))
    assert [one, two] == sorted(sink.keys(stage(batch_id=1, key=pair)))
    sink.write(stage(gone, batch_id=1, key=pair))

    with sqlite_file(tmp_path / "out/documents.db") as database:
        held = database.execute("SELECT * FROM ticket").fetchall()
    assert [(1, '{"n":4,"a":3}', '{"title":"t"}', 5)] == held


def test_a_batch_written_twice_leaves_what_one_writing_leaves(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    batch = stage(upsert("ann", 1, "a", version=5), tombstone("bob", 2, version=5))
    sink.write(batch)
    once = rows(tmp_path)

    sink.write(batch)

    assert once == rows(tmp_path)


def test_a_replaced_run_is_refused_and_changes_nothing(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    sink.write(stage(upsert("ann", 1, "second run", version=5), epoch=2))

    with pytest.raises(FencedError):
        sink.write(stage(upsert("ann", 1, "first run", version=6), batch_id=1, epoch=1))

    assert [("ann", 1, '{"title":"second run"}', 5)] == rows(tmp_path)


def test_a_broken_line_leaves_the_table_as_it_was(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    sink.write(stage(upsert("ann", 1, "a", version=5)))

    with pytest.raises(ValueError, match="Expecting"):
        sink.write(stage(upsert("ann", 1, "b", version=6), "{broken", batch_id=1))

    assert [("ann", 1, '{"title":"a"}', 5)] == rows(tmp_path)


def test_a_table_of_another_key_is_refused(sink: SqliteSink, stage: Stage, tmp_path: Path) -> None:
    sink.write(stage(upsert("ann", 1, "a", version=5)))
    other = SqliteSink(tmp_path / "out/documents.db", "ticket")
    other.open()

    with pytest.raises(SinkError, match="other columns"):
        other.write(stage(key=Struct((Field("id", LONG),)), batch_id=1))


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")

    with pytest.raises(SinkError, match="could not write table"):
        make_sink("sqlite", "ticket", {"path": "out/documents.db"}, tmp_path).open()


class SmallDisk(SqliteSink):
    """A sink whose database file can have so many pages; None for as many as it needs."""

    pages: int | None = None

    def open(self) -> None:
        super().open()
        if self.pages is not None:
            assert self._database is not None
            self._database.execute(f"PRAGMA max_page_count = {self.pages}")


@pytest.mark.parametrize("pages", [4, 9], ids=["no room for tables", "no room for documents"])
def test_a_disk_that_is_full_at_the_first_batch_is_waited_for(
    stage: Stage, tmp_path: Path, pages: int
) -> None:
    disk = SmallDisk(tmp_path / "out/documents.db", "ticket")
    disk.pages = pages
    waits: list[str] = []

    def free(waiting: Waiting | None) -> None:
        if waiting is not None:
            waits.append(waiting.reason)
            disk.pages = None

    soon = Patience(first_s=0.01, longest_s=0.01, rest_s=0.01)
    sink = PatientSink(disk, "ticket", tell=free, patience=soon)
    sink.open()

    sink.write(stage(*(upsert("ann", each, "x" * 3_000, version=5) for each in range(20))))

    sink.close()
    assert ["database or disk is full" in each for each in waits] == [True]
    assert 20 == len(rows(tmp_path))


def test_a_disk_that_is_full_later_leaves_the_table_as_it_was(stage: Stage, tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path / "out/documents.db", "ticket")
    disk.pages = 9
    disk.open()
    disk.write(stage(upsert("ann", 1, "a", version=5)))

    with pytest.raises(SinkUnavailableError, match="could not write table"):
        disk.write(stage(upsert("ann", 1, "x" * 50_000, version=6), batch_id=1))

    assert [("ann", 1, '{"title":"a"}', 5)] == rows(tmp_path)
    disk.write(stage(upsert("ann", 1, "b", version=6), batch_id=1))
    assert [("ann", 1, '{"title":"b"}', 6)] == rows(tmp_path)


def test_a_first_batch_that_is_given_up_leaves_the_table_to_the_next(
    sink: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    def replaced() -> None:
        raise FencedError("another run has taken over")

    batch = stage(upsert("ann", 1, "a", version=5))
    with pytest.raises(FencedError):
        sink.write(replace(batch, check=replaced))

    sink.write(batch)

    assert [("ann", 1, '{"title":"a"}', 5)] == rows(tmp_path)


def test_keys_that_cannot_be_listed_on_a_full_disk_are_waited_for(
    stage: Stage, tmp_path: Path
) -> None:
    disk = SmallDisk(tmp_path / "out/documents.db", "ticket")
    disk.pages = 4
    disk.open()

    with pytest.raises(SinkUnavailableError, match='could not write table "ticket"'):
        list(disk.keys(stage()))


def test_a_disk_without_room_for_the_files_beside_the_database_is_waited_for(
    stage: Stage, tmp_path: Path
) -> None:
    resource = pytest.importorskip("resource", reason="Unix alone has it")
    sink = SqliteSink(tmp_path / "out/documents.db", "ticket")
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, allowed[1]))
    try:
        with pytest.raises(SinkUnavailableError, match="could not write table"):
            sink.open()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    sink.close()

    sink.open()
    sink.write(stage(upsert("ann", 1, "a", version=5)))
    assert [("ann", 1, '{"title":"a"}', 5)] == rows(tmp_path)


WIDE = Struct(
    (
        Field("number", LONG),
        Field("title", STRING),
        Field("open", BOOLEAN),
        Field("price", Decimal(12, 2)),
        Field("tags", Array(STRING)),
        Field("share", DOUBLE),
    )
)


def wide(stage: Stage, document: str, *, value: Struct = WIDE, version: int = 5) -> StagedBatch:
    key = '{"owner":"ann","number":1}'
    batch = stage(f'{{"key":{key},"value":{document},"version":{version}}}', batch_id=version)
    return replace(batch, value=value)


@pytest.fixture
def columns(tmp_path: Path) -> SqliteSink:
    made = make_sink("sqlite", "ticket", {"path": "out/documents.db", "mode": "columns"}, tmp_path)
    assert isinstance(made, SqliteSink)
    made.open()
    return made


def test_in_columns_each_field_has_its_own_and_keeps_its_value(
    columns: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    document = (
        '{"number":1,"title":"it\'s \\"naïve\\"","open":true,"price":1234567890.10,'
        '"tags":["a","b"],"share":null}'
    )

    columns.write(wide(stage, document))

    expected = ("ann", 1, 'it\'s "naïve"', 1, "1234567890.10", '["a","b"]', None, 5)
    assert [expected] == rows(tmp_path)


def test_in_columns_versions_and_deletes_hold_as_for_documents(
    columns: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    columns.write(wide(stage, '{"title":"new"}', version=9))
    columns.write(wide(stage, '{"title":"old"}', version=8))
    columns.write(wide(stage, "null", version=7))
    standing = rows(tmp_path)
    columns.write(wide(stage, "null", version=10))

    assert [("ann", 1, "new", None, None, None, None, 9)] == standing
    assert [] == rows(tmp_path)


def test_in_columns_a_field_that_the_product_gained_becomes_a_column(
    columns: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    columns.write(wide(stage, '{"title":"a"}', value=Struct((Field("title", STRING),))))
    again = make_sink("sqlite", "ticket", {"path": "out/documents.db", "mode": "columns"}, tmp_path)
    again.open()

    again.write(
        wide(stage, '{"title":"a","open":false}', value=Struct(WIDE.fields[1:3]), version=6)
    )

    assert [("ann", 1, "a", 6, 0)] == rows(tmp_path)


def test_in_columns_a_name_and_a_text_are_kept_whatever_characters_they_have(
    columns: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    value = Struct(
        (
            Field('5" disk', STRING),
            Field("back\\slash", Decimal(12, 2)),
            Field("a\tb", Array(STRING)),
            Field("plain", STRING),
            Field("it's", BOOLEAN),
        )
    )
    document = (
        '{"5\\" disk":"a\\"b","back\\\\slash":1.50,"a\\tb":["\\u0000"],'
        '"plain":"x\\u0000y","it\'s":true}'
    )

    columns.write(wide(stage, document, value=value))
    columns.write(wide(stage, document.replace("\\u0000", ""), value=value, version=6))

    with sqlite_file(tmp_path / "out/documents.db") as database:
        kept = database.execute("SELECT * FROM ticket").fetchall()
    assert [("ann", 1, 'a"b', "1.50", '[""]', "xy", 1, 6)] == kept


def test_in_columns_a_text_goes_on_after_a_zero(
    columns: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    columns.write(wide(stage, '{"title":"x\\u0000y","open":false,"price":1.50,"tags":["\\u0000"]}'))

    expected = ("ann", 1, "x\0y", 0, "1.50", '["\\u0000"]', None, 5)
    assert [expected] == rows(tmp_path)


def test_in_columns_the_key_may_have_a_version_and_a_document(
    columns: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    key = Struct((Field("version", LONG), Field("document", STRING)))
    line = '{{"key":{{"version":1,"document":"a"}},"value":{},"version":{}}}'

    def write(value: str, version: int) -> None:
        batch = stage(line.format(value, version), batch_id=version, key=key)
        columns.write(replace(batch, value=VALUE))

    write('{"title":"first"}', 5)
    write("null", 7)
    write('{"title":"late"}', 6)
    write('{"title":"second"}', 8)

    with sqlite_file(tmp_path / "out/documents.db") as database:
        kept = database.execute("SELECT * FROM ticket").fetchall()
    assert [(1, "a", "second", 8)] == kept


@pytest.mark.parametrize(
    ("mode", "key", "value"),
    [
        ("document", "Version", "title"),
        ("document", "document", "title"),
        ("columns", "owner", "Owner"),
        ("columns", "owner", "JOINERY_VERSION"),
    ],
)
def test_columns_that_sqlite_cannot_tell_apart_are_refused(
    stage: Stage, tmp_path: Path, mode: str, key: str, value: str
) -> None:
    made = make_sink("sqlite", "ticket", {"path": "out.db", "mode": mode}, tmp_path)
    made.open()
    batch = stage(key=Struct((Field(key, STRING),)))

    with pytest.raises(SinkError, match="as one column of table"):
        made.write(replace(batch, value=Struct((Field(value, STRING),))))


def test_a_table_of_another_form_is_refused(
    sink: SqliteSink, columns: SqliteSink, stage: Stage
) -> None:
    sink.write(wide(stage, '{"title":"a"}'))

    with pytest.raises(SinkError, match="other columns"):
        columns.write(wide(stage, '{"title":"a"}', version=6))


def test_a_form_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(SinkOptionError, match="document, columns"):
        make_sink("sqlite", "ticket", {"path": "out.db", "mode": "jsonb"}, tmp_path)


def test_a_lookup_reads_what_stands_in_columns(
    columns: SqliteSink, stage: Stage, tmp_path: Path
) -> None:
    columns.write(wide(stage, '{"title":"a","open":true,"price":1.50,"tags":["b"],"share":2.0}'))
    table = LookupTable("ticket", KEY.fields, WIDE.fields[1:])
    store = make_store("sqlite", table, {"path": "out/documents.db"}, tmp_path)
    store.open()

    found = store.fetch([("ann", 1), ("bob", 2)])

    store.close()
    assert {("ann", 1): ("a", True, decimal.Decimal("1.50"), ["b"], 2.0)} == found
