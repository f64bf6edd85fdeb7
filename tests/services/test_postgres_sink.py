"""The sink suite on tables of a real PostgreSQL, in both forms."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from tests.services.sink_variants import parts_of

from joinery.audit.verdict import same
from joinery.dev.service import Service
from joinery.model.type import LONG, STRING, Field, Struct, parse_type
from joinery.sinks.line import StagedRow
from joinery.sinks.postgres import PostgresSink
from joinery.sinks.protocol import (
    Sink,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    make_sink,
)
from joinery.sinks.reader import make_reader
from joinery.testing.conformance import SinkCase, SinkTarget, by_tasks, sink_cases
from joinery.testing.conformance.sink import document

pytestmark = pytest.mark.services
EACH_CASE = pytest.mark.parametrize("case", sink_cases(), ids=str)
AS_JSON = {
    "jsonb": SQL(
        "SELECT jsonb_build_object('owner', owner, 'number', number)::text,"
        " document::text, version FROM {}"
    ),
    "columns": SQL(
        "SELECT jsonb_build_object('owner', owner, 'number', number)::text,"
        " (to_jsonb(t) - 'joinery_version' ||"
        " jsonb_build_object('opened_at', to_char(opened_at AT TIME ZONE 'UTC',"
        ' \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\')))::text, joinery_version FROM {} AS t'
    ),
}


@contextmanager
def killed(postgres: Service) -> Iterator[None]:
    postgres.kill()
    try:
        yield
    finally:
        postgres.start()


def target(postgres: Service, **options: Any) -> SinkTarget:
    def make(product: str) -> Sink:
        return make_sink("postgres", product, {"url": postgres.address, **options}, Path())

    def read(product: str) -> Iterator[StagedRow]:
        with psycopg.connect(postgres.address) as connection:
            if connection.execute("SELECT to_regclass(%s)", (product,)).fetchone() == (None,):
                return
            held = AS_JSON[options.get("mode", "jsonb")].format(Identifier(product))
            for key, text, version in connection.execute(held):
                yield StagedRow(key, text, version)

    return SinkTarget(
        make=make,
        read=read,
        outage=lambda: killed(postgres),
        refused=lambda number, version: document(number, "\0", version=0)._replace(version=version),
    )


def keep(case: SinkCase, examined: SinkTarget) -> None:
    outcome = case.run(examined)
    assert "" == outcome.problem
    if outcome.left_out:
        pytest.skip(outcome.left_out)


@EACH_CASE
def test_a_table_of_jsonb(case: SinkCase, postgres: Service) -> None:
    keep(case, target(postgres))


@EACH_CASE
def test_a_table_of_columns(case: SinkCase, postgres: Service) -> None:
    keep(case, target(postgres, mode="columns"))


@pytest.mark.parametrize("case", parts_of())
def test_a_table_written_over_three_connections(case: SinkCase, postgres: Service) -> None:
    keep(case, target(postgres, connections=3))


@pytest.mark.parametrize("case", [each for each in sink_cases() if not each.needs], ids=str)
def test_a_table_written_in_parts(case: SinkCase, postgres: Service) -> None:
    keep(case, by_tasks(target(postgres)))


HOSTILE = [
    'a"b',
    "a'b",
    'x"; DROP TABLE kept; --',
    "x'); DROP TABLE kept; --",
    "%s",
    "{}",
    "{0}",
    "a.b",
    "a b\tc\nd",
    "\\",
    "SELECT",
    "naïve😀",
    "$1",
    ":name",
    "a;b",
]


@pytest.mark.parametrize("mode", ["jsonb", "columns"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_name_and_no_more(
    postgres: Service, tmp_path: Path, mode: str, name: str
) -> None:
    schema = f'%s {{}} " {uuid.uuid4().hex}'
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
        connection.execute(SQL("CREATE TABLE {} (id int)").format(Identifier(schema, "kept")))
        options = {"url": postgres.address, "table": name, "schema": schema, "mode": mode}
        sink = make_sink("postgres", "p", options, tmp_path)
        key = json.dumps({name: name}, ensure_ascii=False)
        value = json.dumps({name: name, f"field {name}": name}, ensure_ascii=False)

        sink.open()
        sink.write(staged(tmp_path, name, f'{{"key":{key},"value":{value},"version":7}}\n', 0))
        sink.write(staged(tmp_path, name, f'{{"key":{key},"value":null,"version":8}}\n', 1))
        sink.write(staged(tmp_path, name, f'{{"key":{key},"value":{value},"version":9}}\n', 2))
        sink.close()

        table = Identifier(schema, name)
        held = connection.execute(SQL("SELECT {} FROM {}").format(Identifier(name), table))
        assert [(name,)] == held.fetchall()
        assert (
            []
            == connection.execute(
                SQL("SELECT * FROM {}").format(Identifier(schema, "kept"))
            ).fetchall()
        )


def staged(folder: Path, name: str, line: str, batch_id: int) -> StagedBatch:
    file = folder / f"part-{batch_id}.jsonl"
    file.write_text(line, encoding="utf-8", newline="\n")
    return StagedBatch(
        product="p",
        query="p",
        query_id="q",
        batch_id=batch_id,
        files=(file,),
        key=Struct((Field(name, STRING),)),
        value=Struct((Field(name, STRING), Field(f"field {name}", STRING))),
        epoch=1,
    )


def test_a_field_that_a_product_gained_becomes_a_column(postgres: Service, tmp_path: Path) -> None:
    table = f"grown_{uuid.uuid4().hex[:8]}"
    options = {"url": postgres.address, "table": table, "mode": "columns"}
    line = '{"key":{"id":"1"},"value":{"id":"1","field id":"a"},"version":7}\n'
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(
            SQL("CREATE TABLE {} (id text PRIMARY KEY, joinery_version bigint NOT NULL)").format(
                Identifier(table)
            )
        )
        sink = make_sink("postgres", "p", options, tmp_path)

        sink.open()
        sink.write(staged(tmp_path, "id", line, 0))
        sink.close()

        held = connection.execute(SQL('SELECT id, "field id" FROM {}').format(Identifier(table)))
        assert [("1", "a")] == held.fetchall()


def test_an_object_in_a_key_is_jsonb(postgres: Service, tmp_path: Path) -> None:
    table = f"pairs_{uuid.uuid4().hex[:8]}"
    other = Struct((Field("no", LONG), Field("a", STRING)))
    pair = Struct((Field("id", LONG), Field("click", other)))
    one, two = ('{"id":1,"click":{"no":2,"a":"x\\ty"}}', '{"id":1,"click":{"no":3,"a":"b"}}')
    first = "".join(f'{{"key":{each},"value":{{"t":1}},"version":7}}\n' for each in (one, two))
    sink = make_sink("postgres", "p", {"url": postgres.address, "table": table}, tmp_path)
    assert isinstance(sink, PostgresSink)

    sink.open()
    begun = replace(staged(tmp_path, "id", first, 0), key=pair)
    sink.write(begun)
    assert [one, two] == sorted(sink.keys(begun))
    gone = f'{{"key":{one},"value":null,"version":8}}\n'
    sink.write(replace(staged(tmp_path, "id", gone, 1), key=pair))

    assert [two] == list(sink.keys(begun))
    sink.close()


@pytest.mark.parametrize("mode", ["jsonb", "columns"])
def test_a_key_without_columns_has_one_row(postgres: Service, tmp_path: Path, mode: str) -> None:
    table = f"total_{uuid.uuid4().hex[:8]}"
    options = {"url": postgres.address, "table": table, "mode": mode}
    sink = make_sink("postgres", "p", options, tmp_path)
    assert isinstance(sink, PostgresSink)

    sink.open()
    for number, value in enumerate(('{"id":"1"}', '{"id":"2"}')):
        line = f'{{"key":{{}},"value":{value},"version":{7 + number}}}\n'
        begun = replace(staged(tmp_path, "id", line, number), key=Struct(()))
        sink.write(begun)

    assert ["{}"] == list(sink.keys(begun))
    reader = make_reader(
        "postgres", options, product="p", folder=tmp_path, key=Struct(()), value=begun.value
    )
    assert ["{}"] == list(reader.keys())
    assert 8 == reader.read(["{}"])["{}"].version
    reader.close()
    sink.close()


SHAPE = (
    "id: string, `a b'\"%`: string, flag: boolean, small: smallint, n: bigint, f: float, d: double,"
    " price: decimal(10,2), day: date, at: timestamp, near: timestamp, local: timestamp_ntz,"
    " raw: binary, list: array<struct<a: decimal(5,2), b: string>>, map: map<string,int>, none: int"
)
DOCUMENTS = (
    """{"id":"1","a b'\\"%":"x","flag":true,"small":-7,"n":9007199254740993,"f":0.1,"d":1e+23,"""
    """"price":1.50,"day":"0044-03-15","at":"2026-01-01T08:00:01.500000Z","""
    """"near":"2026-01-01T08:00:00Z","local":"1969-12-31T23:59:59.000001","raw":"AAEC","""
    """"list":[{"a":1.50,"b":null}],"map":{"k":1},"none":null}""",
    """{"id":"2","a b'\\"%":null,"flag":null,"small":null,"n":null,"f":null,"d":null,"""
    """"price":null,"day":null,"at":null,"near":null,"local":null,"raw":null,"""
    """"list":[],"map":{},"none":null}""",
)
ODD_NUMBERS = ("NaN", "Infinity", "-Infinity")


