"""What docs/why.md shows is what the commands say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from joinery.cli.commands import app

PAGE = (Path(__file__).parents[2] / "docs" / "why.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ joinery (.*?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert 0 == CliRunner().invoke(app, ["init", "hello"]).exit_code
    return tmp_path / "hello"


def test_commands_say_what_the_page_shows(hello: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hello)

    told = [(line, CliRunner().invoke(app, shlex.split(line)).stdout) for line, _ in SHOWN]

    assert 4 == len(SHOWN)
    assert SHOWN == told


def test_python_tells_the_same(hello: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    exec(code, {})
