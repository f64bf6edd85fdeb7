"""Asks the run that holds a lease to end after its batch, for a rebuild that takes its place.

The request is a file beside the lease. It stands for as long as whoever asks writes it again: one
that was killed while it waited ends no later run.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress

from joinery.delivery.lease_file import LAPSE_S
from joinery.files import write_whole
from joinery.place.place import Place, with_short_patience

ASKED = ".asked"
_STANDS_S = LAPSE_S
_ANSWER_S, _TRIES = 2.0, 1  # of a look, which comes again by itself


class LeaseRequest:
    """A request to whoever holds a lease, as both sides use it.

    Args:
        file: Where it stands.
    """

    def __init__(self, file: Place) -> None:
        self._file = file
        self._written_at: float | None = None

    def renew(self, after_s: float) -> None:
        """Write it, unless that was done less than `after_s` ago."""
        now = time.monotonic()
        if self._written_at is None or now - self._written_at >= after_s:
            asker = {"host": socket.gethostname(), "process": os.getpid()}
            text = json.dumps({**asker, "asked_at": time.time()})
            write_whole(self._file, text, synced=False)
            self._written_at = now

    def withdraw(self) -> None:
        """Remove it, if it was written."""
        if self._written_at is not None:
            self._file.unlink(missing_ok=True)
            self._written_at = None

    def stands(self) -> bool:
        """Return whether somebody asks now; False, too, where that cannot be seen."""
        with suppress(OSError):  # the next look may tell
            file = with_short_patience(self._file, tries=_TRIES, answer_s=_ANSWER_S)
            return file.is_file() and _is_fresh(file.read_bytes())
        return False


def _is_fresh(content: bytes) -> bool:
    try:
        asked_at = float(json.loads(content)["asked_at"])
    except (ValueError, TypeError, KeyError):
        return False  # written by nobody who waits
    return abs(time.time() - asked_at) < _STANDS_S
