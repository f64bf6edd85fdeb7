"""Batches of many products are written at a time where their sinks wait for a disk."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.delivery.batches import batch, row

from joinery.delivery.outlet import DirectOutlet, PatientSink
from joinery.delivery.side_by_side import write_all
from joinery.delivery.timed import SinkTimes, TimedSink
from joinery.sinks.files import FilesSink
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Guarantee, Sink, SinkError, StagedBatch, Written

ROW = row(1, 7)


class Target:
    """A sink that remembers what it was given, batch by batch."""

    guarantee = Guarantee(summary="remembers")
    target = "target"

    def __init__(self) -> None:
        self.batches: list[tuple[int, list[StagedRow]]] = []
        self.failure: Exception | None = None

    def open(self) -> None: ...

    def close(self) -> None: ...

    def write(self, batch: StagedBatch) -> Written:
        if self.failure is not None:
            raise self.failure
        self.batches.append((batch.batch_id, list(read_rows(batch.files))))
        return Written()


class DiskTarget(Target):
    """Waits until as many write as there are, which only writers at a time can reach."""

    waits_for_disk = True

    def __init__(self, together: threading.Barrier) -> None:
        super().__init__()
        self._together = together

    def write(self, batch: StagedBatch) -> Written:
        self._together.wait(timeout=60)
        return super().write(batch)


def outlet_of(sink: Sink) -> DirectOutlet:
    return DirectOutlet([TimedSink(PatientSink(sink, "p"), SinkTimes())])


@pytest.fixture
def made(tmp_path: Path) -> StagedBatch:
    return batch(tmp_path, 3, ROW)


def test_sinks_that_wait_for_a_disk_are_written_at_a_time(made: StagedBatch) -> None:
    """In turn the first of them would wait for the second forever."""
    together = threading.Barrier(2)
    targets = [DiskTarget(together), Target(), DiskTarget(together)]

    written = write_all([(outlet_of(each), made) for each in targets])

    assert [1, 1, 1] == [len(each) for each in written]
    assert all([(3, [ROW])] == each.batches for each in targets)


def test_what_fails_is_raised_once_no_write_goes_on(made: StagedBatch) -> None:
    together = threading.Barrier(2)
    failing, other = DiskTarget(together), DiskTarget(together)
    failing.failure = SinkError("full")

    with pytest.raises(SinkError, match="full"):
        write_all([(outlet_of(each), made) for each in (failing, other)])

    assert [(3, [ROW])] == other.batches


@pytest.mark.parametrize("disk", [False, True])
def test_all_else_is_written_by_the_thread_that_opened_it(made: StagedBatch, disk: bool) -> None:
    """Also the one sink that waits for a disk and has documents: no thread is made for it."""
    threads: list[threading.Thread] = []

    class Bound(Target):
        waits_for_disk = disk

        def write(self, batch: StagedBatch) -> Written:
            threads.append(threading.current_thread())
            return super().write(batch)

    ways = [
        (outlet_of(Bound()), each) for each in (made, replace(made, files=()) if disk else made)
    ]
    written = write_all(ways)

    assert {threading.current_thread()} == {*threads}
    assert [1, int(not disk)] == [len(each) for each in written]


def test_files_wait_for_a_disk(tmp_path: Path) -> None:
    assert outlet_of(FilesSink(tmp_path)).waits_for_disk
    assert not outlet_of(Target()).waits_for_disk
    assert not DirectOutlet([FilesSink(tmp_path), Target()]).waits_for_disk
