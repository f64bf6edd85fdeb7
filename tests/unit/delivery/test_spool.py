"""A spool keeps batches durably, in order, bounded, and gives them to the sink when it can."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from joinery.delivery.outlet import Delaying, SinkResult
from joinery.delivery.spool import Spool, SpoolingSink, SpoolPlace
from joinery.model.progress import Waiting
from joinery.model.type import LONG, Field, Struct
from joinery.sinks.files import FilesSink
from joinery.sinks.protocol import (
    FencedError,
    Guarantee,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    Written,
    listing_of,
)

SHAPE = Struct((Field("id", LONG),))
WITHIN_S = 60.0


class Target:
    """A sink that writes while its gate is open, and notes the batches it has."""

    guarantee = Guarantee(summary="None.")
    target = "somewhere"

    def __init__(self, gate: threading.Event, stop: threading.Event) -> None:
        self.gate, self.stop = gate, stop
        self.error: Exception | None = None
        self.taken: list[tuple[int, str]] = []

    def open(self) -> None:
        pass

    def write(self, batch: StagedBatch) -> Written:
        while not self.gate.wait(0.01):
            if self.stop.is_set():
                raise SinkUnavailableError("it is down")
        if self.error is not None:
            raise self.error
        self.taken.append((batch.batch_id, "".join(each.read_text() for each in batch.files)))
        return Written(older=1)

    def close(self) -> None:
        pass


class Listed(Target):
    """One that can tell what it has: here the texts of its batches."""

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        return (text for _, text in self.taken)


class Bench:
    """A spool in a folder, and the target behind it."""

    def __init__(
        self, folder: Path, *, max_bytes: int = 1 << 20, kind: type[Target] = Target
    ) -> None:
        self.folder = folder
        self.gate, self.ending, closing = threading.Event(), threading.Event(), threading.Event()
        self.errors: list[Exception] = []
        self.told: list[SinkResult] = []
        self.waits: list[Waiting | None] = []
        self.waiting = threading.Event()
        self.check: Callable[[], None] = lambda: None
        self.target = kind(self.gate, closing)
        self.sink = SpoolingSink(
            self.target,
            "p",
            SpoolPlace(folder / "spool", max_bytes),
            Delaying(make=self.make, tell=self.tell, on_error=self.errors.append, ended=self.ended),
            closing=closing,
            tell=self.wait,
        )

    def ended(self) -> bool:
        return self.ending.is_set()

    def tell(self, outcomes: Sequence[SinkResult]) -> None:
        self.told += outcomes

    def wait(self, waiting: Waiting | None) -> None:
        self.waits.append(waiting)
        self.waiting.set()

    def make(self, *, query_id: str, batch_id: int, files: tuple[Path, ...]) -> StagedBatch:
        return StagedBatch(
            product="p",
            query="p",
            query_id=query_id,
            batch_id=batch_id,
            files=files,
            key=SHAPE,
            value=SHAPE,
            check=lambda: self.check(),
        )

    def batch(self, number: int, text: str = "line\n") -> StagedBatch:
        file = self.folder / f"staged-{number}.jsonl"
        file.write_text(text)
        return self.make(query_id="q", batch_id=number, files=(file,))


def test_batches_reach_the_sink_in_their_order(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sink.open()
    for number in range(3):
        bench.sink.write(bench.batch(number, f"{number}\n"))
    bench.gate.set()

    bench.sink.drain()

    assert [(0, "0\n"), (1, "1\n"), (2, "2\n")] == bench.target.taken
    assert [SinkResult("somewhere", Written(older=1))] * 3 == bench.told
    bench.sink.close()


def test_a_batch_is_taken_while_the_target_is_down(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sink.open()

    assert Written() == bench.sink.write(bench.batch(0))

    assert [] == bench.target.taken
    bench.sink.close()


def test_what_a_run_leaves_is_written_by_the_next_in_order(tmp_path: Path) -> None:
    first = Bench(tmp_path)
    first.sink.open()
    first.sink.write(first.batch(7, "seven\n"))
    first.sink.write(first.batch(8, "eight\n"))
    first.sink.close()
    second = Bench(tmp_path)
    second.sink.open()
    second.sink.write(second.batch(9, "nine\n"))
    second.gate.set()

    second.sink.drain()

    assert [] == first.target.taken
    assert [(7, "seven\n"), (8, "eight\n"), (9, "nine\n")] == second.target.taken
    second.sink.close()


def test_what_goes_out_between_two_batches_keeps_its_place(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    place, closing = SpoolPlace(tmp_path / "files-spool"), threading.Event()
    delaying = Delaying(make=bench.make, tell=bench.tell, on_error=bench.errors.append)
    sink = SpoolingSink(FilesSink(tmp_path / "out"), "p", place, delaying, closing=closing)
    sink.open()

    sink.write(bench.batch(9, "nine\n"))
    sink.write(replace(bench.batch(9, "repaired\n"), after=1_790_000_000_000))
    sink.drain()

    sink.close()
    written = sorted((tmp_path / "out").glob("*.jsonl"))
    assert ["nine\n", "repaired\n"] == [each.read_text() for each in written]


def test_a_batch_that_was_kept_without_a_time_is_the_batch_itself(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.open()
    spool.put(Bench(tmp_path).batch(3))
    facts = tmp_path / "spool/000000000001/batch.json"
    facts.write_text('{"query_id": "q", "batch_id": 3}')

    kept = spool.oldest()

    assert kept is not None
    assert (3, 0) == (kept.batch_id, kept.after)


def test_what_was_being_put_in_or_taken_out_at_a_crash_is_removed(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.open()
    spool.put(Bench(tmp_path).batch(1))
    (tmp_path / "spool/000000000009.part").mkdir()

    spool.open()

    assert ["000000000001"] == [each.name for each in (tmp_path / "spool").iterdir()]


def test_a_full_spool_makes_the_stream_wait_and_tells_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, max_bytes=10)
    bench.sink.open()
    bench.sink.write(bench.batch(0, "x" * 9))
    writer = threading.Thread(target=bench.sink.write, args=(bench.batch(1, "y" * 9),))
    writer.start()
    assert bench.waiting.wait(WITHIN_S)
    assert writer.is_alive()

    bench.gate.set()
    writer.join(WITHIN_S)
    bench.sink.drain()

    assert [0, 1] == [number for number, _ in bench.target.taken]
    assert bench.waits[0] is not None
    assert "spool_max_bytes" in bench.waits[0].reason
    assert bench.waits[-1] is None
    bench.sink.close()


def test_a_batch_larger_than_the_spool_enters_an_empty_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, max_bytes=10)
    bench.sink.open()
    bench.gate.set()

    bench.sink.write(bench.batch(0, "x" * 100))
    bench.sink.drain()

    assert [(0, "x" * 100)] == bench.target.taken
    bench.sink.close()


def test_a_run_that_ends_does_not_wait_for_room(tmp_path: Path) -> None:
    bench = Bench(tmp_path, max_bytes=10)
    bench.sink.open()
    bench.sink.write(bench.batch(0, "x" * 9))
    bench.ending.set()

    with pytest.raises(SinkUnavailableError, match="full"):
        bench.sink.write(bench.batch(1, "y" * 9))

    bench.sink.close()


def test_a_run_that_ends_while_its_spool_is_emptied_says_what_is_left(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.sink.open()
    bench.sink.write(bench.batch(0))
    bench.ending.set()

    with pytest.raises(SinkUnavailableError, match="before the spool of somewhere was empty"):
        bench.sink.drain()

    bench.sink.close()


def test_an_error_of_the_sink_ends_the_run_and_keeps_the_batch(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.target.error = SinkError("access denied")
    bench.gate.set()
    bench.sink.open()
    bench.sink.write(bench.batch(0))

    with pytest.raises(SinkError, match="access denied"):
        bench.sink.drain()

    bench.sink.close()
    assert ["access denied"] == [str(each.args[0]) for each in bench.errors]
    left = Spool(tmp_path / "spool")
    left.open()
    assert left.oldest() is not None


def test_a_run_that_has_lost_its_lease_keeps_and_writes_nothing(tmp_path: Path) -> None:
    def taken_over() -> None:
        raise FencedError("taken over")

    bench = Bench(tmp_path)
    bench.sink.open()
    bench.check = taken_over

    with pytest.raises(FencedError):
        bench.sink.write(bench.batch(0))

    bench.sink.close()
    assert [] == bench.target.taken
    left = Spool(tmp_path / "spool")
    left.open()
    assert left.oldest() is None


def test_what_a_target_holds_is_listed_once_the_spool_is_empty(tmp_path: Path) -> None:
    bench = Bench(tmp_path, kind=Listed)
    bench.sink.open()
    bench.sink.write(bench.batch(0, "a"))
    bench.sink.write(bench.batch(1, "b"))
    listing = listing_of(bench.sink)
    assert listing is not None
    threading.Timer(0.2, bench.gate.set).start()

    listed = list(listing.keys(bench.batch(2)))

    assert ["a", "b"] == listed
    bench.sink.close()


def test_a_target_that_cannot_list_is_not_listed_through_a_spool(tmp_path: Path) -> None:
    assert listing_of(Bench(tmp_path).sink) is None


def test_a_run_that_ends_lists_nothing_while_its_spool_has_batches(tmp_path: Path) -> None:
    bench = Bench(tmp_path, kind=Listed)
    bench.sink.open()
    bench.sink.write(bench.batch(0, "a"))
    listing = listing_of(bench.sink)
    assert listing is not None
    bench.ending.set()

    with pytest.raises(SinkUnavailableError, match="spool"):
        list(listing.keys(bench.batch(1)))

    bench.sink.close()


def test_a_batch_leaves_the_spool_under_the_lease_it_came_with(tmp_path: Path) -> None:
    lost = threading.Event()

    def check() -> None:
        if lost.is_set():
            raise FencedError("taken over")

    bench = Bench(tmp_path)
    bench.sink.open()
    bench.sink.write(replace(bench.batch(0), epoch=7, check=check))
    lost.set()
    bench.gate.set()

    with pytest.raises(FencedError):
        bench.sink.drain()

    bench.sink.close()
