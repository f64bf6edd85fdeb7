"""Spark's JVM is given an archive of classes only where there is one for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from joinery.spark.session import archive_file, archive_option


def test_without_an_archive_java_is_told_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert "" == archive_option()


def test_the_archive_of_this_java_and_this_spark_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "with a space"))
    archive_file().parent.mkdir(parents=True)
    archive_file().touch()

    assert f'"-XX:SharedArchiveFile={archive_file()}"' == archive_option()
