"""Whether a target of this machine has lost its documents is seen; of others nothing is said."""

from __future__ import annotations

from pathlib import Path

from joinery.sinks.protocol import emptied


def test_a_folder_without_files_of_batches_is_emptied(tmp_path: Path) -> None:
    options = {"path": "out"}

    assert tmp_path / "out/page" == emptied("files", options, "page", tmp_path)
    (tmp_path / "out/page").mkdir(parents=True)
    (tmp_path / "out/page/.generations.json").touch()
    assert tmp_path / "out/page" == emptied("files", options, "page", tmp_path)
    (tmp_path / "out/page/000001-0000000000.jsonl").touch()
    assert emptied("files", options, "page", tmp_path) is None


def test_a_database_that_is_gone_is_emptied(tmp_path: Path) -> None:
    options = {"path": "out.db"}

    assert tmp_path / "out.db" == emptied("sqlite", options, "page", tmp_path)
    (tmp_path / "out.db").touch()
    assert emptied("sqlite", options, "page", tmp_path) is None


def test_other_targets_are_not_judged(tmp_path: Path) -> None:
    assert emptied("postgres", {"url": "postgresql://h/d"}, "page", tmp_path) is None
