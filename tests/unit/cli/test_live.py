"""A run is shown as JSON lines, or as a table, and ends in its totals."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from rich.console import Console

from joinery.cli.live import JsonDisplay, TerminalDisplay, batch_line
from joinery.model.batch import BatchProgress
from joinery.model.progress import Progress, Totals, Waiting


def batch(batch_id: int = 0, *, remaining: int = 0, ended_at: float = 0) -> BatchProgress:
    return BatchProgress(
        query="q",
        batch_id=batch_id,
        relations={"user": {"read": 10, "stale": 1, "dead": 2}},
        documents={"profile": {"upserts": 4, "tombstones": 1}},
        counters={},
        dead=2,
        seconds=2.0,
        ended_at=ended_at,
        durations_ms={"stage": 1500},
        remaining={"user": remaining},
    )


def test_the_last_json_line_holds_the_totals(capsys: pytest.CaptureFixture[str]) -> None:
    display = JsonDisplay()

    display.batch(batch())
    display.end(Totals().plus(batch()))

    first, last = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["event"], first["rows"], first["rows_per_second"]) == ("batch", 10, 5)
    expected = {"read": 10, "applied": 7, "stale": 1, "dead": 2, "documents": 4, "tombstones": 1}
    assert expected.items() <= last.items()


WARN = """
from joinery.cli.live import JsonDisplay
from joinery.model.warning import RunWarning
JsonDisplay().warn(RunWarning(code="WARN_X", about="a", message="a is odd", hint="Mend a."))
"""


def warned(output: IO[str] | int, error: IO[str] | int) -> tuple[str, str]:
    """Return what a run that warns leaves in its output and its errors, where these are pipes."""
    command = [sys.executable, "-c", WARN]
    done = subprocess.run(command, stdout=output, stderr=error, text=True, check=True)
    return done.stdout or "", done.stderr or ""


def test_a_warning_in_a_pipe_is_a_line_and_nothing_else() -> None:
    output, error = warned(subprocess.PIPE, subprocess.PIPE)

    assert "a is odd" == json.loads(output)["message"]
    assert "" == error


def test_a_warning_is_for_people_too_where_they_do_not_see_the_line(tmp_path: Path) -> None:
    with (tmp_path / "lines").open("w") as file:
        _, error = warned(file, subprocess.PIPE)
        warned(file, subprocess.STDOUT)

    assert "warning: a is odd. Mend a. [WARN_X]\n" == error
    assert 2 == len((tmp_path / "lines").read_text().splitlines())


def test_the_table_has_a_line_a_topic() -> None:
    display = TerminalDisplay()
    console = Console(record=True, width=100, file=None, force_terminal=False)
    progress = Progress().plus(batch())
    display._topics, display._progress = ("user", "star"), lambda: progress

    display.batch(batch(remaining=4096, ended_at=1))
    display.batch(batch(1, remaining=2048, ended_at=2))
    with console.capture() as captured:
        console.print(display._drawn())

    lines = captured.get().splitlines()
    assert ["user", "10", "5", "2.0", "KiB", "1", "s", "1", "2"] == lines[1].split()
    assert ["star", "0", "0", "0", "0"] == lines[2].split()
    assert lines[3].startswith("profile: 4 documents written, 1 tombstone")


def waiting(attempts: int) -> Waiting:
    return Waiting(product="p", target="kafka topic t", reason="No.", attempts=attempts, since=1.0)


def test_a_wait_is_one_json_line_and_so_is_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    display = JsonDisplay()

    display.wait("kafka topic t", waiting(1))
    display.wait("kafka topic t", waiting(2))
    display.wait("kafka topic t", None)

    first, last = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert ("waiting", "kafka topic t", "No.") == (
        first["event"],
        first["target"],
        first["reason"],
    )
    assert {"event": "back", "target": "kafka topic t"} == last


def test_json_lines_tell_each_phase_and_where_documents_go(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display = JsonDisplay()

    display.prepare(Path("spark.log"))
    display.start(("user",), {"profile": ("files out/profile",)}, Progress)
    display.phase("caught up")
    display.end(Totals())

    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["event"] for each in told] == ["starting", "started", "caught up", "end"]
    assert told[1]["relations"] == ["user"]
    assert told[1]["targets"] == told[3]["targets"] == {"profile": ["files out/profile"]}


def test_the_end_tells_of_rows_that_were_late(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(counters={"hours": {"late": 3, "refused": 1}, "days": {"refused": 2}})
    lines, table = JsonDisplay(), TerminalDisplay()

    for display in (lines, table):
        display.start(("view",), {}, lambda: progress)
        display.end(Totals())

    *_, last, total, times = capsys.readouterr().out.splitlines()
    assert {"hours": {"late": 3}} == json.loads(last)["times"]
    assert "hours: 3 late" == times
    assert total.startswith("0 changes read")


def test_a_terminal_shows_what_the_run_is_at_before_there_is_a_batch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display = TerminalDisplay()
    console = Console(record=True, width=100, file=None, force_terminal=False)

    display.start(("user",), {"profile": ("files out/profile",)}, Progress)
    with console.capture() as captured:
        console.print(display._drawn())
    display.phase("caught up")
    with console.capture() as later:
        console.print(display._drawn())
    display.end(Totals())

    (line,) = captured.get().splitlines()
    assert "reading; the first batch takes some seconds more than the others (0 s)" in line
    assert "caught up, waiting for changes; Ctrl-C ends the run" in later.get()
    assert capsys.readouterr().out.splitlines()[-1] == "profile is in files out/profile"


def test_the_parts_of_a_batch_add_up() -> None:
    told = replace(batch(), seconds=14.07, durations_ms={"stage": 7580, "sinks": 40, "getBatch": 2})

    assert batch_line(told) == (
        "batch 0 of q: 10 changes in 14.1 s (process 7.6, write 0.0, Spark 6.5)"
    )


def test_the_table_tells_what_is_waited_for() -> None:
    display = TerminalDisplay()
    console = Console(record=True, width=200, file=None, force_terminal=False)
    progress = Progress().waits("kafka topic t", waiting(1))
    display._progress = lambda: progress

    with console.capture() as captured:
        console.print(display._drawn())

    assert "waiting for kafka topic t for" in captured.get()
    assert {} == progress.waits("kafka topic t", None).waiting


def test_progress_adds_batches_up() -> None:
    progress = Progress().plus(batch(0)).plus(batch(1))

    assert {"read": 20, "stale": 2, "dead": 4} == progress.relations["user"]
    assert progress.totals.documents == 8
    assert progress.latest["q"].batch_id == 1


def test_a_topic_that_counts_records_shows_how_many_remain() -> None:
    display = TerminalDisplay()
    console = Console(record=True, width=100, file=None, force_terminal=False)
    display._topics, display._progress = ("user",), lambda: Progress().plus(batch())

    for number, left in enumerate((4000, 2000)):
        told = replace(batch(number, ended_at=number), remaining_rows={"user": left})
        display.batch(told)
    with console.capture() as captured:
        console.print(display._drawn())

    row = captured.get().splitlines()[1].split()
    assert ["user", "10", "5", "2,000", "rows", "1", "s", "1", "2"] == row


def test_what_is_waited_for_before_anything_is_drawn_is_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display = TerminalDisplay()
    away = Waiting(product="p", target="the vault", reason="it is away", attempts=1, since=0.0)

    display.wait("the vault", away)
    display.wait("the vault", replace(away, attempts=2))
    display.wait("the vault", None)
    display.wait("the vault", None)

    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("waiting for the vault for ")
    assert first.endswith(" s: it is away")
    assert "the vault is back" == last
