"""What tasks hand over is sent, counted and told to be written; a failure ends the query."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from joinery.model.batch import Counts
from joinery.spark.real_time.handover import Handed, HandoverWriter


class Tasks:
    """Hand over what a test says, once."""

    def __init__(self, *told: Mapping[str, Any] | Exception) -> None:
        self._told = list(told)
        self.written = 0
        self.closed = False
        self.all_taken = threading.Event()

    def take(self, folder: Path, wait_ms: int) -> str:
        if not self._told:
            self.all_taken.set()
            threading.Event().wait(wait_ms / 1000)
            return ""
        told = self._told.pop(0)
        if isinstance(told, Exception):
            raise told
        return json.dumps(told)

    def done(self) -> None:
        self.written += 1

    def close(self) -> None:
        self.closed = True


class Query:
    """Takes documents, or fails."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self._failure = failure
        self.sent: list[Handed] = []
        self.failed: list[Exception] = []
        self.has_failed = threading.Event()

    def send_live(self, handed: Handed, query_id: str) -> Mapping[str, Counts]:
        self.sent.append(handed)
        if self._failure is not None:
            raise self._failure
        return {name: {"refused": 1, "older": 2} for name in handed.documents}

    def fail(self, error: Exception) -> None:
        self.failed.append(error)
        self.has_failed.set()


def told(interval: int, letters: int = 0) -> Mapping[str, Any]:
    return {"interval": interval, "products": {"letters": 1}, "letters": letters}


def begun(tasks: Tasks, query: Query) -> HandoverWriter:
    writer = HandoverWriter("profile", cast("Any", tasks), query)
    writer.begin("id")
    return writer


def test_what_is_sent_is_told_to_be_written_and_what_sinks_counted_adds_up() -> None:
    tasks, query = Tasks(told(3), told(4)), Query()

    writer = begun(tasks, query)
    assert tasks.all_taken.wait(60)
    writer.close()

    assert [3, 4] == [each.interval for each in query.sent]
    assert 2 == tasks.written
    assert {
        "counters": {"letters": {"refused": 2, "older": 4}},
        "dead_letters": {"": {"count": 2}},
    } == writer.counts()
    assert tasks.closed


def test_the_file_of_dead_letters_is_that_of_no_product() -> None:
    tasks, query = Tasks(told(3, letters=1)), Query()

    writer = begun(tasks, query)
    assert tasks.all_taken.wait(60)
    writer.close()

    (handed,) = query.sent
    assert "letters.jsonl" == handed.documents["letters"].name
    assert handed.letters is not None
    assert handed.documents["letters"] != handed.letters


def test_what_cannot_be_sent_ends_the_query_at_once() -> None:
    tasks, query = Tasks(told(3)), Query(ValueError("the index maps it differently"))

    writer = begun(tasks, query)
    assert query.has_failed.wait(60)
    writer.close()

    assert ["the index maps it differently"] == [str(each) for each in query.failed]
    assert 0 == tasks.written


def test_what_a_sink_raises_past_exceptions_ends_the_query_at_once() -> None:
    tasks, query = Tasks(told(3)), Query(asyncio.CancelledError())

    writer = begun(tasks, query)
    assert query.has_failed.wait(60)
    writer.close()

    assert ["RUN CancelledError was raised by what sends it"] == [
        str(each) for each in query.failed
    ]
    assert 0 == tasks.written


def test_a_disk_that_takes_no_notes_ends_the_query_at_once() -> None:
    tasks, query = Tasks(OSError("no space left")), Query()

    writer = begun(tasks, query)
    assert query.has_failed.wait(60)
    writer.close()

    assert ["no space left"] == [str(each) for each in query.failed]


def test_what_goes_out_before_the_first_commit_is_of_no_batch() -> None:
    """Else the target has a batch that the checkpoint, after a kill, has not begun."""
    assert -1 == Handed(0, {}, None).last_batch
    assert 4 == Handed(5, {}, None).last_batch
