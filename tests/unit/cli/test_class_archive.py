"""Copies of signed jars, whose classes an archive can hold."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from joinery.cli import class_archive
from joinery.cli.class_archive import copy_signed_jars, main


def _jar(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as jar:
        for name in names:
            jar.writestr(name, name)


def test_a_signed_jar_is_copied_without_its_signature(tmp_path: Path) -> None:
    jars, folder = tmp_path / "jars", tmp_path / "unsigned"
    jars.mkdir()
    _jar(
        jars / "signed.jar", "META-INF/MANIFEST.MF", "META-INF/A.SF", "META-INF/A.RSA", "a/A.class"
    )
    _jar(jars / "plain.jar", "META-INF/MANIFEST.MF", "a/B.SF")

    copy_signed_jars(jars, folder)

    assert ["signed.jar"] == [each.name for each in folder.iterdir()]
    with zipfile.ZipFile(folder / "signed.jar") as copy:
        assert ["META-INF/MANIFEST.MF", "a/A.class"] == copy.namelist()
        assert b"a/A.class" == copy.read("a/A.class")


def test_where_no_jar_is_signed_nothing_is_left(tmp_path: Path) -> None:
    _jar(tmp_path / "plain.jar", "a/A.class")

    copy_signed_jars(tmp_path, tmp_path / "unsigned")

    assert not (tmp_path / "unsigned").exists()


def test_a_jar_that_cannot_be_read_is_told_and_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "environment" / "classes.jsa"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setattr(class_archive, "archive_file", lambda: archive)
    monkeypatch.setattr(class_archive, "spark_home", lambda: tmp_path)
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "broken.jar").write_bytes(b"PK")

    assert 0 == main()

    assert "Spark will start without an archive of its classes: " in capsys.readouterr().err
    assert not archive.exists()
