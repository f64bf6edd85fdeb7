"""What a mark keeps of a checkpoint, and for how long."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from joinery.spark.recovery.mark import MarkError, bytes_of_marks, mark_last, marked, marks_of


def commit(checkpoint: Path, batch: int, *, whole: bool = False) -> None:
    """Write what a run leaves of a batch: one partition, whose only table is its number."""
    for kind in ("offsets", "commits"):
        (checkpoint / kind).mkdir(parents=True, exist_ok=True)
        told = json.dumps({"batchTimestampMs": 1_000 + batch, "conf": {}})
        (checkpoint / kind / str(batch)).write_text(f"v1\n{told}\n", encoding="utf-8")
    for note in ("metadata", "joinery.json"):
        (checkpoint / note).write_text("{}", encoding="utf-8")
    partition = checkpoint / "state" / "0" / "0"
    (partition / "SSTs").mkdir(parents=True, exist_ok=True)
    (partition / f"{batch + 1}_a.changelog").write_text("changes", encoding="utf-8")
    (partition / f".{batch + 1}_a.changelog.crc").write_text("sum", encoding="utf-8")
    if whole:
        table = f"{batch}.sst"
        (partition / "SSTs" / table).write_text("x" * 1_000, encoding="utf-8")
        with ZipFile(partition / f"{batch + 1}_a.zip", "w") as archive:
            files = {"sstFiles": [{"localFileName": "1.sst", "dfsSstFileName": table}]}
            archive.writestr("metadata", f"v1\n{json.dumps(files)}")


def state_of(folder: Path) -> set[str]:
    """Return the files of the only partition."""
    partition = folder / "state" / "0" / "0"
    return {each.relative_to(partition).as_posix() for each in partition.rglob("*")} - {"SSTs"}


def test_a_mark_has_what_the_last_batch_needs(tmp_path: Path) -> None:
    for batch in range(6):
        commit(tmp_path, batch, whole=batch in (0, 2, 4))

    made = mark_last(tmp_path, keep=24)

    assert (5, 1_005) == (made.batch, made.at_ms)
    assert made.folder == marked(tmp_path, 5)
    logs = {f"{n}_a.changelog" for n in (3, 4, 5, 6)}
    expected = {*logs, *(f".{each}.crc" for each in logs), "3_a.zip", "5_a.zip"}
    assert expected | {"SSTs/2.sst", "SSTs/4.sst"} == state_of(made.folder)


def test_a_batch_that_was_begun_alone_is_not_marked(tmp_path: Path) -> None:
    commit(tmp_path, 0)
    commit(tmp_path, 1)
    (tmp_path / "commits" / "1").unlink()

    assert 0 == mark_last(tmp_path, keep=24).batch
    assert not any(each.startswith("2_") for each in state_of(tmp_path / "joinery.marks" / "0"))


def test_the_oldest_marks_go(tmp_path: Path) -> None:
    for batch in range(3):
        commit(tmp_path, batch)
        mark_last(tmp_path, keep=2)

    assert [1, 2] == [each.batch for each in marks_of(tmp_path)]


def test_a_mark_costs_what_the_run_has_removed_since(tmp_path: Path) -> None:
    commit(tmp_path, 0, whole=True)
    mark_last(tmp_path, keep=24)
    logged = bytes_of_marks(tmp_path)
    commit(tmp_path, 1)
    mark_last(tmp_path, keep=24)

    (tmp_path / "state" / "0" / "0" / "SSTs" / "0.sst").unlink()

    assert logged < 500
    assert 1_000 + 2 * logged == bytes_of_marks(tmp_path)


def test_a_batch_is_marked_once(tmp_path: Path) -> None:
    commit(tmp_path, 0)

    assert mark_last(tmp_path, keep=1) == mark_last(tmp_path, keep=1)


def test_without_a_batch_there_is_nothing_to_mark(tmp_path: Path) -> None:
    with pytest.raises(MarkError, match="has no state: it has run no batch"):
        mark_last(tmp_path, keep=1)
