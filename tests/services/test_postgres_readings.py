"""Tables read beside the log of PostgreSQL: by how many connections, by whom, and without a key."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

import psycopg
import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.postgres_captured import TABLE, database, lines

from joinery.capture.joining import Joining
from joinery.capture.postgres import prepare
from joinery.capture.spool import SpoolFolder
from joinery.dev.service import Service

pytestmark = pytest.mark.services
server = postgres_captured.server
link = postgres_captured.link
spool = postgres_captured.spool


def begun(server: Service, spool: SpoolFolder, asked: list[str]) -> Joining:
    """Return readings beside a log that is followed already; what they ask for is told."""
    prepared = prepare(database(server), spool)
    spool.note_begun()
    spool.read_again()
    (spool.path / "position.json").write_text('{"lsn": 1, "written_at_ms": 1, "file": 0}')
    return Joining(database(server), spool, prepared, ask=asked.append)


def connections(link: Connection) -> Sequence[int]:
    """Return the server's processes for connections of ours."""
    found = link.execute("select pid from pg_stat_activity where application_name = 'joinery'")
    return [pid for (pid,) in found.fetchall()]


def only_connection(link: Connection) -> int:
    until(lambda: len(connections(link)) == 1)
    return connections(link)[0]


def test_readings_keep_one_connection_and_open_another_after_a_failure(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    asked: list[str] = []
    joining = begun(server, spool, asked)
    seen = []

    with psycopg.connect(server.address) as open_one:
        open_one.execute("select pg_current_xact_id()")  # The reading waits for its end.
        for _ in range(3):
            joining.look()
            seen.append(only_connection(link))
        link.execute("select pg_terminate_backend(%s, 10000)", (seen[0],))
        joining.look()
        until(lambda: joining.look() or connections(link))
        seen.append(only_connection(link))
    until(lambda: joining.look() or asked)
    joining.answered("placed")
    joining.look()

    until(lambda: not connections(link))
    assert [seen[0]] * 3 == seen[:3]
    assert seen[3] != seen[0]


def test_one_at_a_time_reads_beside_a_log(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    asked: list[str] = []
    joining, ended = begun(server, spool, asked), threading.Event()
    spool.note_unreadable({TABLE: "told by the first"})
    second = threading.Thread(target=joining.run, args=(ended,))

    with spool.reading() as alone, spool.reading() as another:
        second.start()
        ended.set()
        second.join()

    assert (alone, another) == (True, False)
    assert {TABLE: "told by the first"} == spool.unreadable
    assert asked == []


def test_a_table_that_loses_its_key_while_it_is_read_is_told_and_read_anew(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.chunks._CHUNK_ROWS", (7, 7))
    link.execute("insert into customer select i, 'n' from generate_series(1, 20) as i")
    asked: list[str] = []
    joining = begun(server, spool, asked)
    until(joining.look)

    link.execute("alter table customer drop constraint customer_pkey")
    until(lambda: joining.look() or spool.unreadable)
    why = dict(spool.unreadable)
    link.execute("alter table customer replica identity full")
    until(lambda: joining.look() or asked)

    assert [f"table {TABLE} has no primary key, so its updates and deletes identify no row."] == [
        each.partition(" alter ")[0] for each in why.values()
    ]
    assert "initial_only" == json.loads(asked[0])["connector"]["snapshot.mode"]
    assert [] == lines(spool.rows(TABLE))
