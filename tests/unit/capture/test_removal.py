"""A spool is removed whole, wherever it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.small_disk import small_disk

from joinery.capture import removal
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.capture.state import drop_source

_DATABASE = MysqlDatabase("mysql://joinery@localhost/shop", "joinery_t", ("shop.a",), 7)


def spool_at(folder: Path) -> SpoolFolder:
    """Return a spool that has captured something."""
    spool = SpoolFolder.claim(folder, slot="joinery_t", tables=_DATABASE.tables)
    spool.note_read("joinery_t", 5, 1)
    (folder / "files" / "shop.a").mkdir(parents=True)
    (folder / "files" / "shop.a" / "1.jsonl").write_text("{}\n", encoding="utf-8")
    return spool


def test_a_spool_that_a_link_leads_to_is_removed_where_it_stands(tmp_path: Path) -> None:
    disk, link = tmp_path / "disk", tmp_path / "spool"
    disk.mkdir()
    link.symlink_to(disk)
    spool = spool_at(link)

    assert drop_source(_DATABASE, spool) == (str(link),)
    assert drop_source(_DATABASE, spool) == ()
    assert (sorted(tmp_path.iterdir()), [*disk.iterdir()]) == ([disk, link], [])
    assert spool_at(link).begun is False


def test_a_spool_on_a_disk_of_its_own_is_emptied(tmp_path: Path) -> None:
    with small_disk(tmp_path / "spool") as folder:
        spool = spool_at(folder)
        (folder / "lost+found").mkdir()

        assert drop_source(_DATABASE, spool) == (str(folder),)
        assert drop_source(_DATABASE, spool) == ()
        assert [*folder.iterdir()] == [folder / "lost+found"]


def test_what_says_that_an_emptied_spool_has_all_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed: list[str] = []
    rename = Path.rename

    def broken_off(path: Path, target: Path) -> Path:
        if len(renamed) == 3:
            raise KeyboardInterrupt
        renamed.append(path.name)
        return rename(path, target)

    with small_disk(tmp_path / "spool") as folder:
        spool = spool_at(folder)
        renamed.clear()
        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", broken_off)
            with pytest.raises(KeyboardInterrupt):
                removal._empty(folder)

        assert renamed == ["source.json", "position.json", "files"]
        assert drop_source(_DATABASE, spool) == (str(folder),)
        assert [*folder.iterdir()] == []


def test_a_spool_that_cannot_be_removed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("joinery.capture.state.remove_spool", refused)

    with pytest.raises(CaptureError, match=r"could not remove the spool .*Permission denied"):
        drop_source(_DATABASE, spool_at(tmp_path / "spool"))
