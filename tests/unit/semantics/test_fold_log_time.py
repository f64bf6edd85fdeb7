"""An event that is told twice is one event, though its log took it at two times."""

from __future__ import annotations

from pathlib import Path

import joinery as jn
from joinery.testing import Driver
from joinery.testing.changes import insert

PROJECT = """\
name: bank
sources: {log: {kafka: {bootstrap: "127.0.0.1:9092"}}}
defaults: {source: log, format: json}
relations:
  entry:
    append: true
    key: [account, n]
    fields: {account: long, n: long, type: string, cents: long, at: timestamp, sent: timestamp}
    time: {event: at, sent: sent, received: $log}
products:
  account:
    fold: entry
    by: [account]
    sequence: n
    state: {cents: "long = 0"}
    when: {Deposited: {cents: cents + event.cents}}
    sink: {files: {path: out}}
"""


def test_the_time_of_the_log_tells_no_two_events_apart(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    driver = Driver(jn.load(file).products["account"])
    at = "2026-03-01T10:00:00Z"
    event = insert("entry", account=1, n=1, type="Deposited", cents=5, at=at, sent=at)

    driver.send([event.logged("2026-03-01T10:00:01Z")], [event.logged("2026-03-01T10:00:09Z")])

    assert [{"account": 1, "cents": 5}] == [*driver.documents().values()]
    assert () == tuple(driver.dead_letters)