@pytest.mark.parametrize(("options", "least_s"), [("", 9), ("?options=-clock_timeout%3D200", 0)])
def test_a_table_that_somebody_has_locked_is_told_and_waited_for(
    postgres: Service, tmp_path: Path, options: str, least_s: float
) -> None:
    table = f"l_{uuid.uuid4().hex[:8]}"
    sink = make_sink("postgres", "p", {"url": postgres.address + options, "table": table}, tmp_path)
    sink.open()
    first, second = (
        staged(
            tmp_path, "id", f'{{"key":{{"id":"1"}},"value":{{"id":"{at}"}},"version":{at}}}\n', at
        )
        for at in (1, 2)
    )
    sink.write(first)
    with psycopg.connect(postgres.address) as other:
        other.execute(SQL("LOCK TABLE {}").format(Identifier(table)))
        begun = time.monotonic()
        with pytest.raises(SinkUnavailableError) as told:
            sink.write(second)
        waited_s = time.monotonic() - begun

    written = sink.write(second)

    sink.close()
    assert "canceling statement due to lock timeout." == told.value.detail
    assert least_s <= waited_s
    assert () == written.refused


@pytest.mark.parametrize(
    ("options", "waits"),
    [("", "10s"), ("?options=-clock_timeout%3D0", "0"), ("?options=-clock_timeout%3D7s", "7s")],
)
def test_how_long_a_lock_is_waited_for_is_what_the_url_says(
    postgres: Service, tmp_path: Path, options: str, waits: str
) -> None:
    sink = make_sink("postgres", "p", {"url": postgres.address + options}, tmp_path)
    assert isinstance(sink, PostgresSink)
    sink.open()

    told = sink._connections[0].execute("SHOW lock_timeout").fetchone()

    sink.close()
    assert (waits,) == told


