"""PostgreSQL to documents: how soon, how many, and how a run begins.

In batches into PostgreSQL: `python -m bench.databases.postgres_source lag [COMMITS]` commits single
rows at random pauses, and looks for each in its document; the first ten are not counted. `rate
[CHANGES]` writes many rows, a thousand a transaction, while `joinery run` follows, until the last
is in its document. `first [ROWS]` and `bulk [ROWS]` time a first run over tables that are there: as
the connector reads them, and by `--bootstrap-from database`; `parquet [ROWS]` by an export that is
written before the clock starts; `stream [ROWS]` times the same rows as changes, written into empty
tables that are captured already, from the start of a run on. `idle [SECONDS]` writes into a table
that nobody captures, beside a capture whose tables rest, and looks how much of its log the server
keeps for the slot.

In real time into Kafka: `live [COMMITS]` commits as `lag` does, and reads the topic; the checkpoint
is committed every 20 s, and the first hundred are not counted.

Each starts its servers and ends them. Processor seconds are those of the run with all its
processes, and of the server with all of its.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import psutil
import psycopg
from confluent_kafka import Consumer, TopicPartition

from joinery.dev.kafka import kafka
from joinery.dev.postgres import postgres

_PROJECT = """\
name: shop
sources:
  db: {{postgres: {{url: "{url}"}}}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  purchase: {{key: [id], fields: {{id: long, customer_id: long, amount: "decimal(10,2)"}}}}
products:
  profile:
    root: customer
    embed:
      purchases: {{many: purchase, on: {{customer_id: id}}, fields: [id, amount]}}
    sink: {{postgres: {{url: "{url}"}}}}
"""
_LIVE = """\
    sink: {{kafka: {{topic: profile, bootstrap: "{kafka}", partitions: 1}}}}
run:
  checkpoint_interval: 20s
  dead_letters: {{kafka: {{topic: dead, bootstrap: "{kafka}"}}}}
"""
_CUSTOMERS = 1000
_FIRST = 1_000_000  # no other number in a document looks like it
_WARMING = 10
_WARMING_LIVE = 100
_A_COMMIT = 1000
_LOOK_S = 0.2
_LIMIT_S = 900.0
_FOREIGN_ROWS = 2_000  # some 800 KiB of log
_FOREIGN_S = 0.25
Link = psycopg.Connection[tuple[Any, ...]]


def _tables(link: Link) -> None:
    link.execute("create table customer (id bigint primary key, name text)")
    link.execute(
        "create table purchase (id bigint primary key, customer_id bigint, amount numeric(10,2))"
    )
    link.execute(
        "insert into customer select each, 'n' from generate_series(1, %s) as each", (_CUSTOMERS,)
    )


def await_row(link: Link, statement: str, *given: object) -> None:
    until = time.monotonic() + _LIMIT_S
    while time.monotonic() < until:
        with suppress(psycopg.errors.UndefinedTable):
            if link.execute(statement.encode(), given).fetchone():
                return
        time.sleep(0.005)
    raise TimeoutError(statement)


def _lags_s(link: Link, commits: int) -> list[float]:
    await_row(link, "select 1 from profile having count(*) = %s", _CUSTOMERS)
    lags = []
    for number in range(_FIRST, _FIRST + _WARMING + commits):
        customer = random.randrange(1, _CUSTOMERS + 1)
        link.execute("insert into purchase values (%s, %s, 1)", (number, customer))
        began_at = time.monotonic()
        shown = "select 1 from profile where id = %s and document::text like %s"
        await_row(link, shown, customer, f"%{number}%")
        lags.append(time.monotonic() - began_at)
        time.sleep(random.uniform(0, 0.3))
    return lags[_WARMING:]


def _shown(link: Link, changes: int, first: int) -> None:
    """Wait until the last of the rows that were written is in its document."""
    last = first + changes - 1
    shown = "select 1 from profile where id = %s and document::text like %s"
    await_row(link, shown, last % _CUSTOMERS + 1, f"%{last}%")


def _write(link: Link, changes: int) -> None:
    await_row(link, "select 1 from profile having count(*) = %s", _CUSTOMERS)
    for start in range(_FIRST, _FIRST + changes, _A_COMMIT):
        link.execute(
            "insert into purchase select i, i %% %s + 1, 1 from generate_series(%s, %s) as i",
            (_CUSTOMERS, start, min(start + _A_COMMIT, _FIRST + changes) - 1),
        )
    _shown(link, changes, _FIRST)


def fill(link: Link, rows: int, *, purchases: int = 9) -> None:
    """Fill the tables: a number of customers, and of purchases for each."""
    customers = rows // (1 + purchases)
    link.execute(
        "insert into customer select i, 'n' from generate_series(1001, %s) as i", (customers,)
    )
    link.execute(
        "insert into purchase select i, i %% %s + 1, 1 from generate_series(1, %s) as i",
        (customers, rows - customers),
    )


class World:
    """A server with its tables, and a run that keeps documents of them in it.

    Args:
        scratch: A folder to work in.
        link: To the server.
        address: The server's URL.
        pid: The server's process.

    Attributes:
        folder: Of the project.
    """

    def __init__(self, scratch: Path, link: Link, address: str, pid: int) -> None:
        self.link, self._server = link, psutil.Process(pid)
        self.folder, self.address = scratch / "project", address
        self.folder.mkdir()
        self.declare(_PROJECT.format(url=address))

    def declare(self, project: str) -> None:
        """Write the project file."""
        (self.folder / "joinery.yaml").write_text(project)

    def said(self) -> str:
        """Return what its commands have written so far."""
        return (self.folder / "out").read_text()

    @contextmanager
    def running(self, *options: str, command: str = "run") -> Iterator[subprocess.Popen[bytes]]:
        """Run the project, or another command of it, for the length of a block."""
        told = [sys.executable, "-m", "joinery.cli.main", command, *options]
        with (self.folder / "out").open("ab") as output:
            run = subprocess.Popen(told, cwd=self.folder, stdout=output, stderr=output)
        try:
            yield run
        finally:
            run.terminate()
            run.wait()

    def server_s(self) -> float:
        """Return the processor seconds of the server so far, of processes that ended too."""
        return _processor_s(self._server)


def _processor_s(root: psutil.Process) -> float:
    total = 0.0
    for each in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


@contextmanager
def open_world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        with (
            postgres(Path(scratch, "server")).started() as server,
            closing(psycopg.connect(server.address, autocommit=True)) as link,
        ):
            _tables(link)
            record = Path(scratch, "server", "data", "postmaster.pid")
            pid = int(record.read_text().splitlines()[0])
            yield World(Path(scratch), link, server.address, pid)


def lag(commits: int) -> None:
    """Print the lags of a number of commits."""
    with open_world() as world, world.running():
        lags = sorted(_lags_s(world.link, commits))
    _tell_lags(lags)


def _tell_lags(lags: Sequence[float]) -> None:
    p50, p90, p99 = (lags[int(len(lags) * share)] for share in (0.5, 0.9, 0.99))
    sys.stdout.write(
        f"{len(lags)} commits: p50 {p50 * 1000:.0f} ms, p90 {p90 * 1000:.0f} ms,"
        f" p99 {p99 * 1000:.0f} ms, max {lags[-1] * 1000:.0f} ms, load {os.getloadavg()[0]:.0f}\n"
    )


class Profiles:
    """The documents of a topic, read on and on.

    Args:
        bootstrap: Of the broker.
    """

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "bench", "fetch.wait.max.ms": 5}
        )
        self._consumer.assign([TopicPartition("profile", 0, 0)])

    def await_each(self, wanted: Sequence[str]) -> None:
        """Return once documents came with each of some texts."""
        left, until = {each.encode() for each in wanted}, time.monotonic() + _LIMIT_S
        while left:
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                value = message.value() or b""
                left = {each for each in left if each not in value}
            if time.monotonic() > until:
                raise TimeoutError(f"no document has {sorted(left)[:3]}")


def live(commits: int) -> None:
    """Print the lags of a number of commits in real time, after some that do not count."""
    lags = []
    with open_world() as world, kafka(world.folder / "kafka").started() as broker:
        told = _PROJECT.partition("    sink:")[0] + _LIVE
        world.declare(told.format(url=world.address, kafka=broker.address))
        with world.running("--real-time"):
            until = time.monotonic() + _LIMIT_S
            while '"live": true' not in world.said():
                if time.monotonic() > until:
                    raise TimeoutError(world.said())
                time.sleep(_LOOK_S)
            profiles = Profiles(broker.address)
            profiles.await_each([f'"id":{each},' for each in range(1, _CUSTOMERS + 1)])
            for number in range(_FIRST, _FIRST + _WARMING_LIVE + commits):
                customer = random.randrange(1, _CUSTOMERS + 1)
                world.link.execute("insert into purchase values (%s, %s, 1)", (number, customer))
                began_at = time.monotonic()
                profiles.await_each([str(number)])
                lags.append(time.monotonic() - began_at)
                time.sleep(random.uniform(0, 0.3))
    _tell_lags(sorted(lags[_WARMING_LIVE:]))


def rate(changes: int) -> None:
    """Print how many changes a run takes in a second."""
    with open_world() as world, world.running() as run:
        await_row(world.link, "select 1 from profile having count(*) = %s", _CUSTOMERS)
        process = psutil.Process(run.pid)
        began_at, before = time.monotonic(), (_processor_s(process), world.server_s())
        _write(world.link, changes)
        took = time.monotonic() - began_at
        spent = _processor_s(process) - before[0], world.server_s() - before[1]
    _tell(f"{changes} changes", changes, took, spent)


_EXPORTED = """
copy (select i as id, 'n' as name from range(1, {customers} + 1) as t(i))
to '{folder}/customer.parquet' (format parquet);
copy (select i as id, i % {customers} + 1 as customer_id, 1::decimal(10, 2) as amount
from range(1, {purchases} + 1) as t(i)) to '{folder}/purchase.parquet' (format parquet)
"""


def _export(world: World, rows: int) -> str:
    """Write what the tables hold into an export, and return its folder."""
    folder = world.folder / "export"
    folder.mkdir()
    with world.running("begin", "db", command="source") as run:
        run.wait()
    some = {"folder": folder, "customers": rows // 10, "purchases": rows - rows // 10}
    with closing(duckdb.connect()) as made:
        made.execute(_EXPORTED.format(**some))
    return str(folder)


def first(rows: int, *options: str) -> None:
    """Print how long a first run over tables takes."""
    with open_world() as world:
        fill(world.link, rows)
        if options[-1:] == ("parquet",):
            options = (*options, _export(world, rows))
        _tell_run(world, rows, *options)


def _tell_run(world: World, rows: int, *options: str, what: str = "") -> None:
    """Print what a run takes until its documents have all rows."""
    began_at, before = time.monotonic(), world.server_s()
    with world.running("--once", *options) as run:
        used = _watched(psutil.Process(run.pid))
        code = run.wait()
    took = time.monotonic() - began_at
    spent = used, world.server_s() - before
    if code:
        raise RuntimeError(f"the run ended with {code}")
    _shown(world.link, rows - rows // 10, 1)
    await_row(world.link, "select 1 from profile having count(*) = %s", rows // 10)
    _tell(f"{rows} rows {what or ' '.join(options)}", rows, took, spent)


def stream(rows: int) -> None:
    """Print how long the same rows take as changes of the log, from the start of a run on."""
    with open_world() as world:
        with world.running("--once") as run:
            run.wait()
        fill(world.link, rows)
        _tell_run(world, rows, what="by the stream")


def idle(seconds: int) -> None:
    """Print how much of its log a server keeps for a slot while others alone write."""
    with open_world() as world, world.running(command="capture"):
        link, kept, unconfirmed = world.link, list[int](), list[int]()
        await_row(link, "select 1 from pg_replication_slots where confirmed_flush_lsn is not null")
        link.execute("create table foreign_rows (id bigint, filler text)")
        begin = _position(link)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            link.execute(
                "insert into foreign_rows select i, repeat('x', 300) from generate_series(1, %s) i",
                (_FOREIGN_ROWS,),
            )
            kept.append(_after(link, "restart_lsn"))
            unconfirmed.append(_after(link, "confirmed_flush_lsn"))
            time.sleep(_FOREIGN_S)
        written = _position(link) - begin
    sys.stdout.write(
        f"{seconds} s, {written / 2**20:,.0f} MiB of log by others:"
        f" kept at most {max(kept) / 2**20:.1f} MiB, at the end {kept[-1] / 2**20:.1f} MiB;"
        f" not confirmed at most {max(unconfirmed) / 2**20:.1f} MiB,"
        f" load {os.getloadavg()[0]:.0f}\n"
    )


def _position(link: Link) -> int:
    found = link.execute("select (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint").fetchone()
    assert found is not None
    return int(found[0])


def _after(link: Link, place: str) -> int:
    """Return how much of the log is after a place that the slot tells."""
    found = link.execute(
        f"select (pg_current_wal_lsn() - {place})::bigint from pg_replication_slots".encode()
    ).fetchone()
    assert found is not None
    return int(found[0])


def _watched(run: psutil.Process) -> float:
    """Return the processor seconds of a run and all its processes, once it has ended."""
    used: dict[int, float] = {}
    while run.status() != psutil.STATUS_ZOMBIE:
        for each in (run, *run.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                used[each.pid] = times.user + times.system
        time.sleep(_LOOK_S)
    return sum(used.values())


def _tell(what: str, count: int, took: float, spent: tuple[float, float]) -> None:
    sys.stdout.write(
        f"{what}: {took:.1f} s, {count / took:,.0f}/s; processor: run {spent[0]:.1f} s,"
        f" server {spent[1]:.1f} s, {sum(spent) / count * 1e6:.0f} µs each\n"
    )


def main(part: str, count: int | None) -> None:
    """Measure one part."""
    match part:
        case "lag":
            lag(count or 100)
        case "live":
            live(count or 300)
        case "rate":
            rate(count or 200_000)
        case "first":
            first(count or 300_000)
        case "stream":
            stream(count or 300_000)
        case "idle":
            idle(count or 600)
        case "bulk":
            first(count or 300_000, "--bootstrap-from", "database")
        case "parquet":
            first(count or 300_000, "--bootstrap-from", "parquet")
        case _:
            sys.exit(
                "python -m bench.databases.postgres_source"
                " lag|live|rate|idle|stream|first|bulk|parquet [N]"
            )


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "lag", int(sys.argv[2]) if sys.argv[2:] else None)
