"""What a run noticed that someone should look at, though it goes on.

Every warning of a run goes one way: `Warnings.add`, which keeps it once, logs it and hands it
on to whoever shows the run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from joinery.errors import Location

log = logging.getLogger("joinery.warning")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWarning:
    """One thing to look at, in the parts of an error.

    Attributes:
        code: Stable, as listed in docs/errors.md.
        about: What it concerns, such as `relation "user"`; a run warns of it once for a code.
        message: What was noticed, in lower case and without a full stop.
        detail: A sentence of facts, or nothing.
        hint: What to do, as a sentence.
        location: The place in the project file, where there is one.

    Example:
        >>> print(RunWarning(code="WARN_NO_SINK", about="a", message="a is odd", hint="Mend a."))
        a is odd. Mend a. [WARN_NO_SINK]
    """

    code: str
    about: str
    message: str
    hint: str
    detail: str = ""
    location: Location | None = None

    def __str__(self) -> str:
        """Return the warning as one line."""
        parts = [f"{self.message}.", self.detail, self.hint, f"[{self.code}]"]
        place = f"{self.location}: " if self.location else ""
        return place + " ".join(each for each in parts if each)

    def to_json(self) -> dict[str, str]:
        """Return the warning as one JSON object, for machines."""
        told = {"code": self.code, "about": self.about, "message": self.message}
        return told | ({"detail": self.detail} if self.detail else {}) | {"hint": self.hint}


class Warnings:
    """The warnings of one run, each once.

    Args:
        on_warning: Called with each that is new, from the thread that noticed it.
    """

    def __init__(self, on_warning: Callable[[RunWarning], None] = lambda warning: None) -> None:
        self._on_warning = on_warning
        self._mutex = threading.Lock()
        self._known: Mapping[tuple[str, str], RunWarning] = {}

    @property
    def known(self) -> tuple[RunWarning, ...]:
        """All warnings so far, in the order in which they were noticed."""
        return tuple(self._known.values())

    def add(self, warning: RunWarning) -> None:
        """Keep, log and hand on a warning, unless it is known."""
        name = (warning.code, warning.about)
        with self._mutex:
            if name in self._known:
                return
            self._known = {**self._known, name: warning}
        warn(warning)
        self._on_warning(warning)


def warn(warning: RunWarning) -> None:
    """Log a warning; where a program sets up no logging, Python writes it to standard error."""
    facts = {name: text for name, text in warning.to_json().items() if name != "message"}
    log.warning("%s", warning, extra=facts)
