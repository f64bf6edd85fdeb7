"""Documents go out at once, when a product is ready, or when a key has settled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from joinery.delivery.held_outlet import GatedOutlet, SettlingOutlet
from joinery.delivery.hold import Hold
from joinery.delivery.outlet import Delaying, DirectOutlet, SinkResult
from joinery.delivery.timed import SinkTimes, TimedSink
from joinery.errors import RunError
from joinery.model.type import Atomic, Field, Struct
from joinery.sinks.files import FilesSink
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Guarantee, Refusal, Sink, SinkError, StagedBatch, Written

KEY = Struct((Field("id", Atomic("long")),))


class Target:
    """A sink that remembers what it was given, batch by batch."""

    guarantee = Guarantee(summary="remembers")
    target = "target"

    def __init__(self) -> None:
        self.batches: list[tuple[int, list[StagedRow]]] = []
        self.after: list[int] = []
        self.failure: BaseException | None = None
        self.refused: tuple[Refusal, ...] = ()

    def open(self) -> None: ...

    def close(self) -> None: ...

    def write(self, batch: StagedBatch) -> Written:
        if self.failure is not None:
            raise self.failure
        self.batches.append((batch.batch_id, list(read_rows(batch.files))))
        self.after.append(batch.after)
        return Written(refused=self.refused)


class Staging:
    """Makes staged batches in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def batch(self, batch_id: int, *rows: StagedRow) -> StagedBatch:
        part = self._folder / f"{batch_id}.jsonl"
        part.write_text("".join(row.line() for row in rows))
        return self.made(query_id="q", batch_id=batch_id, files=(part,) if rows else ())

    def made(self, *, query_id: str, batch_id: int, files: tuple[Path, ...]) -> StagedBatch:
        return StagedBatch(
            product="p",
            query="p",
            query_id=query_id,
            batch_id=batch_id,
            files=files,
            key=KEY,
            value=KEY,
        )


def row(id: int, version: int, value: str | None = "") -> StagedRow:
    text = f'{{"id":{id},"version":{version}}}' if value == "" else value
    return StagedRow(f'{{"id":{id}}}', text, version)


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path)


class Noted:
    """What a settling outlet told."""

    def __init__(self) -> None:
        self.outcomes: list[SinkResult] = []
        self.errors: list[Exception] = []
        self.failed = threading.Event()

    def tell(self, outcomes: Sequence[SinkResult]) -> None:
        self.outcomes += outcomes

    def fail(self, error: Exception) -> None:
        self.errors.append(error)
        self.failed.set()


class Crashing(Noted):
    """Fails once a flush was written, before it is forgotten."""

    def tell(self, outcomes: Sequence[SinkResult]) -> None:
        raise SinkError("killed")


def settling(
    tmp_path: Path, target: Sink, settle_s: float, noted: Noted | None = None
) -> SettlingOutlet:
    told = noted or Noted()
    return SettlingOutlet(
        DirectOutlet([target]),
        Hold(tmp_path / "held.sqlite"),
        settle_s=settle_s,
        delaying=Delaying(Staging(tmp_path).made, told.tell, told.fail),
    )


def gated(tmp_path: Path, target: Target, reached: Callable[[int], bool]) -> GatedOutlet:
    return GatedOutlet(DirectOutlet([target]), Hold(tmp_path / "held.sqlite"), reached)


def filed(tmp_path: Path) -> list[list[StagedRow]]:
    """Return the rows of each file of a sink, in the order of their names."""
    return [list(read_rows([each])) for each in sorted((tmp_path / "out").glob("*.jsonl"))]


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "this did not come about"
        threading.Event().wait(0.005)


def test_a_batch_without_documents_reaches_no_sink(target: Target, staging: Staging) -> None:
    assert DirectOutlet([target]).write(staging.batch(1)) == ()

    assert target.batches == []


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ValueError("no"), "ValueError: no"),
        (SystemExit(3), "SystemExit: 3"),  # else the thread of the batch ends, and the run hangs
    ],
)
def test_what_a_sink_raises_is_told_with_product_and_target(
    target: Target, staging: Staging, failure: BaseException, told: str
) -> None:
    target.failure = failure

    with pytest.raises(RunError) as raised:
        DirectOutlet([target]).write(staging.batch(1, row(1, 1)))

    assert f'could not write documents of "p" to target: {told}' == raised.value.message


