"""What people did to a project's runs and files: what, who, when; one log beside its checkpoints.

To pause and to resume are in the control log of their query, which a run reads.

Limits: a log that would grow beyond 4 MiB loses its older half; of a long one the end is read, at
most 1 MiB, which are some thousand lines.

Invariant: no line is lost where two people act at once. An action does not fail because nobody
could write it down.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from joinery.delivery.control import Action, who
from joinery.errors import JoineryError
from joinery.files import append_decided
from joinery.model.moment import moment_text, second_text, seconds_of
from joinery.model.typed import check_typed
from joinery.place.place import Place

log = logging.getLogger("joinery.run")
_FILE = "_actions.jsonl"
_READ_BYTES, _MOST_BYTES = 1 << 20, 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAction:
    """One thing that somebody did.

    Attributes:
        verb: What, as the command is called.
        at: When, ISO 8601 in UTC.
        by: Who, as `Action` has it.
        about: The queries, products, relations or sources that it was done to; empty for all.
        told: What more there is to say, or why in their own words; may be empty.
    """

    verb: str
    at: str
    by: str
    about: tuple[str, ...] = ()
    told: str = ""

    def __str__(self) -> str:
        """Return it as one line.

        Example:
            >>> print(
            ...     LoggedAction(
            ...         verb="mark", at="2026-12-01T03:12:01.500Z", by="ada@host", told="batch 7"
            ...     )
            ... )
            mark by ada@host at 2026-12-01 03:12:01Z: batch 7
        """
        told = f": {self.told}" if self.told else ""
        return f"{self.verb} by {self.by} at {second_text(seconds_of(self.at))}{told}"

    def to_json(self) -> dict[str, object]:
        """Return it as one JSON object."""
        return {**asdict(self), "about": list(self.about)}

    @classmethod
    def of_action(cls, action: Action, query: str) -> Self:
        """Return what is in the control log of a query."""
        return cls(verb=action.verb, at=action.at, by=action.by, about=(query,), told=action.why)

    def is_about(self, names: Collection[str]) -> bool:
        """Return whether it was done to one of some names, or to all."""
        return not self.about or not set(self.about).isdisjoint(names)


class ActionLog:
    """What people did to one project.

    Args:
        root: The folder of its checkpoints; it is made where it is missing.
    """

    def __init__(self, root: Place) -> None:
        self._file = root / _FILE

    def note(self, verb: str, about: Collection[str] = (), told: str = "", *, by: str = "") -> None:
        """Write down that somebody does something, or has done it; what fails is a warning.

        Args:
            verb: What, as the command is called.
            about: What it is done to.
            told: What more there is to say.
            by: Who; the user of this process where nobody is named.
        """
        now = moment_text(time.time())
        done = LoggedAction(verb=verb, at=now, by=by or who(), about=tuple(about), told=told)
        line, written = json.dumps(done.to_json()), False

        def added(content: bytes) -> str | None:
            nonlocal written
            again, written = written, True
            return None if again and line.encode() in content else line

        try:
            append_decided(self._file, added, most_bytes=_MOST_BYTES)
        except (JoineryError, OSError) as error:
            log.warning("could not write down who did what", extra={"why": str(error)})

    def actions(self, most_bytes: int = _READ_BYTES) -> tuple[LoggedAction, ...]:
        """Return what was done, the oldest first.

        Args:
            most_bytes: How much of the end is read.

        Raises:
            OSError: The log cannot be read.
        """
        found = map(_parsed, _end_of(self._file, most_bytes).splitlines())
        return tuple(each for each in found if each is not None)


def _end_of(file: Place, most_bytes: int) -> bytes:
    try:
        if not isinstance(file, Path):
            return file.read_bytes()[-most_bytes:]
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - most_bytes))
            return opened.read()
    except FileNotFoundError:
        return b""


def _parsed(line: bytes) -> LoggedAction | None:
    """Return what a line tells; None for one that was cut off, or of another version."""
    try:
        told: dict[str, Any] = json.loads(line)
        found = LoggedAction(**{**told, "about": tuple(told["about"])})
        check_typed(found, LoggedAction)
        seconds_of(found.at)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return found
