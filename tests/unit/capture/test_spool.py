"""Whose a spool is, and which tables it has."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import CaptureLostError, SpoolFolder
from joinery.capture.state import drop_source


def tables_of(spool: SpoolFolder) -> tuple[tuple[str, ...], tuple[str, ...]]:
    known = spool.identity
    assert known is not None
    return known.tables, known.joining


def test_a_table_whose_name_was_wrong_is_forgotten_as_long_as_nothing_was_captured(
    tmp_path: Path,
) -> None:
    SpoolFolder.claim(tmp_path, slot="s", tables=("public.costumer", "public.purchase"))

    mended = SpoolFolder.claim(tmp_path, slot="s", tables=("public.customer", "public.purchase"))

    assert (("public.customer", "public.purchase"), ()) == tables_of(mended)


def test_a_table_joins_those_that_are_captured(tmp_path: Path) -> None:
    SpoolFolder.claim(tmp_path, slot="s", tables=("public.customer",)).note_begun()

    joined = SpoolFolder.claim(tmp_path, slot="s", tables=("public.purchase",))

    assert (("public.customer", "public.purchase"), ("public.purchase",)) == tables_of(joined)


def test_a_spool_whose_removal_is_broken_off_is_gone_and_its_rest_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(folder: Path, **given: object) -> None:
        if folder.is_dir():
            raise KeyboardInterrupt

    database = MysqlDatabase("mysql://joinery@localhost/shop", "joinery_t", ("shop.a",), 7)
    spool = SpoolFolder.claim(tmp_path / "spool", slot="joinery_t", tables=database.tables)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", broken_off)
        with pytest.raises(KeyboardInterrupt):
            drop_source(database, spool)

    assert not spool.path.exists()
    assert drop_source(database, spool) == ()
    assert [*tmp_path.iterdir()] == []


def test_a_spool_that_lost_what_says_whose_it_is_is_not_claimed_anew(tmp_path: Path) -> None:
    (tmp_path / "position.json").write_text('{"lsn": 1, "written_at_ms": 1, "file": 0}')

    with pytest.raises(CaptureLostError, match="was removed, at least in part"):
        SpoolFolder.claim(tmp_path, slot="s", tables=("public.customer",))
