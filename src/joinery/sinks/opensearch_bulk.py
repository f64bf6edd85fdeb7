"""The bodies of OpenSearch's bulk requests, and what their answers say of each document.

Invariant: a document is taken, older, refused, or to be sent again; never none of these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from joinery.sinks.key import key_text
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Refusal

ANSWER = ",".join(
    ("errors", *(f"items.*.{each}" for each in ("status", "error.type", "error.reason")))
    + ("items.*.error.caused_by.reason",)
)
TRANSIENT = frozenset((429, 500, 502, 503, 504))
ACCESS = frozenset((401, 403))
_LONGEST_ID = 500  # bytes; a server takes 512, the side index puts a word in front
HASHED = "sha256:"
_LONGEST_DETAIL = 1000


class Action(NamedTuple):
    """One document on its way: its id in the index, and what was staged."""

    id: str
    row: StagedRow


@dataclass(slots=True)
class BulkResult:
    """What became of some documents.

    Attributes:
        refused: The index will never take these.
        older: How many the index holds in a newer version.
        again: The server had no room for these.
        why: Its words for that.
        denied: Its words where it takes nothing at all from this user, or into this index.
    """

    refused: list[Refusal] = field(default_factory=list)
    older: int = 0
    again: list[Action] = field(default_factory=list)
    why: str = ""
    denied: str = ""

    def plus(self, other: BulkResult) -> BulkResult:
        """Return what became of both."""
        return BulkResult(
            refused=self.refused + other.refused,
            older=self.older + other.older,
            again=self.again + other.again,
            why=other.why or self.why,
            denied=other.denied or self.denied,
        )


def id_of(row: StagedRow) -> str:
    """Return the id of a document: its key's text, or a hash of one that is too long.

    Example:
        >>> id_of(StagedRow('{"email":"ada@example.org"}', None, 1))
        'ada@example.org'
    """
    text = key_text(row.key_values())
    if len(text) * 4 > _LONGEST_ID and len(raw := text.encode()) > _LONGEST_ID:
        return f"{HASHED}{hashlib.sha256(raw).hexdigest()}"
    return text


def body_of(actions: Iterable[Action]) -> bytes:
    """Return the bulk request that sends each document, or deletes it, at its version."""
    parts = []
    for id, row in actions:
        verb = "delete" if row.value is None else "index"
        parts.append(_action(verb, id, row.version))
        if row.value is not None:
            parts.append(row.value)
    return ("\n".join(parts) + "\n").encode()


def body_of_deletes(actions: Iterable[Action], prefix: str) -> bytes:
    """Return the bulk request that remembers the version of each delete."""
    parts = []
    for id, row in actions:
        parts.append(_action("index", prefix + id, row.version))
        parts.append(f'{{"version":{row.version}}}')
    return ("\n".join(parts) + "\n").encode()


def _action(verb: str, id: str, version: int) -> str:
    name = json.dumps(id, ensure_ascii=False)
    return f'{{"{verb}":{{"_id":{name},"version":{version},"version_type":"external_gte"}}}}'


def outcome_of(actions: Sequence[Action], answer: Mapping[str, Any]) -> BulkResult:
    """Return what a bulk's answer says of the documents it sent."""
    outcome = BulkResult()
    if not answer.get("errors"):
        return outcome
    for action, item in zip(actions, answer["items"], strict=True):
        ((_, told),) = item.items()
        _sort(outcome, action, told)
    return outcome


def _sort(outcome: BulkResult, action: Action, told: Mapping[str, Any]) -> None:
    status, error = told["status"], told.get("error")
    if error is None:  # taken, or the delete of what is not there
        return
    if status == 409:
        outcome.older += 1
    elif status in TRANSIENT:
        outcome.again.append(action)
        outcome.why = _words(error)
    elif status in ACCESS or error.get("type") == "index_not_found_exception":
        outcome.denied = _words(error)
    else:
        outcome.refused.append(Refusal(action.row, "document_refused", _words(error)))


def _words(error: Mapping[str, Any]) -> str:
    parts = (error.get("type"), error.get("reason"), (error.get("caused_by") or {}).get("reason"))
    return ": ".join(str(part) for part in parts if part)[:_LONGEST_DETAIL]
