"""A file stands whole under its name, or not at all."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from joinery.files import alone_in, join_synced, replace_text, write_whole


@pytest.mark.parametrize("synced", [False, True])
def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path, synced: bool) -> None:
    file = tmp_path / "new" / "mark.json"

    write_whole(file, "old, and longer", synced=synced)
    write_whole(file, "né".encode(), synced=synced)

    assert "né" == file.read_text(encoding="utf-8")
    assert [file] == list(file.parent.iterdir())


def test_a_file_that_cannot_be_written_keeps_what_it_held(tmp_path: Path) -> None:
    file = tmp_path / "mark.json"
    write_whole(file, "old", synced=False)
    (tmp_path / ".mark.json.part").mkdir()

    with pytest.raises(IsADirectoryError):
        write_whole(file, "new", synced=False)

    assert "old" == file.read_text(encoding="utf-8")


def test_a_file_that_is_kept_by_its_user_stays_where_it_is_and_whose_it_is(tmp_path: Path) -> None:
    kept, link = tmp_path / "kept" / "joinery.yaml", tmp_path / "joinery.yaml"
    write_whole(kept, "old", synced=False)
    kept.chmod(0o400)
    link.symlink_to(kept)
    (kept.parent / ".joinery.yaml.part").touch(mode=0o644)  # as a writer that was killed leaves it

    replace_text(link, "new")

    assert "new" == kept.read_text(encoding="utf-8")
    assert (link.is_symlink(), 0o400) == (True, kept.stat().st_mode & 0o777)
    assert [kept] == list(kept.parent.iterdir())


def test_one_at_a_time_changes_a_folder(tmp_path: Path) -> None:
    with alone_in(tmp_path):
        other = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)


def test_parts_are_joined_in_their_order(tmp_path: Path) -> None:
    parts = [tmp_path / "1", tmp_path / "2"]
    parts[0].write_bytes(b"a\n")
    parts[1].write_bytes(b"b\n")

    assert b"a\nb\n" == join_synced(parts, tmp_path / "whole").read_bytes()
