"""What `joinery solutions` shows while it measures, and where."""

from __future__ import annotations

import pytest

from joinery.cli.solutions import LineMeasuring, TerminalMeasuring, measuring_for_output
from joinery.model.batch import BatchProgress

BATCH = BatchProgress(
    query="p",
    batch_id=0,
    relations={"user": {"read": 700}},
    documents={},
    counters={},
    dead=0,
    seconds=1.0,
    ended_at=0.0,
)


def test_a_solution_is_a_line_beside_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    display = measuring_for_output(2, 1000)
    assert isinstance(display, LineMeasuring)

    display.prepare()
    for solution in ("spark-state", "kv"):
        display.begin(solution)
        display.batch(BATCH)
    display.end()

    told = capsys.readouterr()
    assert "" == told.out
    assert [
        "starting Spark",
        "measuring spark-state (1 of 2)",
        "measuring kv (2 of 2)",
    ] == told.err.splitlines()


def test_a_terminal_shows_how_much_of_a_solution_is_through(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    display = TerminalMeasuring(2, 1000)

    display.prepare()
    display.begin("kv")
    display.batch(BATCH)
    display.end()

    told = capsys.readouterr()
    assert "" == told.out
    assert "kv (1 of 2)" in told.err
    assert "700/1000" in told.err
