"""The lookup suite on the stores that need no server but one of the standard library."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from joinery.lookups.protocol import Key, LookupTable
from joinery.lookups.registry import make_store
from joinery.lookups.value import json_value
from joinery.model.type import Struct
from joinery.sinks.protocol import StagedBatch, make_sink
from joinery.testing.conformance import LookupCase, LookupTarget, lookup_cases

EACH_CASE = pytest.mark.parametrize("case", lookup_cases(), ids=str)
Rows = dict[str, dict[Key, dict[str, Any]]]


def keep(case: LookupCase, target: LookupTarget) -> None:
    """Run a case; one that the target cannot be asked is told as a skip with its reason."""
    outcome = case.run(target)
    assert "" == outcome.problem
    if outcome.left_out:
        pytest.skip(outcome.left_out)


class Memory:
    """Rows by table and key, as JSON would hold them."""

    def __init__(self) -> None:
        self.tables: Rows = {}

    def fill(self, table: LookupTable, rows: Sequence[Mapping[str, Any]]) -> None:
        held = self.tables.setdefault(table.name, {})
        for row in rows:
            plain = {name: json_value(value) for name, value in row.items()}
            held[tuple(row[each.name] for each in table.key)] = plain

    def remove(self, table: LookupTable, key: Key) -> None:
        del self.tables[table.name][key]


@EACH_CASE
def test_function(case: LookupCase, tmp_path: Path) -> None:
    memory = Memory()

    def made(table: LookupTable) -> Any:
        def rows_of(keys: list[Any]) -> dict[Any, dict[str, Any]]:
            held = memory.tables[table.name]
            asked = {each: each if isinstance(each, tuple) else (each,) for each in keys}
            return {given: held[key] for given, key in asked.items() if key in held}

        return make_store("function", table, {"function": rows_of}, tmp_path)

    keep(case, LookupTarget(make=made, fill=memory.fill, remove=memory.remove))


class SqliteTables:
    """Tables of one database file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fill(self, table: LookupTable, rows: Sequence[Mapping[str, Any]]) -> None:
        names = ", ".join(f'"{each.name}"' for each in table.columns)
        key = ", ".join(f'"{each.name}"' for each in table.key)
        marks = ", ".join("?" for _ in table.columns)
        with self._opened() as database:
            database.execute(
                f'CREATE TABLE IF NOT EXISTS "{table.name}" ({names}, PRIMARY KEY ({key}))'
            )
            database.executemany(
                f'INSERT OR REPLACE INTO "{table.name}" VALUES ({marks})',
                [tuple(stored(row[each.name]) for each in table.columns) for row in rows],
            )

    def remove(self, table: LookupTable, key: Key) -> None:
        same = " AND ".join(f'"{each.name}" = ?' for each in table.key)
        with self._opened() as database:
            database.execute(f'DELETE FROM "{table.name}" WHERE {same}', key)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path)
        try:
            with database:
                yield database
        finally:
            database.close()


def stored(value: object) -> Any:
    plain = json_value(value)
    return json.dumps(plain) if isinstance(plain, list) else plain


@EACH_CASE
def test_sqlite(case: LookupCase, tmp_path: Path) -> None:
    tables = SqliteTables(tmp_path / "tables.db")
    keep(
        case,
        LookupTarget(
            make=lambda table: make_store("sqlite", table, {"path": "tables.db"}, tmp_path),
            fill=tables.fill,
            remove=tables.remove,
        ),
    )


class SinkTables:
    """Documents that the sink sqlite keeps, their fields the table's columns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._version = 0

    def fill(self, table: LookupTable, rows: Sequence[Mapping[str, Any]]) -> None:
        self._write(table, [(row, row) for row in rows])

    def remove(self, table: LookupTable, key: Key) -> None:
        names = [each.name for each in table.key]
        self._write(table, [(dict(zip(names, key, strict=True)), None)])

    def _write(
        self, table: LookupTable, rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> None:
        self._version += 1
        lines = [
            json.dumps(
                {
                    "key": {each.name: json_value(row[each.name]) for each in table.key},
                    "value": None
                    if value is None
                    else {name: json_value(each) for name, each in value.items()},
                    "version": self._version,
                },
                ensure_ascii=False,
            )
            for row, value in rows
        ]
        file = self._folder / f"{self._version}.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        sink = make_sink("sqlite", table.name, {"path": "documents.db"}, self._folder)
        sink.open()
        sink.write(
            StagedBatch(
                product=table.name,
                query=table.name,
                query_id="q",
                batch_id=self._version,
                files=(file,),
                key=Struct(table.key),
                value=Struct(table.columns),
            )
        )
        sink.close()


@EACH_CASE
def test_documents_of_the_sqlite_sink(case: LookupCase, tmp_path: Path) -> None:
    tables = SinkTables(tmp_path)
    keep(
        case,
        LookupTarget(
            make=lambda table: make_store("sqlite", table, {"path": "documents.db"}, tmp_path),
            fill=tables.fill,
            remove=tables.remove,
        ),
    )


class Service:
    """An HTTP service that gives the rows of tables, many a request and one by one."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.away = False
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_HEAD(self) -> None:
                self._send(404, b"")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                rows = service.rows(self.path.strip("/"), body["keys"])
                self._send(200, json.dumps({"rows": rows}).encode())

            def do_GET(self) -> None:
                table, *key = (unquote(part) for part in self.path.strip("/").split("/"))
                found = service.row(table, key)
                self._send(404 if found is None else 200, json.dumps(found).encode())

            def _send(self, code: int, body: bytes) -> None:
                self.send_response(503 if service.away else code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def rows(self, table: str, keys: list[Any]) -> list[dict[str, Any]]:
        held = self.memory.tables[table]
        asked = [tuple(each.values()) if isinstance(each, dict) else (each,) for each in keys]
        return [held[key] for key in asked if key in held]

    def row(self, table: str, key: list[str]) -> dict[str, Any] | None:
        named = {tuple(map(str, each)): row for each, row in self.memory.tables[table].items()}
        return named.get(tuple(key))

    @contextmanager
    def outage(self) -> Iterator[None]:
        self.away = True
        try:
            yield
        finally:
            self.away = False

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


@EACH_CASE
def test_http_many_a_request(case: LookupCase, service: Service, tmp_path: Path) -> None:
    keep(
        case,
        LookupTarget(
            make=lambda table: make_store(
                "http", table, {"url": f"{service.url}/{table.name}"}, tmp_path
            ),
            fill=service.memory.fill,
            remove=service.memory.remove,
            outage=service.outage,
        ),
    )


@EACH_CASE
def test_http_one_by_one(case: LookupCase, service: Service, tmp_path: Path) -> None:
    def made(table: LookupTable) -> Any:
        key = "/".join(f"{{{each.name}}}" for each in table.key)
        return make_store("http", table, {"each": f"{service.url}/{table.name}/{key}"}, tmp_path)

    keep(
        case,
        LookupTarget(
            make=made,
            fill=service.memory.fill,
            remove=service.memory.remove,
            outage=service.outage,
        ),
    )
