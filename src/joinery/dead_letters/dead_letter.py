"""A dead letter as it is kept, and what was done about it.

Invariant: a letter's id depends on what could not be used and where it stood, not on when:
the same record refused again has the same id, and is open again.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal

from joinery.errors import RunError, SpecError

State = Literal["open", "replayed", "dropped"]
Kind = Literal["record", "document", "held", "event"]
REASONS = (
    "undecodable",
    "wrong_type",
    "out_of_range",
    "key_missing",
    "subject_missing",
    "wrong_format",
    "truncate",
    "ambiguous_order",
    "too_large",
    "document_too_large",
    "poison",
    "document_refused",
    "unroutable",
    "overflow",
    "query_broken",
    "sequence_conflict",
    "lookup_miss",
    "lookup_unfit",
    "event_without_time",
    "late",
    "overtaken",
    "instance_limit",
    "event_too_late",
    "clock_suspect",
    "map_failed",
)
_PASSING = ("time", "detail")  # of a letter: they differ when the same is refused again
_CONFLICT = "sequence_conflict"  # older letters have no value: their detail tells the number
_ID_DIGITS = 12
_VALUE = ("value", "value_base64")


class BrokenLetterError(RunError):
    """Among dead letters is something that is none."""

    code = "RUN_LETTERS"

    def __init__(self, place: str, what: str = "a dead letter") -> None:
        self.place = place
        super().__init__(
            f"{place} is not {what}",
            detail="It was cut off, or another program wrote it.",
            hint="Take it out there, or put it back from a backup; the others are read then.",
        )


@dataclass(frozen=True, slots=True)
class Resolution:
    """What somebody did about a letter.

    Attributes:
        id: The letter's.
        state: What became of it.
        until: The letter's time; one of a later time is open again.
        at: When it was done, ISO 8601.
        by: Who did it, as in `Action`; empty in older marks.
    """

    id: str
    state: State
    until: str
    at: str
    by: str = ""


_MARK = fields(Resolution)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One thing that could not be used.

    Attributes:
        id: Names it in commands.
        facts: As kept: reason, detail, where it stood, time, key and value.
        state: `open`, or what was done about it.
        at: When that was done; empty for an open one.
        by: Who did it; empty where that is not known.
    """

    id: str
    facts: Mapping[str, Any]
    state: State = "open"
    at: str = ""
    by: str = ""

    @property
    def reason(self) -> str:
        """Why it could not be used, as one word."""
        return str(self.facts.get("reason", ""))

    @property
    def detail(self) -> str:
        """Why, as a sentence."""
        return str(self.facts.get("detail", ""))

    @property
    def time(self) -> str:
        """When, ISO 8601 in UTC."""
        return str(self.facts.get("time", ""))

    @property
    def kind(self) -> Kind:
        """A `record` of a source, a `document` that a sink refused, one that is `held`, an `event`.

        A held document is sent by itself once it is back within its limits. An event met no
        row in a lookup of its stream.
        """
        if "stream" in self.facts:
            return "event"
        if "product" not in self.facts:
            return "record"
        return "document" if "sink" in self.facts else "held"

    @property
    def source(self) -> str:
        """Where a record came from; empty for what is no record, and where that was not kept."""
        return str(self.facts.get("source", ""))

    @property
    def of(self) -> str:
        """The topic of a record, the product of a document, the stream of an event."""
        name = {"record": "topic", "event": "stream"}.get(self.kind, "product")
        return str(self.facts.get(name, self.facts.get("relation", "")))

    @property
    def place(self) -> str:
        """Where the record stood, or the document's key."""
        facts = self.facts
        if "file" in facts:
            return f"{facts['file']}:{facts['line']}"
        if "offset" in facts:
            return f"partition {facts['partition']}, offset {facts['offset']}"
        return str(facts.get("key", ""))

    @property
    def cut(self) -> bool:
        """Whether only the beginning of the record is kept, or its bytes are sealed."""
        return bool(self.facts.get("cut")) or self.sealed

    @property
    def sealed(self) -> bool:
        """Whether the record's bytes are sealed, as they are where some may be personal."""
        return any(str(self.facts.get(name)).startswith("jyd1:") for name in ("key", "value"))

    def raw(self, name: Literal["key", "value"]) -> bytes | None:
        """Return the bytes of the record's key or value; None where it had none."""
        if f"{name}_base64" in self.facts:
            return base64.b64decode(self.facts[f"{name}_base64"])
        text = self.facts.get(name)
        return None if text is None else str(text).encode()

    def with_value(self, value: str | bytes) -> DeadLetter:
        """Return the letter with another value, as it is to be read.

        Where a line of a file was not JSON, its key is unknown, and the value is the whole line.

        Args:
            value: A text; or bytes, which of a record are taken as they are.

        Raises:
            SpecError: It is empty, or bytes are to be a document.
        """
        if not value:
            hint = "Give the whole value; to give the record up, drop the dead letter."
            raise SpecError("the value is empty", hint=hint)
        lasting = {name: each for name, each in self.facts.items() if name not in _VALUE}
        if "line" in self.facts and not _is_json(self.raw("value")):
            lasting["whole"] = True
        if isinstance(value, str):
            return replace(self, facts={**lasting, "value": value, "cut": False})
        if self.kind != "record":
            hint = "Give the whole document, a JSON object."
            raise SpecError("the value is not a text", hint=hint)
        given = {"value_base64": base64.b64encode(value).decode(), "cut": False}
        return replace(self, facts={**lasting, **given})

    def marked(self, mark: Resolution | None) -> DeadLetter:
        """Return the letter with what was done about it, if that was after it was written."""
        if mark is None or moment(self.time) > moment(mark.until):
            return self
        return replace(self, state=mark.state, at=mark.at, by=mark.by)


