"""What operators ask of the run of a query: to pause, to go on; each with who and when.

It is a log beside the checkpoint to which commands append and which the run reads between
batches, so no port is open, and what was asked holds for the next run, too.

Limits: the folder must be shared by the run and by those who ask.

Invariant: what was asked is durable when `ask` returns, is never removed, and the last of it
holds; a line that a crash cut off was never asked.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Literal, Self, get_args

from joinery.files import append_decided
from joinery.model.moment import moment_text
from joinery.place.place import Place, look_every_s

Verb = Literal["pause", "resume", "repair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that somebody asked.

    Attributes:
        verb: What.
        at: When, ISO 8601 in UTC.
        by: Who, as `user@host`; whoever signed in to the page has that of the page behind.
        why: In their own words; may be empty.
    """

    verb: Verb
    at: str
    by: str
    why: str = ""

    @classmethod
    def now(cls, verb: Verb, why: str = "", *, by: str = "") -> Self:
        """Return what somebody asks now; the user of this process where nobody is named."""
        return cls(verb=verb, at=moment_text(time.time()), by=by or who(), why=why)

    def __str__(self) -> str:
        return f"by {self.by} at {self.at}" + (f": {self.why}" if self.why else "")


class ControlLog:
    """What was asked of one query.

    Args:
        file: Where it stands; it is made when something is first asked.
    """

    def __init__(self, file: Place) -> None:
        self._file = file

    @property
    def look_every_s(self) -> float:
        """How often a run looks into it."""
        return look_every_s(self._file)

    def actions(self) -> tuple[Action, ...]:
        """Return what was asked, the oldest first."""
        try:
            return _actions(self._file.read_bytes())
        except FileNotFoundError:
            return ()

    @property
    def paused(self) -> Action | None:
        """Who paused the query, and when; None where it is to run."""
        return paused_by(self.actions())

    def ask(self, action: Action) -> Action | None:
        """Append an action, unless the query is asked that already; return who asked it then."""
        standing: Action | None = None
        tried = False

        def asked(content: bytes) -> str | None:
            nonlocal standing, tried
            last = next(reversed(_actions(content)), None)
            again, tried = tried, True
            if (last.verb if last is not None else "resume") != action.verb:
                return json.dumps(asdict(action))
            standing = None if again and last == action else last or action
            return None

        append_decided(self._file, asked)
        return standing


class PauseSwitch:
    """Tells a run whether its query is paused, looked up twice a second, in a store every 5 s.

    Args:
        log: What was asked.
        clock: In seconds.
    """

    def __init__(self, log: ControlLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._looked_at: float | None = None
        self._paused: Action | None = None

    @property
    def paused(self) -> Action | None:
        """Who paused the query; what was last known where the log cannot be read."""
        now = self._clock()
        if self._looked_at is None or now >= self._looked_at + self._log.look_every_s:
            self._looked_at = now
            with suppress(OSError):
                self._paused = self._log.paused
        return self._paused


def paused_by(actions: Sequence[Action]) -> Action | None:
    """Return who paused a query, by all that was asked of it; None where it is to run."""
    last = next(reversed(actions), None)
    return last if last is not None and last.verb == "pause" else None


def _actions(content: bytes) -> tuple[Action, ...]:
    found = map(_parsed, content.splitlines())
    return tuple(each for each in found if each is not None)


def _parsed(line: bytes) -> Action | None:
    """Return the action of a line; None for one that was cut off, or of another version."""
    try:
        action = Action(**json.loads(line))
    except (ValueError, TypeError):
        return None
    return action if action.verb in get_args(Verb) else None


def who() -> str:
    """Return who asks, as user@host."""
    return f"{_user()}@{socket.gethostname()}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