@pytest.mark.parametrize("mode", ["jsonb", "columns"])
def test_a_document_with_a_character_of_zero_is_refused_by_its_column(
    postgres: Service, tmp_path: Path, mode: str
) -> None:
    options = {"url": postgres.address, "table": f"z_{uuid.uuid4().hex[:8]}", "mode": mode}
    value = parse_type("struct<id string, name string, tags array<struct<text string>>>")
    assert isinstance(value, Struct)
    lines = (
        r'{"key":{"id":"1"},"value":{"id":"1","name":"ann","tags":[{"text":"a\u0000"}]},"version":7}',
        r'{"key":{"id":"2"},"value":{"id":"2","name":"\\u0000","tags":[]},"version":7}',
        r'{"key":{"id":"3\u0000"},"value":{"id":"3\u0000","name":"","tags":[]},"version":7}',
    )
    sink = make_sink("postgres", "p", options, tmp_path)
    sink.open()
    batch = staged(tmp_path, "id", "".join(f"{each}\n" for each in lines), 0)

    written = sink.write(replace(batch, value=value))

    sink.close()
    assert [("1", "tags[0].text"), ("3\0", "id")] == [
        (each.row.key_values()["id"], each.detail.split('"')[1]) for each in written.refused
    ]
    assert all("holds the character U+0000" in each.detail for each in written.refused)


