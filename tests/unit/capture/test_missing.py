"""A change file that was removed by hand is told from one that was removed as needed no more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from joinery.capture.keep import SpoolKeep
from joinery.capture.missing import missing_files, missing_text
from joinery.capture.spool import SpoolFolder
from joinery.project.kind import SourceSpec
from joinery.project.load import load_spec
from joinery.spark.source.source import SourceRead
from joinery.spark.source.spool_readers import SpoolShortError, note_readers

TABLE, OTHER = "public.a", "public.b"
BOTH = (TABLE, OTHER)


@pytest.fixture
def spool(tmp_path: Path) -> SpoolFolder:
    """A spool with files 1, 3 and 5 of a table, 2 and 4 of another."""
    for number in range(1, 6):
        file = named(tmp_path, number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}\n")
    note_last(tmp_path, {TABLE: 5, OTHER: 4})
    return SpoolFolder(tmp_path)


def note_last(folder: Path, last: Mapping[str, int]) -> None:
    position = {"format": 1, "lsn": 1, "written_at_ms": 1, "file": 5, "last": last}
    (folder / "position.json").write_text(json.dumps(position))


def named(folder: Path, number: int) -> Path:
    before = max(0, number - 2)
    name = f"{number:016d}.{before:016d}.jsonl"
    return folder / "files" / (TABLE if number % 2 else OTHER) / name


def test_a_whole_spool_lacks_nothing(spool: SpoolFolder) -> None:
    assert {} == missing_files(spool, BOTH)


@pytest.mark.parametrize("number", [1, 3, 5])
def test_one_that_was_removed_is_missing_wherever_it_stood(spool: SpoolFolder, number: int) -> None:
    named(spool.path, number).unlink()

    assert {TABLE: [number]} == missing_files(spool, BOTH)


def test_of_a_folder_that_is_gone_the_last_is_missing(spool: SpoolFolder) -> None:
    for number in (2, 4):
        named(spool.path, number).unlink()
    named(spool.path, 2).parent.rmdir()

    assert {OTHER: [4]} == missing_files(spool, BOTH)
    assert {} == missing_files(spool, (TABLE,))


def test_those_that_were_needed_no_more_are_not_missing(spool: SpoolFolder) -> None:
    assert 5 == SpoolKeep(spool).prune(-1, lambda reader: {})

    assert {} == missing_files(spool, BOTH)


def test_one_that_is_missing_stays_so_while_others_are_removed(spool: SpoolFolder) -> None:
    named(spool.path, 5).unlink()
    assert 4 == SpoolKeep(spool).prune(-1, lambda reader: {})

    assert {TABLE: [5]} == missing_files(spool, BOTH)


def test_files_of_before_tell_of_no_other(spool: SpoolFolder) -> None:
    for number in range(1, 6):
        file = named(spool.path, number)
        file.rename(file.with_name(f"{number:016d}.jsonl"))
    note_last(spool.path, {})
    (spool.path / "files" / TABLE / f"{3:016d}.jsonl").unlink()

    assert {} == missing_files(spool, BOTH)


def test_one_that_comes_while_a_folder_is_listed_is_not_missing(
    spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, listed = named(spool.path, 3), Path.iterdir
    late.rename(aside := spool.path / "late")

    def passing_over(folder: Path) -> list[Path]:
        there = [*listed(folder)]
        if aside.exists():
            aside.rename(late)
        return there

    monkeypatch.setattr(Path, "iterdir", passing_over)

    assert {} == missing_files(spool, BOTH)


def test_a_query_that_has_not_read_a_missing_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(
        'sources: {db: {postgres: {url: "postgresql://h/d"}}}\n'
        "relations: {a: {key: [id], fields: {id: long}}}\n"
        "products: {p: {root: a, sink: {files: {path: out}}}}\n"
    )
    spec = load_spec(tmp_path / "joinery.yaml")
    folder = tmp_path / ".joinery" / "spool" / "db"
    named(folder, 1).parent.mkdir(parents=True)
    note_last(folder, {TABLE: 3})
    for number in (1, 3):
        named(folder, number).write_text("{}\n")
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    read = SourceRead(SourceSpec("db", "files", ()), {TABLE: ("a",)}, ())
    note_readers(spec, "p", checkpoint, [read])
    named(folder, 1).unlink()

    with pytest.raises(SpoolShortError, match="file 0000000000000001 of table") as told:
        note_readers(spec, "p", checkpoint, [read])

    assert "joinery source drop db, then joinery run --rebuild" in told.value.hint
    labels = checkpoint / "sources" / "0" / "0.labels"
    labels.parent.mkdir(parents=True)
    label = {"topic": TABLE, "file": named(folder, 1).name, "number": 0, "size": 3}
    labels.write_text(f"{{}}\n{json.dumps(label)}\n")
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir()
    offset = json.dumps({"topics": {TABLE: {"done": "0"}}})
    (checkpoint / "offsets" / "0").write_text(f"v1\n{{}}\n{offset}")
    (checkpoint / "commits" / "0").touch()
    note_readers(spec, "p", checkpoint, [read])  # It has read that one.


def test_several_that_are_missing_are_counted() -> None:
    assert "change file 0000000000000005 of table t and 1 more" == missing_text("t", [5, 9])
