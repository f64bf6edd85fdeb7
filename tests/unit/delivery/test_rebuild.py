"""What a rebuild sends stays, whatever runs again after it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.delivery.batches import batch, row, sent

from joinery.delivery.held_row import told_line
from joinery.delivery.hold import Hold
from joinery.delivery.lease import Lease
from joinery.delivery.outlet import DirectOutlet
from joinery.delivery.rebuild import RebuildOutlet, Swap
from joinery.model.warning import warn
from joinery.sinks.files import FilesSink
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import SinkError, StagedBatch, Written

LAST = 2


def values(folder: Path) -> list[str | None]:
    """Return the documents that were sent, in order."""
    return [each.value for each in read_rows(sorted((folder / "out").glob("*.jsonl")))]


class Target(FilesSink):
    """Files on a disk that may be away."""

    away = False

    def write(self, batch: StagedBatch) -> Written:
        if self.away:
            raise SinkError("the disk is away")
        return super().write(batch)


@pytest.fixture
def sink(tmp_path: Path) -> Target:
    return Target(tmp_path / "out")


@pytest.fixture
def marked() -> threading.Event:
    return threading.Event()


@pytest.fixture
def rebuild(tmp_path: Path, sink: FilesSink, marked: threading.Event) -> Iterator[RebuildOutlet]:
    lease = Lease(tmp_path / "p.lease", "p")
    swap = Swap(lease, 1, ended=lambda: False, on_done=marked.set)
    hold = Hold(tmp_path / "rebuild.sqlite")
    outlet = RebuildOutlet([sink], hold, lambda batch_id: batch_id >= LAST, swap, warn)
    outlet.open()
    yield outlet
    outlet.close()


def test_the_last_batch_of_a_rebuild_runs_again_beside_what_it_sent(
    tmp_path: Path, sink: FilesSink, rebuild: RebuildOutlet, marked: threading.Event
) -> None:
    rebuild.write(batch(tmp_path, 1, row(1, 10), row(2, 10)))
    rebuild.write(batch(tmp_path, LAST, row(3, 20)))
    assert marked.is_set()

    plain = DirectOutlet([sink])
    plain.write(batch(tmp_path, LAST, row(3, 20)))
    plain.write(batch(tmp_path, LAST + 1, row(1, 30)))

    whole = [('{"id":1}', True), ('{"id":2}', True), ('{"id":3}', True)]
    assert [[('{"id":3}', True)], whole, [('{"id":1}', True)]] == sent(tmp_path)


def test_a_rebuild_that_sends_again_keeps_the_tombstones_that_it_has_sent(
    tmp_path: Path, sink: FilesSink, rebuild: RebuildOutlet
) -> None:
    DirectOutlet([sink]).write(batch(tmp_path, 0, row(9, 1), query_id="q1"))
    rebuild.write(batch(tmp_path, LAST, row(1, 20)))

    rebuild.write(batch(tmp_path, LAST, row(1, 20)))

    files = sent(tmp_path)
    assert [('{"id":9}', True)] == files[0]
    assert [('{"id":1}', True), ('{"id":9}', False)] == files[1]
    assert [('{"id":1}', True)] == files[2]
    assert ['{"id":1}'] == list(sink.keys(batch(tmp_path, 0)))


def test_a_document_under_the_key_of_before_is_taken_back_apart(
    tmp_path: Path, rebuild: RebuildOutlet
) -> None:
    old = batch(tmp_path, 0, StagedRow('{"city":"x"}', '{"n":1}', 1), query_id="q1")
    DirectOutlet([FilesSink(tmp_path / "out")]).write(old)

    rebuild.write(batch(tmp_path, LAST, row(1, 20)))

    assert [[('{"id":1}', True)], [('{"city":"x"}', False)]] == sent(tmp_path)[1:]


def test_of_a_key_that_the_last_batch_has_nothing_that_was_held_is_sent(
    tmp_path: Path, rebuild: RebuildOutlet
) -> None:
    rebuild.write(batch(tmp_path, 0, row(1, 10, "old"), row(2, 10, "kept")))
    rebuild.write(batch(tmp_path, LAST, row(1, 20, "new"), StagedRow('{"id":3}', None, 20)))

    assert ['{"id":2,"name":"kept"}', '{"id":1,"name":"new"}', None] == values(tmp_path)


def test_a_last_batch_that_could_not_be_sent_sends_all_when_it_runs_again(
    tmp_path: Path, sink: Target, rebuild: RebuildOutlet
) -> None:
    last = batch(tmp_path, LAST, row(1, 20, "new"))
    rebuild.write(batch(tmp_path, 0, row(1, 10, "old"), row(2, 10, "kept")))
    sink.away = True
    with pytest.raises(SinkError):
        rebuild.write(last)
    sink.away = False

    rebuild.write(last)

    assert ['{"id":2,"name":"kept"}', '{"id":1,"name":"new"}'] == values(tmp_path)


def test_a_last_batch_of_a_product_that_settles_keeps_its_digits(
    tmp_path: Path, rebuild: RebuildOutlet
) -> None:
    last = batch(tmp_path, LAST)
    price = StagedRow('{"id":1}', '{"price":1.50}', 20)
    last.files[0].write_text(told_line(price.line(), "", "9f"))

    rebuild.write(last)

    assert ['{"price":1.50}'] == values(tmp_path)
