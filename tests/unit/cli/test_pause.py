"""`joinery pause` and `joinery resume`, where no run is active."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.command import joinery

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {key: [id], fields: {id: long, name: string}}}
products:
  profile: {root: customer, group: core, sink: {files: {path: out}}}
  names: {root: customer, group: core, fields: [name], sink: {files: {path: out}}}
  card: {root: customer, sink: {files: {path: out}}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_paused_is_so_for_the_next_run_and_says_by_whom(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == joinery(monkeypatch, "pause", "card", "--why", "stock-taking")
    assert "card: no run is active; the next one starts paused\n" == capsys.readouterr().out

    assert 0 == joinery(monkeypatch, "status", "card", "--json")
    [card] = json.loads(capsys.readouterr().out)["products"]
    assert "paused" == card["state"]
    assert card["because"].startswith("paused by ")
    assert card["because"].endswith("Z: stock-taking")

    assert 0 == joinery(monkeypatch, "pause", "card")
    assert "card: was paused before, by " in capsys.readouterr().out
    assert 0 == joinery(monkeypatch, "resume", "card")
    assert "card: no run is active; the next one runs it\n" == capsys.readouterr().out
    assert 0 == joinery(monkeypatch, "resume", "card")
    assert "card: was resumed before, by " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("profile",), 'names shares query "core", but is not named'),
        (("carf",), 'there is no product or stream "carf" to run'),
        (("card", "--timeout", "soon"), '"soon" is not a duration'),
    ],
)
def test_what_cannot_be_paused_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    assert 2 == joinery(monkeypatch, "pause", *arguments)

    assert said in capsys.readouterr().err
    assert not (folder / ".joinery").exists()


def test_a_group_is_paused_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == joinery(monkeypatch, "pause", "names", "profile")

    assert "profile, names: no run is active" in capsys.readouterr().out


def test_real_time_is_not_paused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "joinery.yaml").write_text(PROJECT + "run: {real_time: true}\n")

    assert 2 == joinery(monkeypatch, "pause", "card")
    assert "real-time mode cannot be paused" in capsys.readouterr().err


def test_what_was_paused_before_goes_on_in_real_time_once_it_is_resumed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert 0 == joinery(monkeypatch, "pause", "card")
    (folder / "joinery.yaml").write_text(PROJECT + "run: {real_time: true}\n")
    capsys.readouterr()

    assert 0 == joinery(monkeypatch, "resume", "card")
    assert "card: no run is active; the next one runs it\n" == capsys.readouterr().out
