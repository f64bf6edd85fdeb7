"""Documents read back from sinks are those that were written, the newest of each key."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from joinery.errors import SinkError
from joinery.model.type import LONG, STRING, Decimal, Field, Struct
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import StagedBatch, make_sink
from joinery.sinks.reader import DocumentReader, Held, make_reader

KEY = Struct((Field("owner", STRING), Field("number", LONG), Field("price", Decimal(5, 2))))
ONE, TWO = '{"owner":"ä\\"","number":1,"price":1.50}', '{"owner":"b","number":2,"price":2.00}'
OPTIONS: Mapping[str, Mapping[str, object]] = {
    "files": {"path": "out"},
    "sqlite": {"path": "out.db"},
}


@pytest.fixture(params=OPTIONS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(kind: str, folder: Path, batch_id: int, *rows: StagedRow, after: int = 0) -> None:
    part = folder / f"{batch_id}-{after}.part"
    part.write_text("".join(each.line() for each in rows), encoding="utf-8")
    sink = make_sink(kind, "item", OPTIONS[kind], folder)
    sink.open()
    sink.write(
        StagedBatch(
            product="item",
            query="item",
            query_id="q",
            batch_id=batch_id,
            files=(part,),
            key=KEY,
            value=Struct(()),
            epoch=1,
            after=after,
        )
    )
    sink.close()


def reader_of(kind: str, folder: Path, **more: object) -> DocumentReader:
    given = {**OPTIONS[kind], **more}
    return make_reader(kind, given, product="item", folder=folder, key=KEY, value=Struct(()))


def test_the_newest_documents_are_read_back(kind: str, tmp_path: Path) -> None:
    write(kind, tmp_path, 1, StagedRow(ONE, '{"a":1}', 10), StagedRow(TWO, '{"a":2}', 10))
    reader = reader_of(kind, tmp_path)
    first = reader.read([ONE, TWO])
    write(kind, tmp_path, 2, StagedRow(ONE, '{"a":3}', 20), StagedRow(TWO, None, 20))

    second, keys = reader.read([ONE, TWO]), [*reader.keys()]
    reader.close()

    assert {ONE: Held('{"a":1}', 10), TWO: Held('{"a":2}', 10)} == first
    assert {ONE: Held('{"a":3}', 20)} == second
    assert 1 == len(keys)


def test_what_is_sent_between_two_batches_stands_between_them(tmp_path: Path) -> None:
    write("files", tmp_path, 1, StagedRow(ONE, '{"a":1}', 10))
    write("files", tmp_path, 2, StagedRow(ONE, '{"a":3}', 30))
    write("files", tmp_path, 1, StagedRow(ONE, '{"a":2}', 11), after=1_795_691_427_548)

    names = sorted(each.name for each in (tmp_path / "out" / "item").glob("*.jsonl"))

    assert [
        "000001-0000000001.jsonl",
        "000001-00000000011795691427548.jsonl",
        "000001-0000000002.jsonl",
    ] == names
    assert {ONE: Held('{"a":3}', 30)} == reader_of("files", tmp_path).read([ONE])


def test_a_sink_that_was_never_written_holds_nothing(tmp_path: Path) -> None:
    assert {} == reader_of("files", tmp_path).read([ONE])


def test_a_database_that_no_run_made_yet_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="could not read table") as refused:
        reader_of("sqlite", tmp_path).read([ONE])
    assert "The file does not exist." == refused.value.detail
    assert "A run creates it: joinery run --once." == refused.value.hint


@pytest.mark.parametrize(
    ("kind", "more", "why"),
    [
        ("sqlite", {"mode": "columns"}, 'mode "columns" cannot be read back yet'),
        ("files", {"spool": True}, "has a spool"),
    ],
)
def test_what_cannot_be_read_back_is_refused(
    kind: str, more: Mapping[str, object], why: str, tmp_path: Path
) -> None:
    with pytest.raises(SinkError, match=why):
        reader_of(kind, tmp_path, **more)


def test_what_somebody_wrote_into_sqlite_is_read_all_the_same(tmp_path: Path) -> None:
    write("sqlite", tmp_path, 1, StagedRow(ONE, '{"a":1}', 10), StagedRow(TWO, '{"a":2}', 10))
    with closing(sqlite3.connect(tmp_path / "out.db")) as database:
        database.execute("UPDATE item SET document = x'00', version = 'x' WHERE number = 1")
        database.execute("UPDATE item SET number = 'none' WHERE number = 2")
        database.commit()
    reader = reader_of("sqlite", tmp_path)

    held, keys = reader.read([ONE]), [*map(json.loads, reader.keys())]
    reader.close()

    assert {ONE: Held(str(b"\x00"), 0)} == held
    assert [["b", "none", "2.00"]] == [each for each in keys if isinstance(each, list)]


def test_documents_that_somebody_else_put_into_the_folder_are_read_too(tmp_path: Path) -> None:
    write("files", tmp_path, 1, StagedRow(ONE, '{"a":1}', 10), StagedRow(TWO, '{"a":2}', 10))
    folder, reader = tmp_path / "out" / "item", reader_of("files", tmp_path)
    (folder / "by-hand.jsonl").write_text(StagedRow(ONE, '{"a":9}', 99).line())
    (folder / ".by-hand.jsonl").write_text("nothing that a reader sees")

    assert {ONE: Held('{"a":9}', 99), TWO: Held('{"a":2}', 10)} == reader.read([ONE, TWO])


@pytest.mark.parametrize("line", ["by hand", "[]", "{}", '{"key":{},"value":{}}'])
def test_a_file_of_another_kind_in_the_folder_is_named(tmp_path: Path, line: str) -> None:
    write("files", tmp_path, 1, StagedRow(ONE, '{"a":1}', 10))
    (tmp_path / "out" / "item" / "notes.jsonl").write_text(line)

    with pytest.raises(SinkError, match=r"notes\.jsonl: it has a line that is not a document"):
        reader_of("files", tmp_path).read([ONE])


def test_nothing_of_a_file_that_could_not_be_read_to_its_end_is_kept(tmp_path: Path) -> None:
    write("files", tmp_path, 1, StagedRow(ONE, '{"a":1}', 10))
    reader, notes = reader_of("files", tmp_path), tmp_path / "out" / "item" / "notes.jsonl"
    notes.write_text(f"{StagedRow(ONE, '{}', 99).line()}by hand")

    with pytest.raises(SinkError):
        reader.read([ONE])
    notes.unlink()

    assert {ONE: Held('{"a":1}', 10)} == reader.read([ONE])


def test_a_file_that_is_gone_between_two_looks_is_no_folder_without_documents(
    tmp_path: Path,
) -> None:
    """As a link to nowhere: it is listed, and there is nothing behind it."""
    write("files", tmp_path, 1, StagedRow(ONE, '{"a":1}', 10))
    (tmp_path / "out" / "item" / "gone.jsonl").symlink_to(tmp_path / "gone")

    with pytest.raises(SinkError, match="could not read"):
        reader_of("files", tmp_path).read([ONE])
