"""The sink suite over tasks: each batch cut into parts, each part written by a sink of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

from joinery.delivery.lease import LeaseWatch
from joinery.delivery.task_sink import PartOutcome, PartWork, SinkMaker, TaskWrittenSink, write_part
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import Sink, StagedBatch, WrappingSink, Written
from joinery.testing.conformance.sink import SinkTarget

_PARTS = 3


def by_tasks(target: SinkTarget) -> SinkTarget:
    """Return the same target, whose sinks are given their batches in parts, as tasks write them.

    Example:
        A plug-in whose sink is a `TaskSink` is held to the suite twice:

            conformance.check_sink(target)
            conformance.check_sink(conformance.by_tasks(target))
    """
    return replace(target, make=lambda product: _CutSink(target.make, product))


class _CutSink(WrappingSink):
    """Cuts each batch by its keys, and has the parts written one by one, as it is given them."""

    def __init__(self, make: Callable[[str], Sink], product: str) -> None:
        sink = make(product)
        maker = _Maker("", product, {}, Path(), make)
        self._tasks = _Tasks()
        super().__init__(TaskWrittenSink(sink, maker, self._tasks, lambda: _ANY))

    def write(self, batch: StagedBatch) -> Written:
        """Write `batch`, cut."""
        with tempfile.TemporaryDirectory(prefix="joinery-parts-") as folder:
            files = tuple(_cut(batch.files, Path(folder)))
            self._tasks.check = batch.check
            return super().write(replace(batch, files=files))


def _cut(files: Sequence[Path], folder: Path) -> list[Path]:
    parts = [folder / f"part-{number:05d}.jsonl" for number in range(_PARTS)]
    streams = [part.open("w", encoding="utf-8", newline="\n") for part in parts]
    try:
        for row in read_rows(files):
            streams[crc32(row.key.encode()) % _PARTS].write(row.line())
    finally:
        for stream in streams:
            stream.close()
    return [each for each in parts if each.stat().st_size]


@dataclass(frozen=True, slots=True)
class _Maker(SinkMaker):
    """Makes the sinks that an author gives."""

    of: Callable[[str], Sink]

    def make(self) -> Sink:
        return self.of(self.product)


class _Tasks:
    """Tasks one after the other in this process, the lease being that of the batch."""

    missing = ""

    def __init__(self) -> None:
        self.check: Callable[[], None] = _ANY.check

    def write(self, work: Sequence[PartWork]) -> Sequence[PartOutcome]:
        return [self._outcome(each) for each in work]

    def _outcome(self, work: PartWork) -> PartOutcome:
        opened: dict[str, Sink] = {}
        ours = replace(work, batch=replace(work.batch, check=self.check))
        outcome = write_part(ours, opened)
        for sink in opened.values():
            sink.close()
        return outcome


class _Any(LeaseWatch):
    """A lease that nobody takes."""

    def check(self) -> None:
        return None


_ANY = _Any(Path(), "", "")
