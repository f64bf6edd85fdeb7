"""A batch that was staged is told whole, or said to be gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import FencedError
from joinery.spark.batch.staging import StagedFolder, Staging, StagingGoneError, clear_staging


@pytest.fixture
def batch(tmp_path: Path) -> StagedFolder:
    batch = StagedFolder(tmp_path / "staging" / "1-0-owner")
    batch.open()
    return batch


def staged(batch: StagedFolder, part: str) -> Path:
    """Stage a part of a product as a task does, which makes the folders that it lacks."""
    file = batch.path / "profile" / part
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}\n")
    return file


def test_parts_are_told_in_order(batch: StagedFolder) -> None:
    two, one = staged(batch, "part-00002.jsonl"), staged(batch, "part-00001.jsonl")

    assert (one, two) == batch.parts("profile")


def test_a_product_without_lines_has_no_parts(batch: StagedFolder) -> None:
    assert () == batch.parts("profile")


def test_the_products_that_have_parts_are_told_in_one_look(batch: StagedFolder) -> None:
    before = batch.staged()
    staged(batch, "part-00001.jsonl")

    assert frozenset() == before
    assert frozenset({"profile"}) == batch.staged()


def test_a_batch_that_somebody_cleared_is_gone_also_where_a_task_still_writes(
    batch: StagedFolder,
) -> None:
    staged(batch, "part-00001.jsonl")

    clear_staging(batch.path.parent)
    staged(batch, "part-00002.jsonl")

    with pytest.raises(StagingGoneError, match="staged and not yet written is gone"):
        batch.parts("profile")
    with pytest.raises(StagingGoneError):
        batch.staged()


def test_a_batch_that_runs_again_begins_empty(batch: StagedFolder) -> None:
    staged(batch, "part-00001.jsonl")

    batch.open()

    assert () == batch.parts("profile")


def test_a_batch_that_was_written_leaves_nothing(batch: StagedFolder) -> None:
    staged(batch, "part-00001.jsonl")

    batch.remove()

    assert not batch.path.exists()


def test_a_run_that_ends_removes_its_own_batches_alone(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "q", tmp_path / "q")
    mine, others = staging.batch(0, 1, "mine"), staging.batch(0, 2, "other")
    mine.open()
    others.open()

    staging.remove_of("mine")

    assert not mine.path.exists()
    assert () == others.parts("profile")
    staging.remove_of("other")
    assert not (tmp_path / "q").exists()


def test_a_run_that_was_replaced_clears_nothing(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "q", tmp_path / "q")
    others = staging.batch(0, 2, "other")
    others.open()

    def replaced() -> None:
        raise FencedError("another run has taken over")

    with pytest.raises(FencedError):
        staging.clear(replaced)

    assert () == others.parts("profile")
