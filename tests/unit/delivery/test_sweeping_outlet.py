"""What a product that is built anew has no more goes from its targets, with its batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.unit.delivery.batches import batch, row, sent

from joinery.delivery.outlet import DirectOutlet
from joinery.delivery.sweeping_outlet import Building, SweepingOutlet
from joinery.model.warning import RunWarning
from joinery.sinks.console import ConsoleSink
from joinery.sinks.files import FilesSink
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Sink, StagedBatch, Written
from joinery.sinks.sqlite import SqliteSink

BUILT_IN, VERSION = 2, 20


class Deaf:
    """A target that cannot list what it holds."""

    target = "deaf"
    guarantee = ConsoleSink.guarantee

    def open(self) -> None: ...

    def write(self, batch: StagedBatch) -> Written:
        return Written()

    def close(self) -> None: ...


def outlet(folder: Path, warned: list[RunWarning] | None = None) -> SweepingOutlet:
    sinks: list[Sink] = [FilesSink(folder / "out")]
    if warned is not None:
        sinks.append(Deaf())
    building = Building(lambda: BUILT_IN, lambda batch: VERSION, folder / "anew.json")
    told: list[RunWarning] = [] if warned is None else warned
    return SweepingOutlet(DirectOutlet(sinks), sinks, building, told.append)


def test_the_batch_that_builds_takes_back_what_it_has_not(tmp_path: Path) -> None:
    ours = outlet(tmp_path)
    ours.open()
    ours.write(batch(tmp_path, 1, row(1, 10), row(2, 10), row(3, 10), query_id="q"))
    built = batch(tmp_path, BUILT_IN, row(2, VERSION), row(4, VERSION), query_id="q")

    ours.write(built)
    ours.close()

    first = [('{"id":1}', True), ('{"id":2}', True), ('{"id":3}', True)]
    second = [('{"id":2}', True), ('{"id":4}', True), ('{"id":1}', False), ('{"id":3}', False)]
    assert [first, second] == sent(tmp_path)
    (file,) = (each for each in (tmp_path / "out").iterdir() if each.name.count("2.jsonl"))
    assert {VERSION} == {each.version for each in read_rows([file])}


def test_it_takes_back_the_same_when_it_runs_again_and_others_take_back_nothing(
    tmp_path: Path,
) -> None:
    ours = outlet(tmp_path)
    ours.open()
    ours.write(batch(tmp_path, 1, row(1, 10), query_id="q"))
    built = batch(tmp_path, BUILT_IN, row(2, VERSION), query_id="q")
    ours.write(built)
    once = sent(tmp_path)
    ours.close()
    again = outlet(tmp_path)
    again.open()

    again.write(built)

    assert once == sent(tmp_path)
    assert [[('{"id":1}', True)], [('{"id":2}', True), ('{"id":1}', False)]] == once
    again.write(batch(tmp_path, BUILT_IN + 1, row(5, 30), query_id="q"))
    again.close()
    assert [('{"id":5}', True)] == sent(tmp_path)[-1]
    assert not (tmp_path / "anew.json").exists()


def test_a_target_that_cannot_list_is_told(tmp_path: Path) -> None:
    warned: list[RunWarning] = []
    ours = outlet(tmp_path, warned)
    ours.open()
    ours.write(batch(tmp_path, 1, row(1, 10), row(2, 10), query_id="q"))

    ours.write(batch(tmp_path, BUILT_IN, row(2, VERSION), query_id="q"))
    ours.close()

    assert [('{"id":2}', True), ('{"id":1}', False)] == sent(tmp_path)[-1]
    assert ["WARN_NOT_SWEPT"] == [each.code for each in warned]


def test_a_document_under_the_key_of_before_goes_from_the_target_that_holds_it_alone(
    tmp_path: Path,
) -> None:
    """A table has no place for a key of other columns."""
    sinks: list[Sink] = [FilesSink(tmp_path / "out"), SqliteSink(tmp_path / "db.sqlite", "p")]
    building = Building(lambda: BUILT_IN, lambda batch: VERSION, tmp_path / "anew.json")
    ours = SweepingOutlet(DirectOutlet(sinks), sinks, building, lambda warning: None)
    old = batch(tmp_path, 1, StagedRow('{"city":"x"}', '{"n":1}', 10), query_id="q")
    DirectOutlet(sinks[:1]).write(old)
    ours.open()

    ours.write(batch(tmp_path, BUILT_IN, row(2, VERSION), query_id="q"))

    assert [[('{"id":2}', True)], [('{"city":"x"}', False)]] == sent(tmp_path)[1:]
    listed = [[*each.keys(old)] for each in sinks if isinstance(each, FilesSink | SqliteSink)]
    assert [['{"id":2}'], ['{"id":2}']] == listed
    ours.close()


class Placed:
    """A part that a task left elsewhere."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def fetch(self, target: Path) -> None:
        target.write_bytes(self._file.read_bytes())


def test_parts_that_tasks_left_are_fetched_and_written_by_the_driver(tmp_path: Path) -> None:
    class Watched(FilesSink):
        by_driver = False

        def write(self, batch: StagedBatch) -> Written:
            self.by_driver = batch.by_driver and not batch.apart
            return super().write(batch)

    sink = Watched(tmp_path / "out")
    building = Building(lambda: BUILT_IN, lambda batch: VERSION, tmp_path / "anew.json")
    ours = SweepingOutlet(DirectOutlet([sink]), [sink], building, lambda warning: None)
    ours.open()
    ours.write(batch(tmp_path, 1, row(1, 10), row(2, 10), query_id="q"))
    assert not sink.by_driver
    built = batch(tmp_path, BUILT_IN, row(2, VERSION), row(4, VERSION), query_id="q")
    apart: Any = ((3, Placed(built.files[0])),)

    ours.write(replace(built, files=(), apart=apart))
    ours.close()

    assert [('{"id":2}', True), ('{"id":4}', True), ('{"id":1}', False)] == sent(tmp_path)[-1]
    assert sink.by_driver
