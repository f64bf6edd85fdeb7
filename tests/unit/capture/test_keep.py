"""Which change files of a spool go, and which stay however old they are."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from joinery.capture.keep import Reader, SpoolKeep
from joinery.capture.spool import SpoolFolder

DAY_S = 86_400.0


@pytest.fixture
def spool(tmp_path: Path) -> SpoolFolder:
    """A spool with files 1, 3 and 5 of a table, 2 and 4 of another, all two days old."""
    for number, table in enumerate("ababa", start=1):
        file = tmp_path / "files" / table / f"{number:016d}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}\n")
        os.utime(file, (time.time() - 2 * DAY_S,) * 2)
    reach(tmp_path, 5)
    return SpoolFolder(tmp_path)


def reach(folder: Path, file: int) -> None:
    position = {"format": 1, "lsn": 1, "written_at_ms": 1, "file": file}
    (folder / "position.json").write_text(json.dumps(position))


def claimed(spool: SpoolFolder, *tables: str) -> SpoolFolder:
    """Return the spool as that of some tables, which are older than its position."""
    (spool.path / "position.json").unlink()
    known = SpoolFolder.claim(spool.path, slot="s", tables=tables)
    reach(spool.path, 5)
    return known


def reader(folder: Path, name: str, *tables: str) -> Reader:
    checkpoint = folder / name
    checkpoint.mkdir()
    return Reader(query=name, checkpoint=str(checkpoint), index=0, tables=tables)


def nothing(reader: Reader) -> Mapping[str, Collection[str]]:
    return {}


def files(*numbers: int) -> frozenset[str]:
    return frozenset(f"{each:016d}.jsonl" for each in numbers)


def left(spool: SpoolFolder) -> Sequence[int]:
    return sorted(int(each.stem) for each in spool.path.glob("files/*/*.jsonl"))


def test_without_a_reader_files_go_by_their_age(spool: SpoolFolder) -> None:
    keep = SpoolKeep(spool)

    removed = [(keep.prune(days * DAY_S, nothing), keep.whole) for days in (3, 1)]

    assert removed == [(0, True), (5, False)]
    assert left(spool) == []


def test_what_a_reader_has_not_applied_stays_and_all_that_came_after(
    spool: SpoolFolder, tmp_path: Path
) -> None:
    keep = SpoolKeep(spool)
    ahead, behind = reader(tmp_path, "ahead", "a", "b"), reader(tmp_path, "behind", "b")
    applied = {
        "ahead": {"a": files(1, 3, 5), "b": files(2, 4)},
        "behind": {"b": files(2)},
    }
    noted = [keep.note(each, None) for each in (ahead, behind)]

    removed = keep.prune(DAY_S, lambda each: applied[each.query])

    assert noted == [True, True]
    assert removed == 3
    assert left(spool) == [4, 5]


def put_back(spool: SpoolFolder, number: int, *, aged_s: float) -> str:
    """Put lines of a file of table a back, as `joinery dlq replay` does; return what it made."""
    name = f"{number:016d}.jsonl.20260131T120000000000Z.replay.jsonl"
    file = spool.path / "files" / "a" / name
    file.write_text("1\t{}\n")
    os.utime(file, (time.time() - aged_s,) * 2)
    return name


def test_lines_that_were_put_back_go_with_the_file_that_they_are_of(spool: SpoolFolder) -> None:
    put_back(spool, 3, aged_s=2 * DAY_S)
    keep = SpoolKeep(spool)

    sizes, removed = keep.sizes(), keep.prune(DAY_S, nothing)

    assert (6, 6, 5, False) == (len(sizes), removed, keep.removed, keep.whole)


def test_lines_that_were_put_back_lately_hold_up_nothing(
    spool: SpoolFolder, tmp_path: Path
) -> None:
    name = put_back(spool, 1, aged_s=0)
    keep, late = SpoolKeep(spool), reader(tmp_path, "late", "a")

    removed = keep.prune(DAY_S, nothing)
    goes_on = keep.note(late, {"a": {*files(1, 3, 5), name}})
    later = keep.prune(0, lambda each: {"a": {*files(1, 3, 5), name}})

    assert (5, True, 1, 5) == (removed, goes_on, later, keep.removed)


def test_a_reader_whose_checkpoint_is_gone_is_forgotten(spool: SpoolFolder, tmp_path: Path) -> None:
    keep = SpoolKeep(spool)
    keep.note(reader(tmp_path, "gone", "a"), None)
    (tmp_path / "gone").rmdir()

    assert keep.prune(DAY_S, nothing) == 5


def test_who_begins_once_files_are_gone_is_refused_and_who_goes_on_is_not(
    spool: SpoolFolder, tmp_path: Path
) -> None:
    keep = SpoolKeep(spool)
    keep.prune(DAY_S, nothing)
    late = reader(tmp_path, "late", "a")

    assert not keep.note(late, None)
    assert keep.readers() == []
    assert keep.note(late, {"a": files(1, 3, 5)})


def test_a_checkpoint_from_before_what_was_removed_is_refused(
    spool: SpoolFolder, tmp_path: Path
) -> None:
    keep = SpoolKeep(spool)
    put_back = reader(tmp_path, "put_back", "a")
    keep.prune(DAY_S, nothing)

    noted = [keep.note(put_back, {"a": files(*numbers)}) for numbers in ((1, 3), (1, 3, 5))]

    assert [False, True] == noted


def test_who_has_begun_with_a_reading_of_all_tables_goes_on(
    spool: SpoolFolder, tmp_path: Path
) -> None:
    keep = SpoolKeep(spool)
    keep.prune(DAY_S, nothing)
    for table in "ab":
        keep.note_read(table, 6, "ab")
    begun = reader(tmp_path, "begun", "a", "b")

    noted = [keep.note(begun, applied) for applied in ({}, {"a": files(6)}, {"a": files(3, 6)})]

    assert [True, True, False] == noted


def test_a_reading_of_all_tables_makes_the_spool_whole_until_it_goes(spool: SpoolFolder) -> None:
    keep = SpoolKeep(spool)
    reach(spool.path, 3)
    keep.prune(DAY_S, nothing)
    for table in "ab":
        keep.note_read(table, 5, "ab")
    whole = keep.whole
    reach(spool.path, 5)
    keep.prune(0, nothing)

    assert (whole, keep.whole) == (True, False)


def test_what_a_reading_under_way_needs_stays_until_all_tables_are_read(
    spool: SpoolFolder,
) -> None:
    known = claimed(spool, "a", "b")
    known.note_begun()
    known.read_again()
    keep = SpoolKeep(known)
    reach(spool.path, 2)
    first = keep.begin_reading("a")
    reach(spool.path, 5)

    removed = [keep.prune(0, nothing)]
    keep.note_read("a", first, "ab")
    known.note_joined("a")
    removed.append(keep.prune(0, nothing))
    keep.note_read("b", keep.begin_reading("b"), "ab")
    known.note_joined("b")
    removed.append(keep.prune(0, nothing))

    assert (3, [2, 0, 3]) == (first, removed)


def test_files_from_the_beginning_of_a_reading_are_as_old_as_its_end(spool: SpoolFolder) -> None:
    keep = SpoolKeep(spool)
    for table in "ab":
        keep.note_read(table, 4, "ab")

    removed = keep.prune(DAY_S, nothing)

    assert (3, [4, 5], True) == (removed, left(spool), keep.whole)


def test_a_table_that_joins_keeps_no_file(spool: SpoolFolder) -> None:
    known = claimed(spool, "a")
    known.note_begun()
    SpoolFolder.claim(spool.path, slot="s", tables=("a", "b"))
    keep = SpoolKeep(known)
    reach(spool.path, 2)
    keep.begin_reading("b")
    reach(spool.path, 5)

    assert keep.prune(DAY_S, nothing) == 5


def test_a_reading_of_some_tables_makes_no_spool_whole(spool: SpoolFolder) -> None:
    keep = SpoolKeep(spool)
    keep.prune(DAY_S, nothing)

    keep.note_read("a", 6, "ab")

    assert not keep.whole


def test_a_file_that_the_position_is_not_past_keeps_its_number(
    spool: SpoolFolder, tmp_path: Path
) -> None:
    reach(tmp_path, 3)

    SpoolKeep(spool).prune(DAY_S, nothing)

    assert left(spool) == [4, 5]