def _is_json(value: bytes | None) -> bool:
    try:
        json.loads(b"null" if value is None else value)
    except (ValueError, RecursionError):
        return False
    return True


def moment(time: str) -> datetime:
    """Return a time in ISO 8601, to be compared; one that is missing is before all others."""
    return datetime.fromisoformat(time) if time else datetime.min.replace(tzinfo=UTC)


def parse_dead_letter(line: str | bytes) -> DeadLetter:
    """Return the letter that a line holds."""
    facts: dict[str, Any] = json.loads(line)
    passing = _PASSING if facts.get("reason") != _CONFLICT else _PASSING[:1]
    lasting = {name: value for name, value in facts.items() if name not in passing}
    text = json.dumps(lasting, sort_keys=True, separators=(",", ":")).encode()
    return DeadLetter(hashlib.sha256(text).hexdigest()[:_ID_DIGITS], facts)


def letter_line(line: bytes, place: str) -> bytes:
    """Return a line that is one of a letter.

    Args:
        line: With its end, or without.
        place: Where it stands, for messages.

    Raises:
        BrokenLetterError: It is none.
    """
    text = line.strip()
    if not (text.startswith(b"{") and text.endswith(b"}")):
        raise BrokenLetterError(place)
    return line


def parse_resolution(line: str | bytes, place: str) -> Resolution:
    """Return the mark that a line holds; what a later version says beside is left out.

    Args:
        line: JSON.
        place: Where it stands, for messages.

    Raises:
        BrokenLetterError: It holds none.
    """
    try:
        told = json.loads(line)
        return Resolution(**{each.name: told[each.name] for each in _MARK if each.name in told})
    except (ValueError, TypeError) as error:
        raise BrokenLetterError(place, "a mark of dead letters") from error


def resolution_line(mark: Resolution) -> str:
    """Return a mark as one JSON line."""
    return json.dumps(asdict(mark))


def sorted_out(lines: Iterable[str | bytes], marks: Iterable[Resolution]) -> Iterator[DeadLetter]:
    """Yield each letter once, at its last time, with what was done about it.

    Letters of one source come in the order of their places.

    Raises:
        BrokenLetterError: A line holds none.
    """
    newest: dict[str, DeadLetter] = {}
    for line in lines:
        try:
            letter = parse_dead_letter(line)
        except ValueError as error:
            text = line.decode(errors="replace") if isinstance(line, bytes) else line
            raise BrokenLetterError(f"the line that begins {text[:60].strip()}") from error
        stood = newest.get(letter.id)
        if stood is None or moment(stood.time) < moment(letter.time):
            newest[letter.id] = letter
    done = newest_marks(marks)
    for letter in sorted(newest.values(), key=_order):
        yield letter.marked(done.get(letter.id))


def newest_marks(marks: Iterable[Resolution]) -> dict[str, Resolution]:
    """Return the newest mark of each letter, by the letter's id."""
    done: dict[str, Resolution] = {}
    for mark in marks:
        if mark.id not in done or done[mark.id].at <= mark.at:
            done[mark.id] = mark
    return done


def _order(letter: DeadLetter) -> tuple[Any, ...]:
    facts = letter.facts
    file = str(facts.get("file", "")).encode()
    numbers = (facts.get(name, 0) for name in ("partition", "offset", "line", "version"))
    return (str(facts.get("source", "")), letter.of, file, *numbers, letter.time)
