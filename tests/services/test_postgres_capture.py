"""A capture of PostgreSQL as it runs: what it waits for, how it is paused, what it writes once."""

from __future__ import annotations

import threading
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.mysql_captured import kill_process
from tests.services.postgres_captured import TABLE, capturing, database, lines

from joinery.capture.postgres import prepare
from joinery.capture.server import ServerAwayError
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.state import drop_source, state_of
from joinery.dev.service import Service

pytestmark = pytest.mark.services
server = postgres_captured.server
link = postgres_captured.link
spool = postgres_captured.spool


def test_a_server_that_goes_is_waited_for(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        server.stop()
        with pytest.raises(ServerAwayError):
            prepare(database(server), spool)
        server.start()
        with closing(psycopg.connect(server.address, autocommit=True)) as again:
            again.execute("insert into customer values (1, 'Ada')")
        capture.reach_end()
        files = list((spool.path / "files" / TABLE).glob("*.jsonl"))

    assert capture.error is None
    assert len(files) == 1


def test_a_source_tells_how_it_stands_and_is_given_up(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        state = state_of("t", database(server), spool)
        with pytest.raises(CaptureError, match="is being captured"):
            drop_source(database(server), spool)
    link.execute("drop table customer")
    gone = drop_source(database(server), spool)
    again = drop_source(database(server), spool)
    dropped = state_of("t", database(server), spool)

    assert (state.capturing, state.read, state.wal_status) == (True, True, "reserved")
    assert ("table", f"{TABLE}: read") in state.rows()
    assert gone == ('slot "joinery_t"', 'publication "joinery_t"', str(spool.path))
    assert again == ()
    assert (dropped.capturing, dropped.read, dropped.kept_bytes) == (False, False, None)
    assert ("table", f"{TABLE}: does not exist") in dropped.rows()
    assert not spool.path.exists()
    assert [] == link.execute("select pubname from pg_publication").fetchall()


def test_a_paused_capture_holds_no_slot_and_goes_on_where_it_was(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        paused = [spool.pause("ada@shop"), spool.pause("bob@shop")]
        until(lambda: not spool.held())
        link.execute("insert into customer values (1, 'Ada')")
        with pytest.raises(CaptureError, match='source "t" is paused') as refused:
            capture.reach_end()
        state = state_of("t", database(server), spool)
        resumed = [spool.resume(), spool.resume()]
        capture.reach_end()

    assert (paused, resumed) == ([True, False], [True, False])
    assert refused.value.hint == "Run joinery source resume t."
    assert ("capture", "paused by ada@shop") == (state.rows()[1][0], state.rows()[1][1][:18])
    assert capture.error is None
    assert len(list((spool.path / "files" / TABLE).glob("*.jsonl"))) == 1


def test_a_lock_on_a_table_that_is_to_be_published_is_waited_for_and_told(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.postgres._LOCK_TIMEOUT", "set lock_timeout = '0.5s'")
    waited: list[str] = []

    with closing(psycopg.connect(server.address)) as other:
        other.execute("lock table customer")
        with capturing(database(server), spool, waited=waited) as broken_off:
            until(lambda: waited or broken_off.error)
        with capturing(database(server), spool) as capture:
            other.rollback()
            capture.reach_end()

    assert (broken_off.error, capture.error) == (None, None)
    assert "canceling statement due to lock timeout" in waited[0]


def test_a_server_without_a_connection_for_the_log_is_waited_for(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.restarts._VAIN_ENDS", 1)
    waited: list[str] = []
    link.execute("create role lonely login replication connection limit 1")
    link.execute("alter table customer owner to lonely")
    link.execute("grant create on database postgres to lonely")

    with capturing(database(server, "lonely"), spool, waited=waited) as capture:
        until(lambda: "too many connections" in "".join(waited) or capture.error)
        link.execute("alter role lonely connection limit -1")
        until(lambda: waited[-1:] == ["back"] or capture.error)
        capture.reach_end()

    assert capture.error is None
    link.execute("reassign owned by lonely to joinery")
    link.execute("drop owned by lonely")
    link.execute("drop role lonely")


@pytest.mark.parametrize("bulk", [False, True], ids=["connector", "bulk"])
def test_no_record_is_told_twice_where_each_counts(
    server: Service, link: Connection, spool: SpoolFolder, bulk: bool
) -> None:
    link.execute("insert into customer select i, 'n' from generate_series(1, 20000) as i")
    over = threading.Event()

    def insert() -> None:
        with closing(psycopg.connect(server.address, autocommit=True)) as other:
            for key in count(20_001):
                other.execute("insert into customer values (%s, 'n')", (key,))
                if over.is_set():
                    return

    inserts = threading.Thread(target=insert, daemon=True)
    inserts.start()
    with capturing(database(server), spool, bulk=bulk, once=True) as capture:
        capture.reach_end()
        over.set()
        inserts.join()
        capture.reach_end()

    told = [each["after"]["id"] for each in lines(spool.path / "files" / TABLE)]
    assert [*range(1, len(told) + 1)] == sorted(told)
    assert len(told) > 20_000


def test_what_is_left_of_a_reading_that_was_broken_off_is_not_told(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    link.execute("insert into customer values (1, 'Ada')")
    stale = '{"op": "r", "source": {"lsn": 1}, "after": {"id": 2, "name": "gone"}}\n'
    for each in (".snapshot", ".held", ".rows"):
        file = spool.path / each / TABLE / f"{1:016d}.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text(stale)

    with capturing(database(server), spool) as capture:
        capture.reach_end()

    assert [1] == [each["after"]["id"] for each in lines(spool.path / "files" / TABLE)]


def test_what_others_write_moves_the_slot_on_while_the_tables_are_idle(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    confirmed = "select confirmed_flush_lsn from pg_replication_slots where active"
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        link.execute("create table if not exists other as select generate_series(1, 1000)")
        (written,) = link.execute("select pg_current_wal_lsn()").fetchone() or (None,)

        until(lambda: moved(link, confirmed, written))

    assert capture.error is None


def moved(link: Connection, confirmed: str, written: object) -> bool:
    found = link.execute(f"select ({confirmed}) >= %s::pg_lsn".encode(), (written,)).fetchone()
    return bool(found and found[0])


def is_seen(seen: list[tuple[str, str]], tail: Path) -> bool:
    seen.append(in_sight(tail))
    return bool(seen[-1][1])


def test_what_was_in_sight_of_a_capture_that_is_killed_begins_the_complete_file(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    tail, files = spool.path / "tail" / TABLE, spool.path / "files" / TABLE
    seen: list[tuple[str, str]] = []
    with capturing(database(server), spool, followed=True) as capture:
        capture.reach_end()
        link.execute("insert into customer values (1, 'one')")
        until(lambda: is_seen(seen, tail))
        kill_process()
        link.execute("insert into customer values (2, 'two')")
        capture.reach_end()

    (name, text), rows = seen[-1], lines(files)
    assert (files / name).read_text().startswith(text)
    assert [1, 2] == sorted({each["after"]["id"] for each in rows})
    assert not tail.exists() or [] == [*tail.iterdir()]


def in_sight(tail: Path) -> tuple[str, str]:
    """Return the name and the whole lines of the file that is being written; empty for none."""
    for each in tail.glob("*.jsonl"):
        with suppress(FileNotFoundError):
            if text := each.read_text():
                return each.name, text[: text.rfind("\n") + 1]
    return "", ""


def test_a_line_that_was_broken_off_is_in_no_complete_file(
    server: Service, link: Connection, spool: SpoolFolder
) -> None:
    tail, files = spool.path / "tail" / TABLE, spool.path / "files" / TABLE
    with capturing(database(server), spool, followed=True) as capture:
        link.execute("insert into customer values (1, 'one')")
        capture.reach_end()
    last = max((int(each.name[:16]) for each in files.glob("*.jsonl")), default=0)
    tail.mkdir(parents=True, exist_ok=True)
    (tail / f"{last + 1:016d}.{last:016d}.jsonl").write_text('{"op": "r"}\n{"op": "')
    (tail / f"{last + 2:016d}.{last + 1:016d}.jsonl").write_bytes(bytes(100))

    with capturing(database(server), spool, followed=True) as capture:
        link.execute("insert into customer values (2, 'two')")
        capture.reach_end()

    assert '{"op": "r"}\n' == (files / f"{last + 1:016d}.{last:016d}.jsonl").read_text()
    assert 2 == lines(files)[-1]["after"]["id"]
