"""A sink whose batches are written by the tasks of a cluster, each task some parts of a batch.

A part is one staged file, which a task that does not see it copies from beside the checkpoint.
The driver gives tasks the names of files, and gets back what became of them; no document passes
it but those that a target refuses, and small batches where the project does not say
`parallel: tasks`. A task makes the sink from the same options as the driver did, and keeps it open
for the next batch.

What a task meets comes back as its outcome and never fails the task, so the driver waits for a
target that is away, as for any sink, and then has only those parts written that were not.

Invariant: a batch counts as written only once each of its parts was, and no part of the next
batch is begun before that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from joinery.delivery.lease import LeaseWatch
from joinery.errors import JoineryError, RunError, SinkOptionError
from joinery.place.remote_path import RemotePath
from joinery.sinks.protocol import (
    Guarantee,
    Promise,
    Sink,
    SinkUnavailableError,
    StagedBatch,
    TaskSink,
    WrappingSink,
    Written,
    close_failed,
    make_sink,
    whole,
)

SMALL_BYTES = 256 << 10
"""A batch no larger is written by the driver where the project leaves that open: handing it to
tasks takes longer than writing it."""
_NOT_ATOMIC = "each task commits its parts of a batch"


@dataclass(frozen=True, slots=True)
class SinkMaker:
    """What a sink is made from, on any machine.

    Attributes:
        kind: Of the sink.
        product: Whose documents it takes.
        options: As the plan has them; may hold secrets.
        folder: Where relative paths begin.
    """

    kind: str
    product: str
    options: Mapping[str, object] = field(repr=False)
    folder: Path

    def make(self) -> Sink:
        """Return the sink, not yet opened."""
        return make_sink(self.kind, self.product, self.options, self.folder)


@dataclass(frozen=True, slots=True)
class PartWork:
    """One part of a batch, to be written by a task.

    Attributes:
        sink: To write to.
        batch: Of which the file of the part is given, unless it is elsewhere.
        part: Its number.
        apart: Where a task finds the part that does not see the driver's disk.
    """

    sink: SinkMaker
    batch: StagedBatch
    part: int
    apart: RemotePath | None = None


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """What became of a part: `written`, or `error`."""

    part: int
    written: Written = field(default_factory=Written)
    error: JoineryError | None = None


class Tasks(Protocol):
    """The tasks of a cluster, as far as sinks use them."""

    def write(self, work: Sequence[PartWork]) -> Sequence[PartOutcome]:
        """Have each part written by some task; one outcome each, in any order."""

    @property
    def missing(self) -> str:
        """Why tasks cannot write; empty where they can."""


_OPEN: dict[str, Sink] = {}
"""The sinks of this process that are open, for its next task: one at a time runs in it."""


def write_part(work: PartWork, open_sinks: MutableMapping[str, Sink] = _OPEN) -> PartOutcome:
    """Write one part, in the process of a task.

    Args:
        work: The part.
        open_sinks: Those that earlier parts left open; the part's own is there afterwards.
    """
    made_from = f"{work.sink} {work.sink.options}"
    try:
        work.batch.check()
        sink = open_sinks.pop(made_from, None) or _opened(work.sink)
        written = _part_written(sink, work)
    except JoineryError as error:
        return PartOutcome(work.part, error=error)
    except (Exception, SystemExit) as error:
        told = f'could not write documents of "{work.batch.product}" to its sink: '
        told += f"{type(error).__name__}: {error}"
        return PartOutcome(work.part, error=RunError(told))
    open_sinks[made_from] = sink
    return PartOutcome(work.part, written)


def _opened(maker: SinkMaker) -> Sink:
    sink = maker.make()
    try:
        sink.open()
    except BaseException:
        close_failed(sink)
        raise
    return sink


def _part_written(sink: Sink, work: PartWork) -> Written:
    """Return what became of a part, with the number of its documents; a failed sink is closed."""
    assert isinstance(sink, TaskSink)  # the driver's, made from the same, is one
    try:
        with _within_reach(work) as batch:
            written = whole(sink.write_part(batch, work.part))
            lines = sum(_count_lines(each) for each in batch.files)
    except BaseException:
        close_failed(sink)
        raise
    return replace(written, by_tasks=lines - len(written.refused))


@contextmanager
def _within_reach(work: PartWork) -> Iterator[StagedBatch]:
    """Give the batch of a part with a file of this machine."""
    if work.apart is None:
        yield work.batch
        return
    with tempfile.TemporaryDirectory(prefix="joinery-part-") as folder:
        file = Path(folder, f"part-{work.part:05d}.jsonl")
        work.apart.fetch(file)
        yield replace(work.batch, files=(file,))


def _count_lines(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(not line.isspace() for line in lines)


class TaskWrittenSink(WrappingSink):
    """Has the parts of each batch written by tasks.

    Args:
        sink: The driver's own, which is made ready for each batch.
        maker: What `sink` was made from.
        tasks: Write the parts; where they cannot, `sink` is given the whole batch.
        watch: Returns what tells tasks whether the run may still write.
        small_bytes: `sink` is given a batch that is staged on this disk and no larger.
    """

    def __init__(
        self,
        sink: Sink,
        maker: SinkMaker,
        tasks: Tasks,
        watch: Callable[[], LeaseWatch],
        *,
        small_bytes: int = -1,
    ) -> None:
        super().__init__(sink)
        self._small_bytes = small_bytes
        self._maker = maker
        self._tasks = tasks
        self._watch = watch
        self._batch: tuple[str, int, int] | None = None
        self._done: dict[int, Written] = {}

    @property
    def guarantee(self) -> Guarantee:
        """That of the sink, but that tasks commit their parts one by one."""
        kept = super().guarantee
        return replace(kept, gaps={Promise.ATOMIC: _NOT_ATOMIC, **kept.gaps})

    def write(self, batch: StagedBatch) -> Written:
        """Have `batch` written, but for those parts that an earlier attempt has written.

        Raises:
            SinkUnavailableError: Some parts may be written later; others were.
        """
        sink = self._sink
        # What is sent again between batches is on the driver's disk, and no batch of its own.
        if batch.after or batch.by_driver or self._tasks.missing or not isinstance(sink, TaskSink):
            return super().write(batch)
        if not batch.apart and _size(batch.files) <= self._small_bytes:
            return super().write(batch)
        self._begin(batch)
        sink.begin(batch)
        batch.check()
        outcomes = self._tasks.write([each for each in self._work(batch) if self._is_left(each)])
        self._done |= {each.part: each.written for each in outcomes if each.error is None}
        if errors := [each.error for each in outcomes if each.error is not None]:
            raise _gravest(errors)
        sink.end(batch)
        return _whole(tuple(self._done.values()))

    def _begin(self, batch: StagedBatch) -> None:
        this = (batch.query_id, batch.batch_id, batch.epoch)
        if self._batch != this:
            self._batch, self._done = this, {}

    def _is_left(self, work: PartWork) -> bool:
        return work.part not in self._done

    def _work(self, batch: StagedBatch) -> list[PartWork]:
        check = self._watch().check
        if batch.apart:
            bare = replace(batch, files=(), apart=(), check=check)
            return [PartWork(self._maker, bare, part, place) for part, place in batch.apart]
        return [
            PartWork(self._maker, replace(batch, files=(file,), check=check), part_of(file))
            for file in batch.files
        ]


def _size(files: Sequence[Path]) -> int:
    return sum(each.stat().st_size for each in files)


def part_of(file: Path) -> int:
    """Return the number of the part that a staged file holds.

    Example:
        >>> part_of(Path("part-00012.jsonl"))
        12
    """
    return int(file.stem.rpartition("-")[2])


def _gravest(errors: Sequence[JoineryError]) -> JoineryError:
    """Return the error that tells most: one that waiting does not help, before an outage."""
    lasting = (each for each in errors if not isinstance(each, SinkUnavailableError))
    return next(lasting, errors[0])


def _whole(parts: Sequence[Written]) -> Written:
    return Written(
        refused=tuple(chain.from_iterable(each.refused for each in parts)),
        older=sum(each.older for each in parts),
        by_tasks=sum(each.by_tasks for each in parts),
    )


def writes_by_tasks(sink: Sink, asked: object, holds: Sequence[str], what: str) -> bool:
    """Return whether the batches of a sink are written by tasks.

    Args:
        sink: As its kind made it.
        asked: The option `parallel`; empty or None where the project does not say.
        holds: What keeps the sink's documents on the driver, in words.
        what: The sink, for messages.

    Raises:
        SinkOptionError: Tasks are asked for, and cannot write it.
    """
    able = isinstance(sink, TaskSink)
    if asked == "tasks" and not able:
        raise SinkOptionError(
            f"{what} can be written only by the driver",
            detail="Its target cannot be written from several machines at once.",
            hint="Remove parallel: tasks.",
        )
    if asked == "tasks" and holds:
        raise SinkOptionError(
            f"{what} cannot be written by tasks",
            detail=f"The driver holds its documents: {holds[0]}.",
            hint=f"Remove parallel: tasks, or {holds[0]}.",
        )
    return able and not holds and (asked or _default(sink)) == "tasks"


def _default(sink: Sink) -> str:
    return sink.writer if isinstance(sink, TaskSink) else "driver"
