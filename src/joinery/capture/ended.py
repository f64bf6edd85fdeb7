"""Why the last capture into a spool has ended, for those who look at it later.

`ended.json` in the spool says it, until a capture begins again: a clean end, or what somebody has
to fix. There is none where the process was killed.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from joinery.capture.spool import SpoolFolder
from joinery.errors import JoineryError
from joinery.files import write_whole

_ENDED = "ended.json"


@dataclass(frozen=True, slots=True)
class Ended:
    """That a capture has ended.

    Attributes:
        at: When, in seconds since 1970.
        code: Of its error; empty where it was asked to end.
        message: Of its error, for people.
        hint: What helps.
    """

    at: float
    code: str = ""
    message: str = ""
    hint: str = ""


def note_ended(spool: SpoolFolder, error: JoineryError | None) -> None:
    """Write down that a capture ends now; not where the spool is gone, or another goes on."""
    told = Ended(time.time())
    if error is not None:
        told = Ended(told.at, error.code, error.message, error.hint)
    with suppress(OSError, ValueError):  # its disk may be why it ends
        if spool.identity is not None and not spool.held():
            write_whole(_file(spool), json.dumps(asdict(told)), synced=False)


def forget_ended(spool: SpoolFolder) -> None:
    """Note that a capture begins."""
    _file(spool).unlink(missing_ok=True)


def ended_of(spool: SpoolFolder) -> Ended | None:
    """Return how the last capture has ended; None where nothing says so, or one goes on."""
    try:
        return Ended(**json.loads(_file(spool).read_text(encoding="utf-8")))
    except (FileNotFoundError, TypeError, ValueError):  # or the file of another version
        return None


def _file(spool: SpoolFolder) -> Path:
    return spool.path / _ENDED
