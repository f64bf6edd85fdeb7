"""The documents of a product as its logs give them, where no database is named.

The logs are read from their beginning, again whenever they have grown, and the documents made by
the reference's rules; so what a log lacks is not found. Of what was read the rows are kept, each
with the record that it has been since: the version of a row, as a database has one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

from joinery.audit.key import KeyTexts
from joinery.audit.protocol import Shown
from joinery.model.change import Change, Key, Row
from joinery.plan.product import Product
from joinery.provenance.documents_log import told
from joinery.provenance.live_rows import LiveRows
from joinery.semantics.document import Built, DocumentBuilder
from joinery.semantics.rows import Findings, JoinValue, values_reader


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
        read: Callable[[], Iterable[Change]],
        ends: Callable[[], Hashable],
        *,
        max_document_bytes: int,
    ) -> None:
        self._product, self._root = product, product.root.relation
        self._read, self._ends = read, ends
        self._builder = DocumentBuilder(product, Findings(), max_document_bytes)
        self._texts = KeyTexts(self._root)
        self._stood: Hashable = None
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
        rows = _Noting(self._product, self._rows) if noting else self._rows
        made = {key: told(self._made(key, rows)) for key in keys}
        refused = {key: reason for key, (_, reason) in made.items() if reason}
        texts = {key: text for key, (text, _) in made.items()}
        versions = frozenset(rows.versions if isinstance(rows, _Noting) else ())
        return Shown(self._readings, texts, _unreadable(refused), versions)

    def _made(self, key: Key, rows: LiveRows | _Noting) -> Built | None:
        root = rows.row(self._root.name, key)
        return None if root is None else self._builder.build(root, rows)

    def _look(self) -> None:
        ends = self._ends()
        if self._readings and ends == self._stood:
            return
        # The rows before go first: memory may not hold both.
        self._stood, self._rows = None, LiveRows(())
        rows = LiveRows(self._product.form.relations)
        for change in self._read():
            rows.apply(change)
        self._stood, self._rows = ends, rows
        keys = self._rows.keys(self._root.name)
        self._roots = sorted((self._texts.text(key), key) for key in keys)
        self._readings += 1


class _Noting:
    """Rows that note the versions of those that are asked for.

    Attributes:
        versions: By relation and key, the record that each row has been since.
    """

    def __init__(self, product: Product, rows: LiveRows) -> None:
        self._rows = rows
        self._keys = {each.name: values_reader(each.key) for each in product.form.relations}
        self.versions = set[object]()

    def row(self, relation: str, key: Key) -> Row | None:
        """Return the row of a key as products see it."""
        self._note(relation, key)
        return self._rows.row(relation, key)

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows of `relation` whose `columns` equal `value`."""
        found = self._rows.matching(relation, columns, value)
        for each in found:
            self._note(relation, self._keys[relation](each))
        return found

    def _note(self, relation: str, key: Key) -> None:
        known = self._rows.known(relation, key)
        self.versions.add((relation, key, None if known is None else known.by))


def _unreadable(refused: Mapping[Key, str]) -> Mapping[Key, str]:
    """Return what cannot be compared: a sink holds the last document that was not refused."""
    return {key: f"it has no document: {reason}" for key, reason in refused.items()}
