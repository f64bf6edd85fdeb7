"""From rows to what a sink receives: a root's document, and whether it is sent, dead or kept back.

Invariant: a document is sent when its text differs from what the sink holds, under a version
above the last one; a document that fails is told once, on entering that state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from joinery.model.change import Row
from joinery.plan.product import Product
from joinery.semantics.assemble import Assembler
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings, Matching


@dataclass(frozen=True, slots=True)
class SentDocument:
    """What the sink holds for one root.

    Attributes:
        text: The document as JSON text; None where the sink holds none.
        version: The last one used; never falls.
        failing: The document that should stand cannot be sent, and a dead letter told so.
    """

    text: str | None
    version: int
    failing: bool = False


NEVER_SENT = SentDocument(None, 0)
_HASH_BYTES = 12


def text_hash(text: str | None) -> str:
    """Return the hash of a document's text; the empty text where there is no document.

    Example:
        >>> text_hash(None)
        ''
        >>> text_hash('{"id":1}') == text_hash('{"id":1}') != text_hash('{"id":2}')
        True
    """
    if text is None:
        return ""
    # No other solution begins a hash so: what one told is not taken for what another tells.
    return f"t{hashlib.blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()}"


Step = Literal["send", "dead", "silent", "nothing"]


@dataclass(frozen=True, slots=True)
class Built:
    """A document as it should now stand; `reason` and `detail` keep it from the sink."""

    value: dict[str, Any]
    text: str
    reason: str | None = None
    detail: str = ""


class DocumentBuilder:
    """Builds the documents of one product; above `max_bytes` one fails."""

    def __init__(self, product: Product, findings: Findings, max_bytes: int | None) -> None:
        self._text = renderer(product.root.output)
        self._max_bytes = max_bytes
        self._assembler = Assembler(product.root, findings)

    def build(self, root: Row, rows: Matching) -> Built | None:
        """Return the document of a root row, None where the root's `where` leaves it out."""
        assembled = self._assembler.assemble(root, rows)
        if assembled is None:
            return None
        text = self._text(assembled.value)
        return judged(text, assembled.value, assembled.overflowed, max_bytes=self._max_bytes)


def judged(
    text: str,
    value: dict[str, Any],
    overflowed: Sequence[str] = (),
    *,
    max_bytes: int | None,
) -> Built:
    """Return a document with what keeps it from the sink, if anything does.

    Args:
        text: Its text.
        value: The same as values; empty where only the text is needed.
        overflowed: Paths of embeds above their limit.
        max_bytes: Above it a document fails; None sets no bound.
    """
    if overflowed:
        paths = ", ".join(dict.fromkeys(overflowed))
        return Built(value, text, "overflow", f"More rows than the limit in {paths}.")
    if max_bytes is not None and _too_large(text, max_bytes):
        detail = f"The document has {_size(text)} bytes, the limit is {max_bytes}."
        return Built(value, text, "document_too_large", detail)
    return Built(value, text)


def next_sent(
    sent: SentDocument, document: Built | None, timestamp_us: int
) -> tuple[SentDocument, Step]:
    """Return what the sink holds next, and what has to happen for it.

    Args:
        sent: What it holds, `NEVER_SENT` where it never had the root.
        document: As it should stand; None where there is none.
        timestamp_us: The batch's time.
    """
    if document is not None and document.reason is not None:
        if sent.failing:
            return sent, "nothing"
        return SentDocument(sent.text, sent.version, failing=True), "dead"
    if document is None and sent.text is None:
        if not sent.failing:
            return sent, "nothing"
        return SentDocument(None, sent.version), "silent"
    text = None if document is None else document.text
    if text == sent.text and not sent.failing:
        return sent, "nothing"
    return SentDocument(text, max(timestamp_us, sent.version + 1)), "send"


def _too_large(text: str, limit: int) -> bool:
    """Return whether a text is above the limit; its bytes are counted only near to it."""
    return len(text) > limit or (len(text) * 4 > limit and _size(text) > limit)


def _size(text: str) -> int:
    return len(text.encode())
