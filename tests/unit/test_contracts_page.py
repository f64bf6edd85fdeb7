"""What docs/contracts.md shows is what Joinery prints."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.unit.cli.shop import joinery
from tests.unit.page import Page

PAGE = Page("contracts.md")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return PAGE.written(tmp_path)


def test_the_export_of_the_page(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == joinery("contract", "export", "profile")

    assert PAGE.blocks["json export"] == capsys.readouterr().out


def test_the_check_of_the_page(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed(file)
    head, _, _ = PAGE.blocks["yaml"].partition("relations:")
    file.write_text(head + PAGE.blocks["yaml edited"], encoding="utf-8")

    assert 3 == joinery("contract", "check", "--against", "git:main")

    asked, *told = PAGE.lines("console check")
    assert "$ joinery contract check --against git:main" == asked
    assert told == capsys.readouterr().out.splitlines()


def committed(file: Path) -> None:
    """Commit a file on a branch `main`, whatever the settings of the user are."""
    unset = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {**os.environ, **unset}
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *arguments], cwd=file.parent, env=environment, check=True)
