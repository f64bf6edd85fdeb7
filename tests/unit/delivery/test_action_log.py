"""Who did what: nothing is lost, and nothing fails for it."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from joinery.delivery.action_log import ActionLog


def test_what_was_done_is_told_with_who_and_when(tmp_path: Path) -> None:
    log = ActionLog(tmp_path / "checkpoint")

    log.note("mark", ["core"], "batch 7", by="ada@host")
    log.note("table add", by="bob@host")

    mark, added = log.actions()
    assert ("mark", "ada@host", ("core",), "batch 7") == (mark.verb, mark.by, mark.about, mark.told)
    assert ("table add", ()) == (added.verb, added.about)
    assert mark.at <= added.at
    assert [True, False] == [mark.is_about(["core", "x"]), mark.is_about(["x"])]
    assert added.is_about(["x"])


def test_nothing_is_lost_where_many_act_at_once(tmp_path: Path) -> None:
    def act(number: int) -> None:
        ActionLog(tmp_path).note("mark", [f"q{number}"], by="ada@host")

    with ThreadPoolExecutor(8) as people:
        list(people.map(act, range(200)))

    assert {f"q{number}" for number in range(200)} == {
        name for each in ActionLog(tmp_path).actions() for name in each.about
    }


def test_a_line_that_was_cut_off_hides_no_other(tmp_path: Path) -> None:
    log, file = ActionLog(tmp_path), tmp_path / "_actions.jsonl"
    log.note("mark", by="ada@host")
    file.write_bytes(file.read_bytes()[:-9] + b'\n7\n[]\n{}\n{"verb": "mark", "at": "no"')
    log.note("apply", by="ada@host")

    assert ["apply"] == [each.verb for each in log.actions()]


def test_of_a_long_log_the_end_is_read(tmp_path: Path) -> None:
    log, file = ActionLog(tmp_path), tmp_path / "_actions.jsonl"
    log.note("mark", told="first", by="ada@host")
    log.note("mark", told="x" * (1 << 20), by="ada@host")
    log.note("apply", by="ada@host")
    size = file.stat().st_size

    assert ["apply"] == [each.verb for each in log.actions()]
    assert size == file.stat().st_size


def test_a_log_that_has_grown_long_loses_its_older_half(tmp_path: Path) -> None:
    log, file = ActionLog(tmp_path), tmp_path / "_actions.jsonl"
    log.note("mark", told="first", by="ada@host")
    file.chmod(0o660)
    for _ in range(4):
        log.note("mark", told="x" * (1 << 20), by="ada@host")

    lines = [json.loads(each)["told"][:5] for each in file.read_text().splitlines() if each]
    assert (["xxxxx"] * 2, 0o660) == (lines, file.stat().st_mode & 0o777)


def test_no_line_is_lost_while_older_ones_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.delivery.action_log._MOST_BYTES", 4096)

    def act(number: int) -> bool:
        """Return whether what somebody did is there right after."""
        log = ActionLog(tmp_path)
        log.note("mark", [f"q{number}"], by="ada@host")
        return any(each.about == (f"q{number}",) for each in log.actions())

    with ThreadPoolExecutor(4) as people:
        kept = list(people.map(act, range(400)))

    assert all(kept)
    assert (tmp_path / "_actions.jsonl").stat().st_size <= 4096


def test_an_action_goes_on_where_it_cannot_be_written_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "checkpoint"
    root.write_text("a file where a folder should be")

    with caplog.at_level(logging.WARNING):
        ActionLog(root).note("mark")

    assert ["could not write down who did what"] == caplog.messages


def test_a_project_without_a_log_has_no_actions(tmp_path: Path) -> None:
    assert () == ActionLog(tmp_path).actions()
