"""What is asked of a run, by one or by several at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from joinery.delivery.control import Action, ControlLog, PauseSwitch


def paused(asked: ControlLog | PauseSwitch) -> Action | None:
    """Return a value: for a type checker, an attribute keeps the value that was asserted."""
    return asked.paused


def test_the_last_that_was_asked_holds(tmp_path: Path) -> None:
    log = ControlLog(tmp_path / "core.jsonl")

    assert paused(log) is None
    assert log.ask(pause := Action.now("pause", "stock-taking")) is None
    assert pause == paused(log)
    assert log.ask(Action.now("resume")) is None
    assert paused(log) is None
    assert ["pause", "resume"] == [each.verb for each in log.actions()]


def test_who_asked_what_holds_already_is_told_who_did(tmp_path: Path) -> None:
    log = ControlLog(tmp_path / "core.jsonl")
    first, idle = Action.now("pause"), Action.now("resume")

    assert log.ask(idle) is idle
    log.ask(first)

    assert first == log.ask(Action.now("pause"))
    assert (first,) == log.actions()


def test_of_many_who_ask_at_once_one_is_the_first(tmp_path: Path) -> None:
    file = tmp_path / "core.jsonl"

    with ThreadPoolExecutor(8) as people:
        stood = list(people.map(lambda _: ControlLog(file).ask(Action.now("pause")), range(32)))

    assert 1 == stood.count(None)
    assert 1 == len(ControlLog(file).actions())


def test_a_line_that_was_cut_off_was_never_asked(tmp_path: Path) -> None:
    file = tmp_path / "core.jsonl"
    log = ControlLog(file)
    log.ask(Action.now("pause"))
    file.write_bytes(file.read_bytes() + b'{"verb": "resu')

    assert paused(log) is not None
    assert log.ask(Action.now("resume")) is None
    assert paused(log) is None
    assert 2 == len(log.actions())


def test_what_another_version_asks_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "core.jsonl"
    file.write_text('{"verb": "mark", "at": "", "by": ""}\n[1]\nnull\n{"verb": "pause"}\n')

    assert () == ControlLog(file).actions()


def test_a_run_looks_twice_a_second_and_keeps_what_it_knew(tmp_path: Path) -> None:
    now = [0.0]
    file = tmp_path / "core.jsonl"
    switch = PauseSwitch(ControlLog(file), clock=lambda: now[0])
    assert paused(switch) is None
    ControlLog(file).ask(Action.now("pause"))

    assert paused(switch) is None
    now[0] = 0.5
    assert paused(switch) is not None
    file.unlink()
    file.mkdir()
    now[0] = 1.0
    assert paused(switch) is not None
