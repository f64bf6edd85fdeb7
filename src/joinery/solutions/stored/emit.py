"""From affected roots to what sinks receive, a slice of the roots at a time.

Slices are independent of each other: any process that sees the rows of the batch can make
one, and together they are what one after the other would give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from joinery.model.change import Key
from joinery.semantics.document import NEVER_SENT, Built, SentDocument, next_sent, text_hash
from joinery.semantics.rows import Findings
from joinery.solutions.stored.state import Emitted


class Request(NamedTuple):
    """Some roots of a product, whose documents are to be made.

    Attributes:
        product: Its name.
        keys: Of the roots, in their order.
        timestamp_us: The batch's time.
        shared: What `SharedState.share` returned; None in the process that writes.
        settles: Answers say what the documents replace at the sink, too.
    """

    product: str
    keys: Sequence[Key]
    timestamp_us: int
    shared: object = None
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What the documents of a request came to.

    Attributes:
        emitted: What sinks receive, in the order of the keys.
        findings: What was found in another process.
        usage: What the store was asked by another process.
    """

    emitted: Emitted
    findings: Findings = field(default_factory=Findings)
    usage: Mapping[str, int] = field(default_factory=Counter)


class SentReader(Protocol):
    """Where it stands what sinks hold; a `JoinState` is one."""

    def sent(self, product: str, roots: Sequence[Key]) -> Mapping[Key, SentDocument]:
        """Return what the sink holds; roots that were never sent are left out."""


def emit(request: Request, built: Mapping[Key, Built], state: SentReader) -> Emitted:
    """Return what sinks receive of documents as they should now stand."""
    sent = state.sent(request.product, request.keys)
    emitting = _Emitting()
    for key in request.keys:
        emitting.add(key, sent.get(key, NEVER_SENT), built.get(key), request.timestamp_us)
    before = _known(sent, emitting.documents) if request.settles else {}
    return Emitted(emitting.documents, emitting.dead, emitting.silent, before)


def _known(sent: Mapping[Key, SentDocument], roots: Iterable[Key]) -> dict[Key, str]:
    """Return hashes of what sinks hold; a document that is back after a dead letter is sent."""
    held = ((root, sent.get(root, NEVER_SENT)) for root in roots)
    return {root: text_hash(each.text) for root, each in held if not each.failing}


def joined(parts: Iterable[Emitted]) -> Emitted:
    """Return what several slices send, as one."""
    whole, before = _Emitting(), dict[Key, str]()
    for each in parts:
        whole.documents.update(each.documents)
        whole.dead.update(each.dead)
        whole.silent.update(each.silent)
        before.update(each.before)
    return Emitted(whole.documents, whole.dead, whole.silent, before)


@dataclass(slots=True)
class _Emitting:
    documents: dict[Key, SentDocument] = field(default_factory=dict)
    dead: dict[Key, tuple[str, str]] = field(default_factory=dict)
    silent: dict[Key, SentDocument] = field(default_factory=dict)

    def add(
        self, key: Key, before: SentDocument, document: Built | None, timestamp_us: int
    ) -> None:
        sent, step = next_sent(before, document, timestamp_us)
        if step == "send":
            self.documents[key] = sent
        elif step != "nothing":
            self.silent[key] = sent
        if step == "dead" and document is not None:
            self.dead[key] = (document.reason or "", document.detail)