def test_a_sink_that_does_not_say_what_it_wrote_is_told_so(
    target: Target, staging: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "write", lambda batch: None)

    with pytest.raises(RunError, match="write returned NoneType, not a Written"):
        DirectOutlet([target]).write(staging.batch(1, row(1, 1)))


def test_a_sink_that_cannot_be_opened_is_told_with_its_target(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "open", lambda: 1 / 0)

    with pytest.raises(RunError, match="could not open target: ZeroDivisionError"):
        DirectOutlet([target]).open()


def test_a_sink_that_cannot_be_closed_keeps_no_other_open(
    target: Target, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other, closed = Target(), list[str]()
    monkeypatch.setattr(target, "close", lambda: 1 / 0)
    monkeypatch.setattr(other, "close", lambda: closed.append("other"))

    DirectOutlet([target, other]).close()

    assert ["other"] == closed
    assert "could not close target: ZeroDivisionError" in caplog.text


def test_what_a_target_takes_is_told_once(target: Target, staging: Staging) -> None:
    times, clock = SinkTimes(), iter([10.0, 10.25, 20.0, 20.5])
    outlet = DirectOutlet([TimedSink(target, times, clock=lambda: next(clock))])

    outlet.write(staging.batch(1, row(1, 1)))
    outlet.write(staging.batch(2, row(1, 2)))

    assert {"target": 750} == times.take()
    assert {} == times.take()


def test_a_gate_sends_the_newest_of_each_key_once_it_opens(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    outlet = gated(tmp_path, target, lambda batch_id: batch_id >= 2)
    outlet.open()

    outlet.write(staging.batch(0, row(1, 10), row(2, 10)))
    outlet.write(staging.batch(1, row(1, 20)))
    outlet.write(staging.batch(2, row(3, 30)))
    outlet.write(staging.batch(3, row(1, 40)))

    assert target.batches == [(2, [row(1, 20), row(2, 10), row(3, 30)]), (3, [row(1, 40)])]


def test_a_gate_opens_with_a_batch_that_has_no_documents(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    outlet = gated(tmp_path, target, lambda batch_id: batch_id >= 1)
    outlet.open()

    outlet.write(staging.batch(0, row(1, 10)))
    outlet.write(staging.batch(1))

    assert target.batches == [(1, [row(1, 10)])]


def test_the_batch_that_opened_a_gate_sends_the_same_again_after_a_crash(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    first = gated(tmp_path, target, lambda batch_id: batch_id >= 1)
    first.open()
    first.write(staging.batch(0, row(1, 10)))
    first.write(staging.batch(1, row(2, 20)))
    first.close()

    second = gated(tmp_path, target, lambda batch_id: batch_id >= 1)
    second.open()
    second.write(staging.batch(1, row(2, 20)))

    assert target.batches == [(1, [row(1, 10), row(2, 20)])] * 2


def test_a_key_that_changes_often_is_sent_once_it_is_quiet(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    outlet = settling(tmp_path, target, settle_s=1.0)
    outlet.open()

    outlet.write(staging.batch(0, row(1, 10)))
    outlet.write(staging.batch(1, row(1, 20)))
    outlet.write(staging.batch(2, row(1, 30)))
    wait_for(lambda: bool(target.batches))
    outlet.close()

    assert target.batches == [(2, [row(1, 30)])]


def test_a_key_that_never_rests_is_sent_all_the_same(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    outlet = settling(tmp_path, target, settle_s=0.2)
    outlet.open()
    version = 0

    while not target.batches:
        version += 1
        outlet.write(staging.batch(version, row(1, version)))
    outlet.close()

    assert 1 < target.batches[0][1][0].version <= version


def test_draining_sends_what_is_not_quiet_yet(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    outlet = settling(tmp_path, target, settle_s=3600)
    outlet.open()
    outlet.write(staging.batch(0, row(1, 10), row(2, 11, None)))

    outlet.drain()
    outlet.close()

    assert target.batches == [(0, [row(1, 10), row(2, 11, None)])]


def test_what_waits_survives_a_stop(tmp_path: Path, target: Target, staging: Staging) -> None:
    first = settling(tmp_path, target, settle_s=3600)
    first.open()
    first.write(staging.batch(0, row(1, 10)))
    first.close()
    assert target.batches == []

    second = settling(tmp_path, target, settle_s=0.01)
    second.open()
    wait_for(lambda: bool(target.batches))
    second.close()

    assert target.batches == [(0, [row(1, 10)])]


def test_a_flush_that_a_crash_cut_off_is_written_again_as_it_was(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    noted = Noted()
    target.failure = SinkError("down")
    first = settling(tmp_path, target, 0.01, noted)
    first.open()
    first.write(staging.batch(0, row(1, 10)))
    assert noted.failed.wait(60)
    first.write(staging.batch(1, row(1, 20)))
    first.close()

    target.failure = None
    second = settling(tmp_path, target, 0.01)
    second.open()
    wait_for(lambda: len(target.batches) == 2)
    second.close()

    assert target.batches == [(0, [row(1, 10)]), (1, [row(1, 20)])]


def test_a_flush_that_was_written_and_not_noted_replaces_its_own_file(
    tmp_path: Path, staging: Staging
) -> None:
    noted, crashing = Noted(), Crashing()
    first = settling(tmp_path, FilesSink(tmp_path / "out"), 0.01, crashing)
    first.open()
    first.write(staging.batch(4, row(1, 10)))
    assert crashing.failed.wait(60)
    first.close()
    assert [[row(1, 10)]] == filed(tmp_path)

    second = settling(tmp_path, FilesSink(tmp_path / "out"), 0.01, noted)
    second.open()
    wait_for(lambda: bool(noted.outcomes))
    second.close()

    assert [[row(1, 10)]] == filed(tmp_path)


def test_settling_that_is_declared_later_or_no_longer_keeps_every_emission_in_order(
    tmp_path: Path, staging: Staging
) -> None:
    sink = FilesSink(tmp_path / "out")
    plain, settled = DirectOutlet([sink]), settling(tmp_path, sink, 3600)
    settled.open()

    plain.write(staging.batch(0, row(0, 10)))
    plain.write(staging.batch(1, row(1, 11)))
    plain.write(staging.batch(2, row(2, 12)))
    settled.write(staging.batch(3, row(2, 13)))
    settled.drain()
    settled.write(staging.batch(4, row(2, 14)))
    settled.drain()
    plain.write(staging.batch(5, row(2, 15)))

    settled.close()
    expected = [row(0, 10), row(1, 11), row(2, 12), row(2, 13), row(2, 14), row(2, 15)]
    assert [[each] for each in expected] == filed(tmp_path)


def test_flushes_after_one_batch_are_told_apart(
    tmp_path: Path, target: Target, staging: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_790_000_000.0)
    outlet = settling(tmp_path, target, settle_s=3600)
    outlet.open()

    outlet.write(staging.batch(7, row(1, 10)))
    outlet.drain()
    outlet.write(staging.batch(7, row(1, 20)))
    outlet.drain()
    outlet.close()

    assert target.batches == [(7, [row(1, 10)]), (7, [row(1, 20)])]
    assert target.after == [1_790_000_000_000, 1_790_000_000_001]


def test_a_hold_that_numbered_its_flushes_goes_on_behind_them(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    hold = Hold(tmp_path / "held.sqlite")
    hold.open()
    with hold._opened.transaction() as database:
        database.execute("INSERT INTO fact VALUES ('query_id', 'q'), ('flush', 9)")
        values = (row(1, 10).key, row(1, 10).value, 10)
        database.execute("INSERT INTO leaving VALUES (?, ?, ?)", values)
    hold.close()
    outlet = settling(tmp_path, target, settle_s=3600)
    outlet.open()

    outlet.write(staging.batch(4, row(1, 20)))
    outlet.drain()
    outlet.close()

    assert target.batches == [(9, [row(1, 10)]), (9, [row(1, 20)])]
    assert target.after[0] == 0 < target.after[1]


def test_a_document_refused_between_batches_is_told(
    tmp_path: Path, target: Target, staging: Staging
) -> None:
    noted = Noted()
    target.refused = (Refusal(row(1, 10), "document_too_large", "over the limit"),)
    outlet = settling(tmp_path, target, 3600, noted)
    outlet.open()
    outlet.write(staging.batch(0, row(1, 10)))

    outlet.drain()
    outlet.close()

    assert noted.outcomes == [SinkResult("target", Written(refused=target.refused))]
