"""A document as the state of its run has it, beside what the logs tell of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from joinery.provenance.answer import Why, difference_line, value_text
from joinery.provenance.document_log import differences
from joinery.semantics.json_text import pretty_json, read_json


@dataclass(frozen=True, slots=True)
class InState:
    """What the state of a run says of a document.

    Attributes:
        document: Its text; None where there is none.
        refused: Why the document is a dead letter; empty where it is sent.
        batch: After which batch of the run.
        logs: What the logs up to that batch tell; None where they tell nothing of this key.
        unread: Why the logs cannot be compared with it; empty where they are.
    """

    product: str
    key: str
    document: str | None
    refused: str
    batch: int
    logs: Why | None
    unread: str = ""

    @property
    def differences(self) -> Sequence[tuple[str, str | None, str | None]]:
        """Where the logs tell otherwise: a path, what the state has, and what they tell, as JSON.

        None is what is not there; an empty path is the whole document.
        """
        if self.logs is None or self.unread:
            return ()
        told = None if self.logs.refused else self.logs.document
        ours, theirs = (each and read_json(each) for each in (self.document, told))
        if ours is None or theirs is None:
            return () if ours == theirs else (("", value_text(ours), value_text(theirs)),)
        return tuple(
            (each.path, value_text(each.before), value_text(each.after))
            for each in differences(ours, theirs)
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it, documents as objects."""
        return {
            "product": self.product,
            "key": self.key,
            "document": _value(self.document),
            "refused": self.refused,
            "batch": self.batch,
            "compared": self.logs is not None and not self.unread,
            "unread": self.unread,
            "differences": [
                {"path": path, "state": _value(ours), "logs": _value(theirs)}
                for path, ours, theirs in self.differences
            ],
        }

    def __str__(self) -> str:
        return "\n".join(self.text_lines())

    __repr__ = __str__

    def text_lines(self) -> Iterator[str]:
        """Yield it as text."""
        yield f"{self.product} {self.key}"
        if self.document is not None:
            yield pretty_json(self.document)
        yield from self.lines()

    def lines(self) -> Iterator[str]:
        """Yield what is told beside the document, a line each."""
        if self.refused:
            yield f"a dead letter: {self.refused}"
        what = "the state" if self.document is not None else "no document in the state"
        yield f"{what} after batch {self.batch}; {self._compared()}"
        yield from (difference_line(*each) for each in self.differences)

    def _compared(self) -> str:
        if self.unread:
            return f"not compared with the logs: {self.unread}"
        return f"the logs up to there say {'otherwise:' if self.differences else 'the same'}"

    def _repr_html_(self) -> str:
        """Return it as a notebook shows it."""
        document = "" if self.document is None else pretty_json(self.document)
        told = "".join(f"<p>{escape(each)}</p>" for each in self.lines())
        title = escape(f"{self.product} {self.key}")
        return f"<h4>{title}</h4><pre>{escape(document)}</pre>{told}"


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)
