"""The documents of a product as its logs give them, where no database is named.

The logs are read from their beginning, again whenever they have grown, and the documents made by
the reference's rules; so what a log lacks is not found.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from joinery.audit.key import KeyTexts
from joinery.audit.look import Shown
from joinery.model.change import Change, Key
from joinery.plan.nodes import Product
from joinery.provenance.documents_log import DocumentsLog, told
from joinery.provenance.live_rows import LiveRows
from joinery.semantics.document import Built, DocumentBuilder
from joinery.semantics.rows import Findings


class LogTruth:
    """What documents should be by their logs.

    Args:
        product: Whose documents.
        read: Returns the changes of the logs in their order.
        ends: Tells where the logs end; they are read again where that has moved.
        max_document_bytes: Above it there is no document.
    """

    def __init__(
        self,
        product: Product,
        read: Callable[[], Sequence[Change]],
        ends: Callable[[], Hashable],
        *,
        max_document_bytes: int,
    ) -> None:
        self._product, self._root = product, product.root.relation
        self._read, self._ends = read, ends
        self._most = max_document_bytes
        self._builder = DocumentBuilder(product, Findings(), max_document_bytes)
        self._texts = KeyTexts(self._root)
        self._stood: Hashable = None
        self._changes: Sequence[Change] = ()
        self._rows = LiveRows(())
        self._roots: list[tuple[str, Key]] = []
        self._readings = 0

    def roots(self, after: Key | None, most: int) -> Sequence[Key]:
        """Return the next keys that the logs have told of."""
        self._look()
        begin = 0
        if after is not None:
            begin = bisect_right(self._roots, self._texts.text(after), key=lambda each: each[0])
        return [key for _, key in self._roots[begin : begin + most]]

    def present(self, keys: Sequence[Key]) -> Collection[Key]:
        """Return those of some keys under which the root has a row."""
        self._look()
        known = {key: self._rows.known(self._root.name, key) for key in keys}
        return {key for key, each in known.items() if each is not None and each.seen is not None}

    def documents(
        self, keys: Sequence[Key], *, at_least: int = 0, noting: bool = True
    ) -> Shown | None:
        """Return documents as the logs give them now; `at_least` is no place of theirs."""
        self._look()
        if noting:
            log = DocumentsLog(self._product, keys, max_document_bytes=self._most)
            log.tell(self._changes)
            last = frozenset((key, each.relation, each.place) for key, each in log.last.items())
            return Shown(self._readings, log.texts, _unreadable(log.refused), last)
        made = {key: told(self._made(key)) for key in keys}
        refused = {key: reason for key, (_, reason) in made.items() if reason}
        texts = {key: text for key, (text, _) in made.items()}
        return Shown(self._readings, texts, _unreadable(refused), frozenset())

    def _made(self, key: Key) -> Built | None:
        known = self._rows.known(self._root.name, key)
        root = None if known is None else known.seen
        return None if root is None else self._builder.build(root, self._rows)

    def _look(self) -> None:
        ends = self._ends()
        if self._readings and ends == self._stood:
            return
        # The one before goes first: memory may not hold two of them.
        self._stood, self._changes, self._rows = None, (), LiveRows(())
        self._changes, self._stood = self._read(), ends
        self._rows = LiveRows(self._product.form.relations)
        for change in self._changes:
            self._rows.apply(change)
        keys = self._rows.keys(self._root.name)
        self._roots = sorted((self._texts.text(key), key) for key in keys)
        self._readings += 1


def _unreadable(refused: Mapping[Key, str]) -> Mapping[Key, str]:
    """Return what cannot be compared: a sink holds the last document that was not refused."""
    return {key: f"it has no document: {reason}" for key, reason in refused.items()}
