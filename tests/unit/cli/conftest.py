"""The small project in a folder of its own, from which commands are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.cli.shop import PROJECT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "data").mkdir()
    (folder / "joinery.yaml").write_text(PROJECT)
    return folder
