"""How the last capture into a spool has ended, as `joinery source status` tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.capture.ended import Ended, ended_of, forget_ended, note_ended
from joinery.capture.spool import CaptureLostError, SpoolFolder
from joinery.capture.state import SourceState
from joinery.errors import JoineryError

GONE = CaptureLostError('slot "joinery_t" is gone', hint="Run joinery source drop.")


@pytest.fixture
def spool(tmp_path: Path) -> SpoolFolder:
    return SpoolFolder.claim(tmp_path / "spool", slot="joinery_t", tables=("public.a",))


def told(ended: Ended | None) -> list[tuple[str, str]]:
    """Return what people are told below the name of the source, before its slot."""
    state = SourceState(
        name="t",
        slot="joinery_t",
        capturing=False,
        read=True,
        kept_bytes=None,
        wal_status="",
        behind_bytes=0,
        heard_s=9.0,
        tables=("public.a",),
        ended=ended,
    )
    rows = state.rows()
    return rows[1 : [name for name, _ in rows].index("slot")]


@pytest.mark.parametrize("error", [None, GONE])
def test_how_a_capture_ended_is_kept_until_one_begins(
    spool: SpoolFolder, error: JoineryError | None
) -> None:
    note_ended(spool, error)
    kept = ended_of(spool)
    forget_ended(spool)

    assert kept is not None
    assert error is None or (error.code, error.message, error.hint) == (
        kept.code,
        kept.message,
        kept.hint,
    )
    assert ended_of(spool) is None


def test_an_end_does_not_make_a_spool_that_is_gone(tmp_path: Path) -> None:
    note_ended(SpoolFolder(tmp_path / "spool"), GONE)

    assert [] == [*tmp_path.iterdir()]


def test_a_capture_that_failed_tells_since_when_why_and_what_helps() -> None:
    rows = told(Ended(1_796_000_000.0, GONE.code, GONE.message, GONE.hint))

    assert [
        ("capture", "not running since 2026-11-30T00:53:20Z, 0.0 MiB behind, last seen 9 s ago"),
        ("because", 'slot "joinery_t" is gone [RUN_CAPTURE_LOST]'),
        ("hint", "Run joinery source drop."),
    ] == rows


def test_a_capture_that_was_asked_to_end_tells_since_when() -> None:
    rows = told(Ended(1_796_000_000.0))

    assert [
        ("capture", "not running since 2026-11-30T00:53:20Z, 0.0 MiB behind, last seen 9 s ago")
    ] == rows
