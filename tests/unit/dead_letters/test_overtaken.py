"""A document is not sent where something newer may have come since, deletes included."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from joinery.dead_letters.overtaken import overtaken
from joinery.model.type import LONG, Field, Struct
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import (
    Guarantee,
    LogVersions,
    Sink,
    StagedBatch,
    WrappingSink,
    Written,
)

NOW = 1_000_000_000_000
DAY_MS = 86_400_000
DAY = DAY_MS * 1000
BATCH = StagedBatch(
    product="p",
    query="p",
    query_id="q",
    batch_id=0,
    files=(),
    key=Struct((Field("id", LONG),)),
    value=Struct((Field("id", LONG),)),
)


class KeepingSink:
    """A sink that keeps the newest document of each key."""

    guarantee = Guarantee(summary="")
    target = "here"

    def open(self) -> None: ...

    def write(self, batch: StagedBatch) -> Written:
        return Written()

    def close(self) -> None: ...


class LogSink(KeepingSink):
    """A sink that keeps a log."""

    def __init__(self, highest: Mapping[str, int], deletes_ms: int | None = DAY_MS) -> None:
        self.highest, self.deletes_ms = highest, deletes_ms

    def log_versions(self, batch: StagedBatch, keys: Collection[str]) -> LogVersions:
        found = {each: self.highest[each] for each in keys if each in self.highest}
        return LogVersions(highest=found, deletes_ms=self.deletes_ms)


def late(
    sink: Sink, *versions: tuple[int, int], deletes_ms: int | None = 7 * DAY_MS
) -> dict[str, str]:
    """Return what comes too late of documents, by the numbers of their keys."""
    rows = [StagedRow(f'{{"id":{key}}}', "{}", version) for key, version in versions]
    return overtaken(sink, BATCH, rows, deletes_ms=deletes_ms, now_us=NOW)


def test_what_is_younger_than_deletes_are_remembered_is_sent() -> None:
    found = late(KeepingSink(), (1, NOW - 7 * DAY), (2, NOW - 7 * DAY - 1))

    assert ['{"id":2}'] == list(found)


def test_a_log_with_a_newer_version_keeps_it_and_tells_which() -> None:
    log = LogSink({'{"id":1}': NOW - 1, '{"id":2}': NOW - 3})

    found = late(log, (1, NOW - 2), (2, NOW - 2), (3, NOW - 2))

    newer = (
        f"here has version {NOW - 1} of it, which is newer than {NOW - 2}. Drop the dead letter."
    )
    assert {'{"id":1}': newer} == found


def test_a_log_goes_by_how_long_it_keeps_deletes_itself() -> None:
    found = late(LogSink({'{"id":2}': NOW - 3 * DAY}), (1, NOW - 2 * DAY), (2, NOW - 2 * DAY))

    assert ['{"id":1}'] == list(found)
    assert "it is older than 1d, for which here remembers deletes" in found['{"id":1}']


@pytest.mark.parametrize(
    ("sink", "deletes_ms"),
    [
        (LogSink({}, deletes_ms=None), DAY_MS),
        (LogSink({}), None),
        (KeepingSink(), None),
    ],
    ids=["a log that forgets nothing", "a log of events", "a table of events"],
)
def test_where_no_delete_is_forgotten_age_does_not_matter(
    sink: Sink, deletes_ms: int | None
) -> None:
    assert {} == late(sink, (1, 0), deletes_ms=deletes_ms)


def test_the_log_behind_a_sink_in_front_of_it_is_read() -> None:
    behind = WrappingSink(WrappingSink(LogSink({'{"id":1}': NOW})))

    assert ['{"id":1}'] == list(late(behind, (1, NOW - 1)))
