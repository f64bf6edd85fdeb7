"""A batch is written by tasks, part by part, and again only where a part was not."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from joinery.delivery.lease import Lease, LeaseWatch
from joinery.delivery.outlet import PatientSink
from joinery.delivery.task_sink import (
    PartOutcome,
    PartWork,
    SinkMaker,
    TaskWrittenSink,
    part_of,
    write_part,
    writes_by_tasks,
)
from joinery.errors import (
    FencedError,
    SinkError,
    SinkOptionError,
    SinkUnavailableError,
)
from joinery.model.type import LONG, Field, Struct
from joinery.place.remote_path import RemotePath
from joinery.retry import Patience
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import Guarantee, Sink, StagedBatch, Writer, Written

QUICK = Patience(first_s=0.001, longest_s=0.01, failures=3, rest_s=0.02)
SHAPE = Struct((Field("id", LONG),))
AWAY = SinkUnavailableError("away")


@dataclass(slots=True)
class Target:
    """A sink that tasks may write to; `answers` tells what each write meets, by part."""

    answers: dict[int, list[Exception]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    guarantee: Guarantee = field(default_factory=lambda: Guarantee(summary="None."))
    target: str = "somewhere"
    writer: Writer = "tasks"

    def open(self) -> None:
        self.calls.append("open")

    def begin(self, batch: StagedBatch) -> None:
        self.calls.append("begin")

    def write(self, batch: StagedBatch) -> Written:
        self.calls.append("write")
        return Written()

    def write_part(self, batch: StagedBatch, part: int) -> Written:
        self.calls.append(f"part {part}")
        if answers := self.answers.get(part):
            raise answers.pop(0)
        self.keys += [row.key for row in read_rows(batch.files)]
        return Written(older=1)

    def end(self, batch: StagedBatch) -> None:
        self.calls.append("end")

    def close(self) -> None:
        self.calls.append("close")


@dataclass(frozen=True, slots=True)
class Made(SinkMaker):
    """Makes the same sink on each machine."""

    sink: Target = field(repr=False)

    def make(self) -> Sink:
        return self.sink


@dataclass(slots=True)
class HereTasks:
    """Tasks in this process."""

    missing: str = ""
    open_sinks: dict[str, Sink] = field(default_factory=dict)

    def write(self, work: Sequence[PartWork]) -> Sequence[PartOutcome]:
        return [write_part(each, self.open_sinks) for each in reversed(work)]


class Held(LeaseWatch):
    """A lease that is held."""

    def check(self) -> None:
        """Nobody has taken over."""


def sink_of(target: Target, missing: str = "", small_bytes: int = -1) -> TaskWrittenSink:
    maker = Made("made", "p", {}, Path(), target)
    watch = Held(Path(), "nobody", "p")
    tasks = HereTasks(missing)
    return TaskWrittenSink(target, maker, tasks, lambda: watch, small_bytes=small_bytes)


@pytest.fixture
def batch(tmp_path: Path) -> StagedBatch:
    files = []
    for part in (0, 3, 12):
        file = tmp_path / f"part-{part:05d}.jsonl"
        file.write_text(f'{{"key":{{"id":{part}}},"value":{{}},"version":1}}\n', encoding="utf-8")
        files.append(file)
    return StagedBatch(
        product="p", query="p", query_id="q", batch_id=7, files=tuple(files), key=SHAPE, value=SHAPE
    )


def test_each_part_is_written_once_between_begin_and_end(batch: StagedBatch) -> None:
    target = Target()

    written = sink_of(target).write(batch)

    assert Written(older=3, by_tasks=3) == written
    assert ["begin", "open", "part 12", "part 3", "part 0", "end"] == target.calls


@pytest.mark.parametrize("missing_bytes", [0, 1])
def test_a_small_batch_is_written_by_the_driver(batch: StagedBatch, missing_bytes: int) -> None:
    target, size = Target(), sum(each.stat().st_size for each in batch.files)

    sink_of(target, small_bytes=size - missing_bytes).write(batch)

    assert ("write" in target.calls) is (missing_bytes == 0)


def test_what_tasks_did_not_stage_is_written_by_the_driver(batch: StagedBatch) -> None:
    target, gone = Target(), batch.files[0].with_name("part-gone.jsonl")
    gone.write_text('{"key":{"id":9},"value":null,"version":1}\n', encoding="utf-8")

    sink_of(target).write(replace(batch, files=(*batch.files, gone), by_driver=True))

    assert ["write"] == target.calls


def test_a_small_batch_that_only_tasks_see_is_written_by_them(batch: StagedBatch) -> None:
    class AskedTasks(HereTasks):
        def write(self, work: Sequence[PartWork]) -> Sequence[PartOutcome]:
            return [PartOutcome(each.part, Written(by_tasks=1)) for each in work]

    target, part = Target(), (3, RemotePath("bucket", "part-00003.jsonl"))
    maker, watch = Made("made", "p", {}, Path(), target), Held(Path(), "nobody", "p")
    sink = TaskWrittenSink(target, maker, AskedTasks(), lambda: watch, small_bytes=1 << 20)

    written = sink.write(replace(batch, files=(), apart=(part,)))

    assert Written(by_tasks=1) == written
    assert ["begin", "end"] == target.calls


def test_after_an_outage_only_what_is_left_is_written(batch: StagedBatch) -> None:
    target = Target(answers={3: [AWAY, AWAY]})
    sink = PatientSink(sink_of(target), "p", patience=QUICK)

    written = sink.write(batch)

    assert Written(older=3, by_tasks=3) == written
    parts = [each for each in target.calls if each.startswith("part")]
    assert ["part 12", "part 3", "part 0", "part 3", "part 3"] == parts
    assert ['{"id":12}', '{"id":0}', '{"id":3}'] == target.keys
    assert 1 == target.calls.count("end")


def test_the_next_batch_is_written_whole(batch: StagedBatch) -> None:
    target = Target()
    sink = sink_of(target)

    sink.write(batch)
    sink.write(replace(batch, batch_id=8))

    assert 2 == target.calls.count("part 3")


def test_what_waiting_does_not_help_is_told_before_an_outage(batch: StagedBatch) -> None:
    target = Target(answers={0: [SinkError("no access")], 12: [AWAY]})

    with pytest.raises(SinkError, match="no access") as told:
        sink_of(target).write(batch)

    assert not isinstance(told.value, SinkUnavailableError)
    assert "end" not in target.calls


def test_what_is_no_error_of_ours_is_told_with_the_product(batch: StagedBatch) -> None:
    with pytest.raises(
        Exception, match='could not write documents of "p" to its sink: KeyError: 0'
    ):
        sink_of(Target(answers={0: [KeyError(0)]})).write(batch)


def test_an_outage_is_waited_out_though_closing_the_sink_fails(
    batch: StagedBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target(answers={3: [AWAY]})
    monkeypatch.setattr(Target, "close", lambda sink: 1 / 0)

    PatientSink(sink_of(target), "p", patience=QUICK).write(batch)

    assert ['{"id":12}', '{"id":0}', '{"id":3}'] == target.keys


def test_the_driver_writes_where_tasks_cannot(batch: StagedBatch) -> None:
    target = Target()

    assert Written() == sink_of(target, missing="no Python").write(batch)
    assert ["write"] == target.calls


def test_a_task_writes_nothing_once_another_run_has_taken_over(
    batch: StagedBatch, tmp_path: Path
) -> None:
    target = Target()
    maker = Made("made", "p", {}, Path(), target)
    lease = Lease(tmp_path / "q.lease", "q")
    lease.take()
    watch = pickle.loads(pickle.dumps(lease.watch))
    sink = TaskWrittenSink(target, maker, HereTasks(), lambda: watch)
    sink.write(batch)
    lease.release()
    other = Lease(tmp_path / "q.lease", "q")
    other.take()

    try:
        with pytest.raises(FencedError):
            sink.write(replace(batch, batch_id=8))
    finally:
        other.release()

    assert 1 == target.calls.count("part 3")


class Plain:
    """A sink that says nothing of tasks."""

    guarantee = Guarantee(summary="None.")
    target = "somewhere"

    def open(self) -> None:
        """Nothing is opened."""

    def write(self, batch: StagedBatch) -> Written:
        raise AssertionError("nothing is written")

    def close(self) -> None:
        """Nothing is closed."""


@pytest.mark.parametrize(
    ("writer", "asked", "holds", "by_tasks"),
    [
        ("tasks", None, (), True),
        ("tasks", "driver", (), False),
        ("tasks", None, ("spool: true",), False),
        ("driver", None, (), False),
        ("driver", "tasks", (), True),
    ],
)
def test_who_writes(writer: Writer, asked: object, holds: Sequence[str], by_tasks: bool) -> None:
    assert by_tasks == writes_by_tasks(Target(writer=writer), asked, holds, "it")


def test_tasks_are_refused_where_the_driver_holds_documents() -> None:
    with pytest.raises(SinkOptionError) as refused:
        writes_by_tasks(Target(), "tasks", ("spool: true",), 'sink "redis" of product "p"')

    assert 'sink "redis" of product "p" cannot be written by tasks' == refused.value.message
    assert "The driver holds its documents: spool: true." == refused.value.detail


def test_tasks_are_refused_where_a_sink_cannot() -> None:
    plain: Sink = Plain()
    assert not writes_by_tasks(plain, None, (), "it")
    with pytest.raises(SinkOptionError, match="can be written only by the driver"):
        writes_by_tasks(plain, "tasks", (), "it")


def test_a_part_has_the_number_of_its_file() -> None:
    assert 3 == part_of(Path("a/b-1/part-00003.jsonl"))
