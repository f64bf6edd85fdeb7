"""A checkpoint knows its sources and where it stands in them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from joinery.capture.spool import SpoolFolder
from joinery.errors import FencedError, StateMismatchError
from joinery.project.kind import SourceSpec
from joinery.spark.recovery.checkpoint import (
    ENDED,
    FILE_NAME,
    DamagedCheckpointError,
    begin_empty_batch,
    claim_sources,
    committed_positions,
    last_batch,
    last_ended_batch,
    partitions_of,
    positions_after,
)
from joinery.spark.source.source import SourceRead


def reads(*names: str, kind: str = "kafka") -> tuple[SourceRead, ...]:
    return tuple(SourceRead(SourceSpec(each, kind), {}) for each in names)


def batch(checkpoint: Path, number: int, *positions: str, committed: bool = True) -> None:
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    (checkpoint / "offsets" / str(number)).write_text("\n".join(("v1", "{}", *positions)))
    if committed:
        (checkpoint / "commits" / str(number)).write_text("v1\n{}")


def test_a_fresh_checkpoint_stands_nowhere(tmp_path: Path) -> None:
    assert () == committed_positions(tmp_path)


def test_the_last_batch_that_was_committed_counts(tmp_path: Path) -> None:
    batch(tmp_path, 9, "nine")
    batch(tmp_path, 10, "ten", "-")
    batch(tmp_path, 11, "eleven", "1", committed=False)

    assert ("ten", "-") == committed_positions(tmp_path)


def test_an_empty_batch_is_begun_where_the_last_one_ended(tmp_path: Path) -> None:
    batch(tmp_path, 9, "nine", "-")
    log = tmp_path / "offsets"
    (log / "9").write_text('v1\n{"batchTimestampMs":70,"conf":{"a":"b"}}\nnine\n-')

    begin_empty_batch(tmp_path, now_ms=80, check=lambda: None)

    assert 'v1\n{"batchTimestampMs":80,"conf":{"a":"b"}}\nnine\n-' == (log / "10").read_text()
    assert (10, False) == last_batch(tmp_path)
    assert ("nine", "-") == positions_after(tmp_path, 10)


def test_time_does_not_go_back_in_an_empty_batch(tmp_path: Path) -> None:
    batch(tmp_path, 0, "{}")
    log = tmp_path / "offsets"
    (log / "0").write_text('v1\n{"batchTimestampMs":70}\n{}')

    begin_empty_batch(tmp_path, now_ms=60, check=lambda: None)

    assert 'v1\n{"batchTimestampMs":71}\n{}' == (log / "1").read_text(), "versions rise"


def test_a_run_that_was_replaced_begins_no_empty_batch(tmp_path: Path) -> None:
    batch(tmp_path, 0, "{}")
    (tmp_path / "offsets" / "0").write_text('v1\n{"batchTimestampMs":70}\n{}')

    def replaced() -> None:
        raise FencedError("another run has taken over")

    with pytest.raises(FencedError):
        begin_empty_batch(tmp_path, now_ms=80, check=replaced)

    assert (0, True) == last_batch(tmp_path)


def test_the_sources_that_were_read_go_on(tmp_path: Path) -> None:
    claim_sources(tmp_path, "q", reads("a", "b"))
    batch(tmp_path, 0, "{}", "{}")

    claim_sources(tmp_path, "q", reads("a", "b"))


def test_other_sources_are_refused(tmp_path: Path) -> None:
    claim_sources(tmp_path, "q", reads("a", "b"))
    batch(tmp_path, 0, "{}", "{}")

    with pytest.raises(StateMismatchError) as told:
        claim_sources(tmp_path, "q", reads("a", "c"))

    assert told.value.detail.startswith("It has read a (kafka), b (kafka), and the project has a")


def test_a_spool_that_is_gone_is_told_from_one_that_was_read_anew(tmp_path: Path) -> None:
    def claim() -> SourceRead:
        spool = SpoolFolder.claim(tmp_path / "db", slot="s", tables=("public.customer",))
        identity = spool.identity
        assert identity is not None
        options = (("path", str(spool.path / "files")), ("spool", identity.id))
        return SourceRead(SourceSpec("db", "files", options), {})

    claim_sources(tmp_path, "q", [claim()])
    batch(tmp_path, 0, "zero")
    shutil.rmtree(tmp_path / "db")

    with pytest.raises(StateMismatchError) as gone:
        claim_sources(tmp_path, "q", [claim()])
    SpoolFolder(tmp_path / "db").note_begun()
    with pytest.raises(StateMismatchError) as anew:
        claim_sources(tmp_path, "q", [claim()])

    assert f'the spool {tmp_path / "db"} is gone, which query "q" has read' == gone.value.message
    assert "Else: Run joinery source drop, then joinery run --rebuild" in gone.value.hint
    assert "Run joinery run --rebuild" in anew.value.hint
    assert "drop" not in anew.value.hint


def test_sources_may_change_before_anything_was_read(tmp_path: Path) -> None:
    claim_sources(tmp_path, "q", reads("a"))

    claim_sources(tmp_path, "q", reads("a", kind="files"))


@pytest.mark.parametrize("content", ["", "v1", 'v1\n{"batchTimestampMs":70,"conf":{"a'])
def test_a_damaged_file_of_a_checkpoint_is_named(tmp_path: Path, content: str) -> None:
    batch(tmp_path, 3, "three")
    (tmp_path / "offsets" / "3").write_text(content)

    with pytest.raises(DamagedCheckpointError) as refused:
        partitions_of(tmp_path)

    assert f"the checkpoint is damaged: {tmp_path / 'offsets' / '3'} " in refused.value.message


@pytest.mark.parametrize("content", ["", "v1", 'v1\n{"batchTimestampMs":70}'])
def test_a_file_without_positions_is_not_taken_for_a_query_that_read_nothing(
    tmp_path: Path, content: str
) -> None:
    batch(tmp_path, 3, "three")
    (tmp_path / "offsets" / "3").write_text(content)

    with pytest.raises(DamagedCheckpointError):
        committed_positions(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}"])
def test_a_damaged_note_of_the_ends_of_logs_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / ENDED).write_text(content)

    with pytest.raises(DamagedCheckpointError, match=ENDED):
        last_ended_batch(tmp_path)


def test_damaged_names_of_sources_are_told(tmp_path: Path) -> None:
    batch(tmp_path, 3, "three")
    (tmp_path / FILE_NAME).write_text('[{"na')

    with pytest.raises(DamagedCheckpointError, match=FILE_NAME):
        claim_sources(tmp_path, "q", reads("a"))
