"""Files and folders in an object store, as a run keeps them beside its checkpoint."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from tests.services import object_folder
from tests.services.object_folder import over
from tests.services.s3_server import BadNetwork

from joinery.delivery.control import Action, ControlLog
from joinery.files import append_line, copy_folder, remove_folder, write_first, write_whole
from joinery.place.guarded import Guarded
from joinery.place.place import matching
from joinery.place.remote_path import RemotePath
from joinery.place.store import StorageError

pytestmark = pytest.mark.services
folder = object_folder.folder
network = object_folder.network


def test_a_file_reads_as_it_was_written(folder: RemotePath) -> None:
    write_whole(folder / "a" / "b.json", '{"ü": 1}', synced=True)

    assert (folder / "a" / "b.json").read_text() == '{"ü": 1}'
    assert (folder / "a").is_dir()
    assert not (folder / "a").is_file()
    assert (folder / "a" / "b.json").is_file()
    assert not (folder / "a" / "c").exists()
    with pytest.raises(FileNotFoundError):
        (folder / "a" / "c").read_bytes()


def test_a_folder_lists_what_is_in_it(folder: RemotePath) -> None:
    for name in ("2", "10", "state/0/x.zip", ".hidden"):
        write_whole(folder / name, name, synced=True)

    assert sorted(each.name for each in folder.iterdir()) == [".hidden", "10", "2", "state"]
    assert [each.name for each in matching(folder, "[0-9]*")] == ["10", "2"]
    assert [str(each) for each in matching(folder, "*/*/*.zip")] == [f"{folder}/state/0/x.zip"]


def test_a_folder_is_copied_without_what_is_left_out(folder: RemotePath, tmp_path: Path) -> None:
    for name in ("offsets/0", "state/0/x.zip", "_logs/y"):
        write_whole(folder / name, name, synced=True)

    copy_folder(folder, tmp_path / "copy", ("state", "_*"))

    files = [each for each in (tmp_path / "copy").rglob("*") if each.is_file()]
    assert [tmp_path / "copy" / "offsets" / "0"] == files


def test_a_folder_is_removed_with_all_that_is_in_it(folder: RemotePath) -> None:
    write_whole(folder / "a" / "b", "1", synced=True)
    write_whole(folder.with_name("beside") / "c", "1", synced=True)

    remove_folder(folder)

    assert not folder.exists()
    assert (folder.with_name("beside") / "c").exists()
    remove_folder(folder)  # of which nothing is there


def test_lines_of_many_writers_all_stand(folder: RemotePath) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(partial(append_line, folder / "lines"), map(str, range(12))))

    lines = (folder / "lines").read_text().split()
    assert sorted(map(str, range(12))) == sorted(lines)


def test_of_those_who_ask_the_same_one_is_first(folder: RemotePath) -> None:
    log = ControlLog(folder / "control.jsonl")
    asked = [Action.now("pause", str(number)) for number in range(4)]

    with ThreadPoolExecutor(4) as pool:
        standing = list(pool.map(log.ask, asked))

    (first,) = [each for each, stood in zip(asked, standing, strict=True) if stood is None]
    assert [first] == list(log.actions())
    assert {each for each in standing if each is not None} == {first}


def test_a_file_that_never_is_what_was_read_is_given_up(
    folder: RemotePath, network: BadNetwork
) -> None:
    write_whole(folder / "lines", "one\n", synced=True)
    network.weak = True

    with pytest.raises(StorageError, match="could not write s3a://") as told:
        append_line(over(network, folder) / "lines", "two")

    assert "alters ETags" in told.value.hint
    assert (folder / "lines").read_text() == "one\n"


def test_a_file_is_put_first_by_one(folder: RemotePath) -> None:
    write_first(folder / "offsets" / "7", "ours")
    write_first(folder / "offsets" / "7", "ours")  # its answer was lost

    with pytest.raises(FileExistsError):
        write_first(folder / "offsets" / "7", "another")

    assert (folder / "offsets" / "7").read_text() == "ours"


def test_large_files_are_copied_too(folder: RemotePath, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (9 << 20))
    (folder / "a" / "large").write_file(tmp_path / "large")
    write_whole(folder / "a" / "b/small", "1", synced=True)

    Guarded(lambda: None).copy(folder / "a", folder / "c", (folder / "a").sizes())

    assert {"large": 9 << 20, "b/small": 1} == (folder / "c").sizes()


def test_a_large_file_of_a_store_that_is_away_is_told_in_one_line(
    folder: RemotePath, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    away = RemotePath("nowhere", "x", folder.options)

    with pytest.raises(StorageError, match="could not write s3a://nowhere/x/file"):
        (away / "file").write_file(tmp_path / "file")


def test_a_store_that_is_away_is_told_in_one_line(folder: RemotePath) -> None:
    away = RemotePath("nowhere", "x", folder.options)

    with pytest.raises(StorageError) as told:
        write_whole(away / "file", "1", synced=True)

    assert told.value.message == "could not write s3a://nowhere/x/file"
    assert "bucket does not exist" in told.value.detail
    assert isinstance(told.value, OSError)
