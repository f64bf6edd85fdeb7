"""The first reading of a table of MariaDB: in chunks beside the log, and by the connector at once.

Starts a server, fills a table with five columns, and captures it twice, each into a spool of its
own: as a source without and with an `append` relation. Prints the time from the start of the
capture, its Java process included, until all rows are in the spool; the processor time of both
and of the server; and how long the longest transaction of the server was open.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from joinery.capture.capture import Capture, CaptureOptions
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import SpoolFolder
from joinery.clients.mysql import MysqlLink
from joinery.dev.mariadb import mariadb
from joinery.project.mysql_address import MysqlAddress
from joinery.spark.jar import capture_jar

_LOOK_S = 0.05
_TABLE = (
    "create table purchase (id bigint primary key, customer_id bigint, amount decimal(10,2),"
    " at datetime(3), note varchar(80))"
)
_OPEN = (
    "select coalesce(max(timestampdiff(microsecond, trx_started, now(6))), 0) / 1e6"
    " from information_schema.innodb_trx"
)


@dataclass(slots=True)
class Watch:
    """Looks again and again how long the oldest open transaction of a server is open."""

    link: MysqlLink
    longest_s: float = 0.0
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look for the length of a block."""
        thread = threading.Thread(target=self._look)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            [(open_s,)] = self.link.rows(_OPEN)
            self.longest_s = max(self.longest_s, float(open_s))


def fill(link: MysqlLink, rows: int) -> None:
    """Make the table."""
    link.rows("drop table if exists purchase")
    link.rows(_TABLE)
    link.rows(
        "insert into purchase select seq, seq % 1000, seq / 7, '2026-01-31 12:00:00.5',"
        f" concat('purchase number ', seq) from seq_1_to_{rows}"
    )


def read(url: str, folder: Path, *, once: bool) -> tuple[float, float]:
    """Capture the table; return the seconds until it is read, and those of processors."""
    name = MysqlAddress.of(url).database
    database = MysqlDatabase(url, "joinery_bench", (f"{name}.purchase",), 3_000_000_001)
    spool = SpoolFolder.claim(folder, slot=database.slot, tables=database.tables)
    capture = Capture(database, spool, CaptureOptions(name="b", program=capture_jar, once=once))
    began_at, used = time.monotonic(), _used_s()
    capture.start()
    try:
        capture.reach_end()
        took = time.monotonic() - began_at, _used_s() - used
    finally:
        capture.close()
    lines = sum(e.read_bytes().count(b"\n") for e in folder.glob("files/*/*.jsonl"))
    with closing(MysqlLink(MysqlAddress.of(url))) as link:
        [(rows,)] = link.rows("select count(*) from purchase")
    if lines != rows:
        raise RuntimeError(f"{lines} lines of {rows} rows")
    return took


def _used_s() -> float:
    """Return the processor seconds of this process and those that it started."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def main() -> None:
    """Read, and print what was found."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.databases.mysql_reading", description=__doc__
    )
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()
    with (
        TemporaryDirectory() as scratch,
        mariadb(Path(scratch) / "server").started() as server,
        closing(MysqlLink(MysqlAddress.of(server.address))) as link,
    ):
        fill(link, chosen.rows)
        for number in range(chosen.rounds):
            for once, how in ((False, "in chunks"), (True, "by the connector")):
                watch, spool = Watch(link), Path(scratch) / f"{number}{once}"
                with watch.watching():
                    took_s, used_s = read(server.address, spool, once=once)
                sys.stdout.write(
                    f"{how}: {chosen.rows:,} rows in {took_s:.1f} s"
                    f" ({chosen.rows / took_s:,.0f}/s), {used_s:.1f} processor s, longest"
                    f" transaction {watch.longest_s:.2f} s; load {os.getloadavg()[0]:.0f}\n"
                )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
