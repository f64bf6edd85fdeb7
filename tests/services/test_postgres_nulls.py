"""Documents whose key has a null in tables of a real PostgreSQL, as those of groups of nulls."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from joinery.dev.service import Service
from joinery.model.type import LONG, STRING, Field, Struct
from joinery.sinks.protocol import Sink, StagedBatch, Written, make_sink
from joinery.sinks.reader import make_reader

pytestmark = pytest.mark.services
ONE = Struct((Field("region", STRING),))
TWO = Struct((Field("region", STRING), Field("year", LONG)))
ALIKE = [{"region": each} for each in (None, "null", "None", "", "\\N", "north")]
PAIRS = [{"region": a, "year": b} for a in (None, "None", "a") for b in (None, 0, 2026)]
EACH_KEY = pytest.mark.parametrize(("key", "keys"), [(ONE, ALIKE), (TWO, PAIRS)], ids=["1", "2"])
EACH_MODE = pytest.mark.parametrize("mode", ["jsonb", "columns"])


class Table:
    """A sink's table of groups, written a batch at a time."""

    def __init__(self, postgres: Service, folder: Path, key: Struct, **options: Any) -> None:
        self.name = f"groups_{uuid.uuid4().hex[:8]}"
        self.options = {"url": postgres.address, "table": self.name, **options}
        self._folder, self._key, self._batches = folder, key, 0

    def batch(self, version: int, rows: list[tuple[dict[str, Any], Any]]) -> StagedBatch:
        self._batches += 1
        file = self._folder / f"part-{self._batches}.jsonl"
        lines = (
            json.dumps({"key": key, "value": value, "version": version}, separators=(",", ":"))
            for key, value in rows
        )
        file.write_text("".join(f"{each}\n" for each in lines))
        return StagedBatch(
            product="p",
            query="p",
            query_id="q",
            batch_id=self._batches,
            files=(file,),
            key=self._key,
            value=Struct((*self._key.fields, Field("total", LONG))),
            nullable_key=frozenset(each.name for each in self._key.fields),
            epoch=1,
        )

    def sink(self) -> Sink:
        return make_sink("postgres", "p", self.options, self._folder)

    def write(self, version: int, rows: list[tuple[dict[str, Any], Any]], **parts: Any) -> Written:
        sink = self.sink()
        try:
            sink.open()
            return sink.write(replace(self.batch(version, rows), **parts))
        finally:
            sink.close()


def totals(table: Table, postgres: Service) -> list[dict[str, Any]]:
    """Return the rows of a table, without their versions, in the order of their totals."""
    with psycopg.connect(postgres.address) as connection:
        found = connection.execute(
            SQL("SELECT to_jsonb(t) FROM {} AS t").format(Identifier(table.name))
        ).fetchall()
    rows = [{**each.pop("document", {}), **each} for (each,) in found]
    shown = [{k: v for k, v in each.items() if "version" not in k} for each in rows]
    return sorted(shown, key=lambda each: each["total"])


@EACH_MODE
@EACH_KEY
def test_each_key_with_nulls_is_a_row_of_its_own(
    postgres: Service, tmp_path: Path, key: Struct, keys: list[dict[str, Any]], mode: str
) -> None:
    table = Table(postgres, tmp_path, key, mode=mode)

    table.write(7, [(each, {"total": 0}) for each in keys])
    written = table.write(8, [(each, {"total": at}) for at, each in enumerate(keys)])
    older = table.write(6, [(each, {"total": -1}) for each in keys])

    assert () == written.refused
    assert len(keys) == older.older
    expected = [{**each, "total": at} for at, each in enumerate(keys)]
    assert expected == totals(table, postgres)


@EACH_MODE
@EACH_KEY
def test_a_delete_takes_its_own_key_alone_and_is_remembered(
    postgres: Service, tmp_path: Path, key: Struct, keys: list[dict[str, Any]], mode: str
) -> None:
    table = Table(postgres, tmp_path, key, mode=mode)
    gone, left = keys[::2], keys[1::2]

    table.write(7, [(each, {"total": at}) for at, each in enumerate(keys)])
    table.write(9, [(each, None) for each in gone])
    table.write(8, [(each, {"total": -1}) for each in gone])

    assert left == [{name: each[name] for name in left[0]} for each in totals(table, postgres)]


@EACH_KEY
def test_documents_are_read_back_by_keys_with_nulls(
    postgres: Service, tmp_path: Path, key: Struct, keys: list[dict[str, Any]]
) -> None:
    table = Table(postgres, tmp_path, key)
    table.write(7, [(each, {"total": at}) for at, each in enumerate(keys)])
    reader = make_reader(
        "postgres", table.options, product="p", folder=tmp_path, key=key, value=Struct(())
    )

    found = list(reader.keys())
    held = reader.read(found)

    assert keys == sorted(map(json.loads, found), key=keys.index)
    assert {at: keys[at] for at in range(len(keys))} == {
        json.loads(each.value)["total"]: json.loads(told) for told, each in held.items()
    }


def test_a_table_with_a_primary_key_tells_the_sql_that_lets_it_take_nulls(
    postgres: Service, tmp_path: Path
) -> None:
    table = Table(postgres, tmp_path, TWO)
    rows = [(each, {"total": at}) for at, each in enumerate(PAIRS)]

    refused = table.write(7, rows, nullable_key=frozenset()).refused
    sql = refused[0].detail.partition("To allow it in this table: ")[2]
    with psycopg.connect(postgres.address) as connection:
        connection.execute(sql.encode())
    again = table.write(8, rows)

    assert 5 == len(refused)
    assert () == again.refused
    assert [{**each, "total": at} for at, each in enumerate(PAIRS)] == totals(table, postgres)


def test_a_publication_of_all_tables_takes_updates_of_groups(
    postgres: Service, tmp_path: Path
) -> None:
    table = Table(postgres, tmp_path, ONE)
    published = Identifier(table.name)
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(SQL("CREATE PUBLICATION {} FOR ALL TABLES").format(published))
        try:
            table.write(7, [({"region": None}, {"total": 1})])
            table.write(8, [({"region": None}, {"total": 2})])
            table.write(9, [({"region": None}, None)])
            table.write(10, [({"region": None}, {"total": 3})])
        finally:
            connection.execute(SQL("DROP PUBLICATION {}").format(published))

    assert [{"region": None, "total": 3}] == totals(table, postgres)