def test_documents_are_made_again_from_a_column_a_field(postgres: Service, tmp_path: Path) -> None:
    options = {"url": postgres.address, "table": f"c_{uuid.uuid4().hex[:8]}", "mode": "columns"}
    value = parse_type(f"struct<{SHAPE}>")
    assert isinstance(value, Struct)
    lines = "".join(
        f'{{"key":{{"id":"{number}"}},"value":{text},"version":{number}}}\n'
        for number, text in enumerate(DOCUMENTS, 1)
    )
    sink = make_sink("postgres", "p", options, tmp_path)
    sink.open()
    batch = replace(staged(tmp_path, "id", lines, 0), value=value)
    written = sink.write(batch)
    sink.close()

    reader = make_reader(
        "postgres", options, product="p", folder=tmp_path, key=batch.key, value=value
    )
    keys = ['{"id":"1"}', '{"id":"2"}', '{"id":"3"}']
    held = reader.read(keys)
    reader.close()

    assert () == written.refused
    assert [(keys[0], 1), (keys[1], 2)] == [(key, each.version) for key, each in held.items()]
    assert [True, True] == [
        same(text, held[key].value) for key, text in zip(keys, DOCUMENTS, strict=False)
    ]


def test_numbers_that_json_lacks_are_read_from_a_column_as_documents_have_them(
    postgres: Service, tmp_path: Path
) -> None:
    options = {"url": postgres.address, "table": f"c_{uuid.uuid4().hex[:8]}", "mode": "columns"}
    value = parse_type("struct<id: string, f: float, d: double>")
    assert isinstance(value, Struct)
    documents = {
        f'{{"id":"{each}"}}': f'{{"id":"{each}","f":"{each}","d":"{each}"}}' for each in ODD_NUMBERS
    }
    lines = "".join(
        f'{{"key":{key},"value":{text},"version":7}}\n' for key, text in documents.items()
    )
    sink = make_sink("postgres", "p", options, tmp_path)
    sink.open()
    batch = replace(staged(tmp_path, "id", lines, 0), value=value)
    written = sink.write(batch)
    sink.close()

    reader = make_reader(
        "postgres", options, product="p", folder=tmp_path, key=batch.key, value=value
    )
    held = reader.read(list(documents))
    reader.close()

    assert () == written.refused
    assert documents.keys() == held.keys()
    assert [True] * 3 == [same(text, held[key].value) for key, text in documents.items()]


def test_in_columns_the_key_may_have_a_version_and_a_document(
    postgres: Service, tmp_path: Path
) -> None:
    key = Struct((Field("version", LONG), Field("document", STRING)))
    sink = make_sink(
        "postgres",
        "revision",
        {"url": postgres.address, "table": "revision", "mode": "columns"},
        Path(),
    )
    sink.open()

    def write(value: str, version: int) -> None:
        file = tmp_path / f"{version}.jsonl"
        told = f'{{"key":{{"version":1,"document":"a"}},"value":{value},"version":{version}}}\n'
        file.write_text(told, encoding="utf-8")
        sink.write(
            StagedBatch(
                product="revision",
                query="revision",
                query_id="q1",
                batch_id=version,
                files=(file,),
                key=key,
                value=Struct((*key.fields, Field("title", STRING))),
                epoch=1,
            )
        )

    write('{"version":1,"document":"a","title":"first"}', 5)
    write("null", 7)
    write('{"version":1,"document":"a","title":"late"}', 6)
    write('{"version":1,"document":"a","title":"second"}', 8)

    sink.close()
    with psycopg.connect(postgres.address) as connection:
        kept = connection.execute("SELECT * FROM revision").fetchall()
    assert [(1, "a", "second", 8)] == kept


def test_a_table_of_other_types_is_one_clear_error(postgres: Service, tmp_path: Path) -> None:
    table = f"other_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(
            SQL("CREATE TABLE {} (id integer PRIMARY KEY)").format(Identifier(table))
        )
    sink = make_sink("postgres", "p", {"url": postgres.address, "table": table}, tmp_path)
    sink.open()

    with pytest.raises(SinkError, match='"id" has to be text') as refused:
        sink.write(staged(tmp_path, "id", '{"key":{"id":"1"},"value":{},"version":7}\n', 0))

    sink.close()
    assert not isinstance(refused.value, SinkUnavailableError)


def test_a_wrong_database_is_not_waited_for_and_tells_no_password(postgres: Service) -> None:
    url = postgres.address.replace("joinery@", "joinery:hunter2@").rsplit("/", 1)[0] + "/nowhere"

    with pytest.raises(SinkError, match="could not connect") as refused:
        make_sink("postgres", "p", {"url": url}, Path()).open()

    assert not isinstance(refused.value, SinkUnavailableError)
    assert "hunter2" not in f"{refused.value}{refused.value.detail}{refused.value.hint}"
