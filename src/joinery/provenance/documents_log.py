"""The documents of many keys through the changes of their logs: what each is, and what it was.

Invariant: a document is what `DocumentLog` makes of the same changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from joinery.model.change import Change, Key, Row
from joinery.plan.product import Product
from joinery.provenance.live_rows import Effect, LiveRows, Place
from joinery.semantics.document import Built, DocumentBuilder
from joinery.semantics.rows import Findings, JoinValue, join_value


class DocumentsLog:
    """The documents of some keys while the logs are told.

    Args:
        product: Of documents.
        keys: The documents'.
        max_document_bytes: Above it there is no document.
        altered: Called with a key, its document (None for none) and the change that made it so.

    Attributes:
        texts: The documents; None where there is none, or where it is kept from the sinks.
        refused: Why documents are kept from the sinks, which then hold what they were before.
        last: The change that altered each last.
    """

    def __init__(
        self,
        product: Product,
        keys: Collection[Key],
        *,
        max_document_bytes: int,
        altered: Callable[[Key, str | None, Change], None] = lambda key, text, change: None,
    ) -> None:
        self._rows = LiveRows(product.form.relations)
        self._root = product.root.relation
        self._builder = DocumentBuilder(product, Findings(), max_document_bytes)
        self._altered = altered
        self._keys = set(keys)
        self._asked: dict[Place, dict[JoinValue, set[Key]]] = defaultdict(lambda: defaultdict(set))
        self.texts: dict[Key, str | None] = dict.fromkeys(keys)
        self.refused: dict[Key, str] = {}
        self.last: dict[Key, Change] = {}

    def tell(self, changes: Iterable[Change]) -> None:
        """Tell the next changes of the logs."""
        for change in changes:
            effect = self._rows.apply(change)
            if effect.before is not effect.after:
                for key in self._concerned(change, effect):
                    self._make(key, change)

    def _concerned(self, change: Change, effect: Effect) -> set[Key]:
        found: set[Key] = set()
        key = tuple(change.key.values())
        if change.relation == self._root.name and key in self._keys:
            found.add(key)
        rows = [row for row in (effect.before, effect.after) if row is not None]
        for (relation, columns), asked in self._asked.items():
            if relation == change.relation:
                for row in rows:
                    value = join_value(row, columns)
                    # What was asked once may be of no matter by now; then nothing is altered.
                    found |= asked.get(value, set()) if value is not None else set()
        return found

    def _make(self, key: Key, change: Change) -> None:
        known = self._rows.known(self._root.name, key)
        root = None if known is None else known.seen
        built = None if root is None else self._builder.build(root, _Noting(self, key))
        text, reason = told(built)
        self.refused.pop(key, None)
        if reason:
            self.refused[key] = reason
        if text != self.texts[key]:
            self.texts[key], self.last[key] = text, change
            self._altered(key, text, change)

    def matching(
        self, key: Key, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows that match, and note that a document asked for them."""
        if value is not None:
            self._asked[relation, columns][value].add(key)
        return self._rows.matching(relation, columns, value)


def told(built: Built | None) -> tuple[str | None, str]:
    """Return the text of a document that is sent, else why it is kept from the sinks."""
    if built is None or built.reason is None:
        return None if built is None else built.text, ""
    return None, built.detail or built.reason


class _Noting:
    """Rows as one document asks for them."""

    def __init__(self, log: DocumentsLog, key: Key) -> None:
        self._log, self._key = log, key

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows of `relation` whose `columns` equal `value`."""
        return self._log.matching(self._key, relation, columns, value)
