"""The reference solution: rows in dictionaries, everything computed again after each batch.

It is the oracle that every other solution is compared with, so it is slow and plain. Rows
follow the small print on positions; documents follow from the rows that exist; a batch
sends the documents whose text differs from what was last sent.

Groups have a reference of their own, which knows of time (`aggregate_reference`).

Limits: deletes are remembered for ever. Only portable expressions can be evaluated.

Invariant: what stands in the sink depends on the applied changes, never on how they were
cut into batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from joinery.expression.order import row_key
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.plan.aggregate import AggregateForm
from joinery.plan.nodes import Product, Relation
from joinery.semantics.aggregate_reference import AggregateReference
from joinery.semantics.document import NEVER_SENT, Built, DocumentBuilder, SentDocument, next_sent
from joinery.semantics.merge import RowMerge, Standing
from joinery.semantics.rows import Findings, Rows, join_value
from joinery.solutions.protocol import DeadDocument, Emissions


class ReferenceSolution:
    """Keeps the documents and groups of `products`, by computing all of them after each batch.

    Args:
        products: One product, or several that share their relations.
        max_document_bytes: Above it a document is a dead letter; None sets no bound.
    """

    def __init__(
        self, products: Product | Sequence[Product], *, max_document_bytes: int | None = None
    ) -> None:
        many = [products] if isinstance(products, Product) else list(products)
        self._groups: dict[str, AggregateReference] = {}
        self._outboxes: dict[str, _Outbox] = {}
        for each in many:
            if isinstance(each.form, AggregateForm):
                made = AggregateReference(each, each.form, max_document_bytes)
                self._groups[each.name] = made
            else:
                self._outboxes[each.name] = _Outbox(each, max_document_bytes)
        rooted = [each for each in many if each.name in self._outboxes]
        relations = dict.fromkeys(relation for each in rooted for relation in each.relations)
        self._tables = {each.name: _Table(each) for each in relations}

    def apply(self, batch: Sequence[Change], timestamp_us: int) -> Emissions:
        """Apply `batch` in its order and return the documents that it changed."""
        counters: Counter[str] = Counter()
        for change in batch:
            if change.relation in self._tables:
                counters[self._tables[change.relation].apply(change)] += 1
        rows = Rows({name: table.existing() for name, table in self._tables.items()})
        for group in self._groups.values():
            counters.update(group.apply(batch, timestamp_us))
        sent = [outbox.send(rows, timestamp_us) for outbox in self._outboxes.values()]
        sent += [group.send(timestamp_us) for group in self._groups.values()]
        found: dict[str, Counter[str]] = {}
        for name, table in self._tables.items():
            found[name] = table.news()
        for name, outbox in self._outboxes.items():
            found[name] = found.get(name, Counter()) + outbox.news()
        for name, group in self._groups.items():
            found[name] = found.get(name, Counter()) + group.news()
        counters["unique_violations"] = sum(t.new_violations(rows) for t in self._tables.values())
        return Emissions(
            documents=tuple(document for documents, _ in sent for document in documents),
            dead_letters=tuple(letter for _, letters in sent for letter in letters),
            counters=dict(sum(found.values(), +counters)),
            found=found,
        )

    def until_closed(self, timestamp_us: int) -> Emissions:
        """Return what is sent once every partition counts as ended: all windows close."""
        sent = [each.send(timestamp_us, until_closed=True) for each in self._groups.values()]
        return Emissions(
            documents=tuple(document for documents, _ in sent for document in documents),
            dead_letters=tuple(letter for _, letters in sent for letter in letters),
        )


class _Table:
    """One relation: for each key its newest row by position."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._findings, self._before = Findings(), Findings()
        self._merge = RowMerge(relation, self._findings)
        self._standing: dict[Key, Standing] = {}
        self._violations = 0

    def apply(self, change: Change) -> str:
        """Apply the next change of the log and return the counter that tells of it."""
        key = tuple(change.key[column] for column in self._relation.key)
        return self._merge.apply(self._standing.setdefault(key, Standing()), change)

    def existing(self) -> list[Row]:
        """Return the rows that products see, with their derived columns."""
        rows = (each.row for each in self._standing.values())
        whole = [self._merge.derived(row) for row in rows if row is not None]
        return [row for row in whole if self._merge.visible(row)]

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        before, self._before = self._before, self._findings.taken()
        return self._before.since(before)

    def new_violations(self, rows: Rows) -> int:
        """Return how many more rows than before repeat a `unique` value."""
        before = self._violations
        existing = rows.of(self._relation.name)
        self._violations = sum(_repeats(existing, columns) for columns in self._relation.unique)
        return max(0, self._violations - before)


class _Outbox:
    """One product: compares the documents that should stand with those that were sent."""

    def __init__(self, product: Product, max_bytes: int | None) -> None:
        self._product = product
        self._findings, self._before = Findings(), Findings()
        self._builder = DocumentBuilder(product, self._findings, max_bytes)
        self._sent: dict[Key, SentDocument] = {}
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
            document = built.get(key)
            before = self._sent.get(key, NEVER_SENT)
            sent, step = next_sent(before, document, timestamp_us)
            self._sent[key] = sent
            if step == "send":
                value = None if document is None else document.value
                documents.append(self._emission(key, value, sent.version))
            elif step == "dead" and document is not None:
                dead.append(self._dead(key, document))
        return documents, dead

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        before, self._before = self._before, self._findings.taken()
        return self._before.since(before)

    def _build_all(self, rows: Rows) -> dict[Key, Built]:
        root = self._product.root
        documents = (
            (tuple(row[column] for column in root.relation.key), self._builder.build(row, rows))
            for row in rows.of(root.relation.name)
        )
        return {key: document for key, document in documents if document is not None}

    def _emission(self, key: Key, value: Row | None, version: int) -> DocumentChange:
        return DocumentChange(self._product.name, self._key_row(key), value, version)

    def _dead(self, key: Key, document: Built) -> DeadDocument:
        reason = document.reason or ""
        return DeadDocument(self._product.name, self._key_row(key), reason, document.detail)

    def _key_row(self, key: Key) -> Row:
        return dict(zip(self._product.root.relation.key, key, strict=True))


def _repeats(rows: Iterable[Row], columns: tuple[str, ...]) -> int:
    values = [value for row in rows if (value := join_value(row, columns)) is not None]
    return len(values) - len(set(values))
