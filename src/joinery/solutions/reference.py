"""The reference solution: rows in dictionaries, everything computed again after each batch.

It is the oracle that every other solution is compared with, so it is slow and plain. Rows
follow the small print on positions; documents follow from the rows that exist; a batch
sends the documents whose text differs from what was last sent.

Limits: deletes are remembered for ever. Only portable expressions can be evaluated.

Invariant: what stands in the sink depends on the applied changes, never on how they were
cut into batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joinery.engine.assemble import Assembler
from joinery.engine.order import row_key
from joinery.engine.render import document_json
from joinery.engine.rows import Rows, join_value
from joinery.engine.scope import Findings, guarded, relation_scope
from joinery.model.change import Change, DocumentChange, Row
from joinery.plan.nodes import Product, Relation
from joinery.solutions.protocol import DeadDocument, Emissions

Key = tuple[Any, ...]


class ReferenceSolution:
    """Keeps the documents of `products`, by computing all of them after each batch.

    Args:
        products: One product, or several that share their relations.
        max_document_bytes: Above it a document is a dead letter; None sets no bound.
    """

    def __init__(
        self, products: Product | Sequence[Product], *, max_document_bytes: int | None = None
    ) -> None:
        many = [products] if isinstance(products, Product) else list(products)
        relations = dict.fromkeys(relation for product in many for relation in product.relations)
        self._findings = Findings()
        self._tables = {each.name: _Table(each, self._findings) for each in relations}
        self._outboxes = [_Outbox(each, self._findings, max_document_bytes) for each in many]

    def apply(self, batch: Sequence[Change], timestamp_us: int) -> Emissions:
        """Apply `batch` in its order and return the documents that it changed."""
        before = Findings(self._findings.failures, set(self._findings.multiple))
        counters: Counter[str] = Counter()
        for change in batch:
            if change.relation in self._tables:
                counters[self._tables[change.relation].apply(change)] += 1
        self._findings.failures, multiple = 0, self._findings.multiple
        multiple.clear()
        rows = Rows({name: table.existing() for name, table in self._tables.items()})
        sent = [outbox.send(rows, timestamp_us) for outbox in self._outboxes]
        counters["expression_errors"] = max(0, self._findings.failures - before.failures)
        counters["multiple_matches"] = len(multiple - before.multiple)
        counters["unique_violations"] = sum(t.new_violations(rows) for t in self._tables.values())
        return Emissions(
            documents=tuple(document for documents, _ in sent for document in documents),
            dead_letters=tuple(letter for _, letters in sent for letter in letters),
            counters=dict(+counters),
        )


@dataclass(slots=True)
class _Stored:
    """The newest state of one key; a deleted row is remembered without its columns."""

    row: dict[str, Any] | None = None
    position: int | None = None
    after_delete: bool = False


class _Table:
    """One relation: for each key its newest row by position."""

    def __init__(self, relation: Relation, findings: Findings) -> None:
        self._relation = relation
        self._stored: dict[Key, _Stored] = {}
        self._violations = 0
        scope = relation_scope(relation)
        self._derived = [
            (each.name, guarded(each.expression, scope, findings)) for each in relation.derived
        ]
        self._where = guarded(relation.where, scope, findings) if relation.where else None

    def apply(self, change: Change) -> str:
        """Apply the next change of the log and return the counter that tells of it."""
        key = tuple(change.key[column] for column in self._relation.key)
        stored = self._stored.setdefault(key, _Stored())
        after_delete = stored.after_delete
        stored.after_delete = change.after is None and not change.tombstone
        if change.tombstone and after_delete:
            return "tombstones_ignored"
        if not _newer(change.position, stored.position):
            return "stale"
        stored.row = None if change.after is None else self._merge(stored.row, change)
        stored.position = stored.position if change.position is None else change.position
        return "applied"

    def existing(self) -> list[Row]:
        """Return the rows that products see, with their derived columns."""
        whole = [self._derive(each.row) for each in self._stored.values() if each.row is not None]
        return [row for row in whole if self._where is None or self._where(row) is True]

    def new_violations(self, rows: Rows) -> int:
        """Return how many more rows than before repeat a `unique` value."""
        before = self._violations
        existing = rows.of(self._relation.name)
        self._violations = sum(_repeats(existing, columns) for columns in self._relation.unique)
        return max(0, self._violations - before)

    def _merge(self, row: dict[str, Any] | None, change: Change) -> dict[str, Any]:
        """Return the row after an upsert: a column that is absent keeps its stored value."""
        stored = row or {}
        told = {**(change.after or {}), **change.key}
        names = (column.name for column in self._relation.columns)
        return {name: told[name] if name in told else stored.get(name) for name in names}

    def _derive(self, row: Mapping[str, Any]) -> Row:
        whole = dict(row)
        for name, evaluate in self._derived:
            whole[name] = evaluate(whole)
        return whole


@dataclass(slots=True)
class _Sent:
    """What the sink holds for one root key, and whether it is the last good document."""

    text: str | None = None
    version: int = 0
    failing: bool = False


@dataclass(slots=True)
class _Built:
    """A document as it should now stand, and what keeps it from the sink."""

    value: dict[str, Any]
    text: str
    reason: str | None
    detail: str


class _Outbox:
    """One product: compares the documents that should stand with those that were sent."""

    def __init__(self, product: Product, findings: Findings, max_bytes: int | None) -> None:
        self._product = product
        self._max_bytes = max_bytes
        self._assembler = Assembler(product.root, findings)
        self._sent: dict[Key, _Sent] = {}
        relation = product.root.relation
        self._rank = row_key([(relation.type_of(column), False) for column in relation.key])

    def send(
        self, rows: Rows, timestamp_us: int
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives now that `rows` exist, in the order of the keys."""
        built = self._build_all(rows)
        documents: list[DocumentChange] = []
        dead: list[DeadDocument] = []
        for key in sorted(built.keys() | self._sent.keys(), key=self._rank):
            sent = self._sent.setdefault(key, _Sent())
            document = built.get(key)
            if document is not None and document.reason is not None:
                if not sent.failing:
                    dead.append(self._dead(key, document))
                sent.failing = True
            elif document is None and sent.text is None:
                sent.failing = False
            elif document is None or sent.failing or document.text != sent.text:
                sent.failing = False
                sent.text = None if document is None else document.text
                sent.version = max(timestamp_us, sent.version + 1)
                value = None if document is None else document.value
                documents.append(self._emission(key, value, sent.version))
        return documents, dead

    def _build_all(self, rows: Rows) -> dict[Key, _Built]:
        root = self._product.root
        built: dict[Key, _Built] = {}
        for row in rows.of(root.relation.name):
            assembled = self._assembler.assemble(row, rows)
            if assembled is not None:
                key = tuple(row[column] for column in root.relation.key)
                built[key] = self._judge(assembled.value, assembled.overflowed)
        return built

    def _judge(self, value: dict[str, Any], overflowed: tuple[str, ...]) -> _Built:
        text = document_json(value, self._product.root.output)
        size = len(text.encode())
        if overflowed:
            paths = ", ".join(dict.fromkeys(overflowed))
            return _Built(value, text, "overflow", f"More rows than the limit in {paths}.")
        if self._max_bytes is not None and size > self._max_bytes:
            detail = f"The document has {size} bytes, the limit is {self._max_bytes}."
            return _Built(value, text, "document_too_large", detail)
        return _Built(value, text, None, "")

    def _emission(self, key: Key, value: Row | None, version: int) -> DocumentChange:
        return DocumentChange(self._product.name, self._key_row(key), value, version)

    def _dead(self, key: Key, document: _Built) -> DeadDocument:
        reason = document.reason or ""
        return DeadDocument(self._product.name, self._key_row(key), reason, document.detail)

    def _key_row(self, key: Key) -> Row:
        return dict(zip(self._product.root.relation.key, key, strict=True))


def _newer(position: int | None, stored: int | None) -> bool:
    """Tell whether the log's next change stands: equal positions yield to the later place."""
    return position is None or stored is None or position >= stored


def _repeats(rows: Iterable[Row], columns: tuple[str, ...]) -> int:
    values = [value for row in rows if (value := join_value(row, columns)) is not None]
    return len(values) - len(set(values))
