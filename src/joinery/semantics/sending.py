"""What a product without a root sends: its rows that differ from those it was last sent as.

Invariant: a row is sent when its text differs from what the sink holds, under a version above the
last one of its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joinery.expression.order import row_key
from joinery.model.change import DocumentChange, Key, Row
from joinery.plan.product import Product
from joinery.semantics.document import NEVER_SENT, Built, SentDocument, judged, next_sent
from joinery.semantics.personal import hidden
from joinery.semantics.render import renderer
from joinery.solutions.protocol import DeadDocument


class SentRows:
    """The rows of one product as they were last sent.

    Args:
        product: Whose rows they are.
        max_bytes: Above it a row is a dead letter; None sets no bound.
    """

    def __init__(self, product: Product, max_bytes: int | None) -> None:
        self._name, self._max_bytes = product.name, max_bytes
        self._key = [each.name for each in product.key.fields]
        self._sent: dict[Key, tuple[Row, SentDocument]] = {}
        self._output = product.output
        self._text = renderer(product.output)
        self._rank = row_key([(each.type, False) for each in product.key.fields])

    def send(
        self, built: Mapping[Key, dict[str, Any]], timestamp_us: int
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives now, in the order of the keys, and the dead letters.

        Args:
            built: All rows that it should have.
            timestamp_us: The batch's time.
        """
        documents: list[DocumentChange] = []
        dead: list[DeadDocument] = []
        for key in sorted(built.keys() | self._sent.keys(), key=lambda each: self._rank(each)):
            value = built.get(key)
            key_row, before = self._sent.get(key, (self._key_row(key, value), NEVER_SENT))
            document = None if value is None else self._judged(value)
            sent, step = next_sent(before, document, timestamp_us)
            self._sent[key] = key_row, sent
            if step == "send":
                shown = hidden(value, self._output)
                documents.append(DocumentChange(self._name, key_row, shown, sent.version))
            elif step == "dead" and document is not None:
                reason = document.reason or ""
                dead.append(DeadDocument(self._name, key_row, reason, document.detail))
        return documents, dead

    def leave(self, key: Key) -> None:
        """Leave a row as it was sent: from now on nothing is known of it."""
        self._sent.pop(key, None)

    def _judged(self, value: dict[str, Any]) -> Built:
        return judged(self._text(value), value, max_bytes=self._max_bytes)

    def _key_row(self, key: Key, value: Row | None) -> Row:
        if value is None:
            return dict(zip(self._key, key, strict=True))
        return {name: value[name] for name in self._key}
