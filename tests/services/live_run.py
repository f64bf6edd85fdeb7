"""A run of the command line in a process of its own, and the topics it writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from tests.looking import rest

WAIT_S = 300.0


@dataclass(frozen=True, slots=True)
class Record:
    """A document as it stands in a topic; `value` is None for a tombstone."""

    key: str
    value: Any
    version: int


@dataclass(slots=True)
class LiveRun:
    """A `joinery run` that goes on until it is ended."""

    folder: Path
    process: subprocess.Popen[bytes]
    log: Path

    def is_live(self) -> bool:
        """Return whether real-time mode has begun to send."""
        return any(each.get("live") for each in self.lines())

    def until(self, condition: Callable[[], bool], what: str | Callable[[], str]) -> None:
        """Wait until a condition holds while the run goes on; `what` tells what is missing."""
        begun = time.monotonic()
        deadline = begun + WAIT_S
        while not condition():
            assert self.process.poll() is None, self.said()
            if time.monotonic() > deadline:
                raise AssertionError(f"waited for {what if isinstance(what, str) else what()}")
            rest(begun, 0.1)
            begun = time.monotonic()

    def stop(self) -> int:
        """End it as a user does, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_S)

    def kill(self) -> None:
        """End it without warning, and what it started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT_S)

    def said(self) -> str:
        """Return what it has written so far."""
        return self.log.read_text(encoding="utf-8")

    def lines(self) -> list[Mapping[str, Any]]:
        """Return its progress, line by line; one that is still being written comes later."""
        whole, _, _ = self.said().rpartition("\n")
        return [json.loads(each) for each in whole.splitlines() if each[:1] == "{"]


@contextmanager
def live_run(folder: Path, *options: str) -> Iterator[LiveRun]:
    """Run the project in `folder` until the block ends."""
    log = folder / f"run-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "joinery.cli.main", "run", str(folder / "joinery.yaml")]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, *options], stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    run = LiveRun(folder, process, log)
    try:
        yield run
    finally:
        if process.poll() is None:
            run.kill()


@dataclass(slots=True)
class Topic:
    """What a topic holds, read on with each look."""

    bootstrap: str
    name: str
    records: list[Record] = field(default_factory=list)
    _at: dict[int, int] = field(default_factory=dict)
    _consumer: Consumer | None = None

    def read(self) -> list[Record]:
        """Return all records so far, each partition in order."""
        if self._consumer is None:  # kept: a test looks ten times a second
            told = {"bootstrap.servers": self.bootstrap, "group.id": "look", "log_level": 0}
            self._consumer = Consumer(told)
        consumer = self._consumer
        found = consumer.list_topics(self.name, 30).topics[self.name]
        if found.error is not None:
            return self.records
        for partition in found.partitions:
            place = TopicPartition(self.name, partition)
            _, end = consumer.get_watermark_offsets(place, timeout=30)
            at = self._at.get(partition, 0)
            if at < end:
                self._take(consumer, TopicPartition(self.name, partition, at), end)
        consumer.unassign()
        return self.records

    def _take(self, consumer: Consumer, place: TopicPartition, end: int) -> None:
        consumer.assign([place])
        while self._at.get(place.partition, place.offset) < end:
            message = consumer.poll(5)
            position = consumer.position([TopicPartition(self.name, place.partition)])[0].offset
            self._at[place.partition] = max(position, self._at.get(place.partition, 0))
            if message is not None and message.error() is None:
                self.records.append(_record(message))

    def newest(self) -> dict[str, Any]:
        """Return the value of the highest version of each key, without what is deleted."""
        newest: dict[str, Record] = {}
        for each in self.read():
            known = newest.get(each.key)
            if known is None or known.version <= each.version:
                newest[each.key] = each
        return {key: each.value for key, each in newest.items() if each.value is not None}

    def check_versions(self) -> None:
        """Require that the version of each key rises from record to record."""
        last: dict[str, Record] = {}
        for each in self.read():
            known = last.get(each.key)
            assert known is None or known.version < each.version, (known, each)
            last[each.key] = each


def _record(message: Any) -> Record:
    headers = dict(message.headers() or ())
    value = message.value()
    return Record(
        key=(message.key() or b"").decode(),
        value=None if value is None else json.loads(value),
        version=int(headers.get("joinery.version", b"0")),
    )
