"""What can be done on the page, by the functions that the commands use, and what became of it.

Invariant: what was done is in the control log, or among the marks of dead letters, with who and
when, before it is told.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from joinery.dead_letters.dead_letter import DeadLetter, moment
from joinery.delivery.control import Action
from joinery.errors import JoineryError
from joinery.operate.pause import PauseTimeoutError, ask, outcome, sharing
from joinery.plan.build import build_plan
from joinery.text.figure import counted_text
from joinery.ui.fleet import Fleet, Standing

if TYPE_CHECKING:
    from joinery.dead_letters.queue import NotReplayed
    from joinery.plan.product import Plan
    from joinery.project.product import ProjectSpec

PauseVerb = Literal["pause", "resume"]
LetterVerb = Literal["replay", "drop"]
_WAIT_S = 5.0
_TOLD = 20
_DONE: dict[LetterVerb, str] = {"replay": "replayed", "drop": "dropped"}


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What became of an action.

    Attributes:
        title: In short.
        lines: More about it.
        refused: Whether nothing was done.
    """

    title: str
    lines: tuple[str, ...] = ()
    refused: bool = False

    @classmethod
    def of(cls, error: JoineryError | OSError) -> ActionResult:
        """Return why nothing was done."""
        if isinstance(error, OSError):
            return cls("It could not be done, or only partly", (f"{error}",), refused=True)
        lines = tuple(each for each in (error.detail, error.hint, f"[{error.code}]") if each)
        return cls(f"{error.message[:1].upper()}{error.message[1:]}", lines, refused=True)


NOT_LISTED = ActionResult(
    "Dead letters of this project cannot be handled here",
    ("They are kept in a topic, are more than 32 MB, or cannot be read.", "Use joinery dlq."),
    refused=True,
)


@dataclass(frozen=True, slots=True)
class LetterSelection:
    """Which open dead letters of a product are meant: some, or all of a reason.

    Attributes:
        ids: Their ids; empty means by reason.
        reason: Theirs, where no ids are named.
        until: Of a reason, only those that are no newer, ISO 8601; empty means all.
    """

    ids: tuple[str, ...] = ()
    reason: str = ""
    until: str = ""

    def takes(self, letter: DeadLetter) -> bool:
        """Return whether a letter is meant.

        Raises:
            ValueError: `until` is not a time.
        """
        if self.ids:
            return letter.id in self.ids
        newer = bool(self.until) and moment(letter.time) > moment(self.until)
        return letter.state == "open" and letter.reason == self.reason and not newer


@dataclass
class Actions:
    """Acts on the products of a fleet.

    Attributes:
        fleet: Their projects, as they were read when the page was opened.
        wait_s: How long a run is waited for, in seconds.
    """

    fleet: Fleet
    wait_s: float = _WAIT_S
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def pause(self, standing: Standing, verb: PauseVerb, *, by: str, why: str = "") -> ActionResult:
        """Pause a product, and those that share its query, or let them go on."""
        spec = standing.place.spec
        try:
            names = sharing(spec, standing.status.query)
            [request] = ask(spec, names, Action.now(verb, why, by=by))
            return ActionResult(*_outcome(request.before, outcome(request, self._until())))
        except PauseTimeoutError as error:
            hint = "This product's page shows when it is done."
            return ActionResult(
                error.message, tuple(e for e in (request.before, error.detail, hint) if e)
            )
        except (JoineryError, OSError) as error:
            return ActionResult.of(error)
        finally:
            self.fleet.forget()

    def letters(self, standing: Standing, asked: LetterSelection) -> list[DeadLetter] | None:
        """Return the letters that are meant, newest first; None where they are not listed here."""
        kept = self.fleet.letters(standing)
        if kept is None:
            return None
        meant = (each for each in kept.letters if asked.takes(each))
        return sorted(meant, key=lambda each: each.time, reverse=True)

    def handle(
        self,
        standing: Standing,
        verb: LetterVerb,
        asked: LetterSelection,
        *,
        by: str,
        value: str | None = None,
    ) -> ActionResult:
        """Replay or drop dead letters of a product.

        Args:
            standing: The product.
            verb: Which of the two.
            asked: Which letters; those that somebody has handled meanwhile are left.
            by: Who does it.
            value: What the one letter is replayed with; None means what it has.
        """
        try:
            with self._one_at_a_time:
                return self._handled(standing, verb, asked, by=by, value=value)
        except (JoineryError, OSError) as error:
            return ActionResult.of(error)
        finally:
            self.fleet.forget()

    def _handled(
        self,
        standing: Standing,
        verb: LetterVerb,
        asked: LetterSelection,
        *,
        by: str,
        value: str | None,
    ) -> ActionResult:
        from joinery.dead_letters.queue import DeadLetterQueue

        found = self.letters(standing, asked)
        if found is None:
            return NOT_LISTED
        opened = [each for each in reversed(found) if each.state == "open"]
        if value is not None and len(opened) == 1 and fixable(opened[0]):
            opened = [_fixed(opened[0], value)]
        spec = standing.place.spec
        queue = DeadLetterQueue(spec, _plan(spec) if verb == "replay" else None)
        kept = queue.replay(opened, by=by) if verb == "replay" else []
        if verb == "drop":
            queue.drop(opened, by=by)
        done = len(opened) - len(kept)
        lines = [*_put_by(kept), *_before(found), *_missing(asked, found)]
        title = f"{counted_text(done, 'dead letter')} {_DONE[verb]}"
        none = f"No dead letter was {_DONE[verb]}"
        return ActionResult(title if done else none, _short(lines), refused=not done)

    def _until(self) -> float:
        return time.monotonic() + self.wait_s


def fixable(letter: DeadLetter) -> bool:
    """Return whether a letter may be given another value on the page.

    That is a record whose whole value is a text that a form sends as it is.
    """
    value = letter.facts.get("value")
    return (
        letter.kind == "record" and isinstance(value, str) and "\0" not in value and not letter.cut
    )


def _fixed(letter: DeadLetter, value: str) -> DeadLetter:
    """Return a letter with a value as a form sends it; as it was where it is the same."""
    text = _lines_of(value)
    return letter if text == _lines_of(str(letter.facts["value"])) else letter.with_value(text)


def _lines_of(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _outcome(before: str, text: str) -> tuple[str, tuple[str, ...]]:
    """Return what is to be told first, and the rest."""
    name, _, state = text.partition(": ")
    return (f"{name}: {before}", (f"Now: {state}",)) if before else (text, ())


def _plan(spec: ProjectSpec) -> Plan | None:
    """Return the plan of a project; None where it needs Spark."""
    try:
        return build_plan(spec)
    except JoineryError:
        return None


def _put_by(kept: Sequence[NotReplayed]) -> list[str]:
    return [f"{each.letter.id} was not put back: {each.why}" for each in kept]


def _before(found: Sequence[DeadLetter]) -> list[str]:
    return [
        f"{each.id} was {each.state} before{f', by {each.by}' if each.by else ''} at {each.at}"
        for each in found
        if each.state != "open"
    ]


def _missing(asked: LetterSelection, found: Sequence[DeadLetter]) -> list[str]:
    there = {each.id for each in found}
    return [
        f"{each} is not a dead letter of this product" for each in asked.ids if each not in there
    ]


def _short(lines: Sequence[str]) -> tuple[str, ...]:
    rest = len(lines) - _TOLD
    return (*lines[:_TOLD], *([f"and {rest:,} more"] if rest > 0 else ()))
