"""The reference solution: rows in dictionaries, everything computed again after each batch.

It is the oracle that every other solution is compared with, so it is slow and plain. Rows
follow the small print on positions; documents follow from the rows that exist; a batch
sends the documents whose text differs from what was last sent.

Groups have a reference of their own, which knows of time (`aggregate_reference`), and so have
stored queries (`search_reference`). A product that reads others is told what they have sent in the
same batch, as changes of a relation.

Limits: deletes are remembered for ever. Only portable expressions can be evaluated.

Invariant: what stands in the sink depends on the applied changes, never on how they were
cut into batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from joinery.expression.order import row_key
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.nodes import CLOCK, DocumentForm, Node, Product, Relation
from joinery.plan.pattern import PatternForm
from joinery.plan.search import SearchForm
from joinery.semantics.aggregate_reference import LATE_COUNTERS, AggregateReference
from joinery.semantics.document import NEVER_SENT, Built, DocumentBuilder, SentDocument, next_sent
from joinery.semantics.fold_reference import WITHOUT_SEQUENCE, FoldReference
from joinery.semantics.history_reference import HistoryReference
from joinery.semantics.lateness import Watermarks
from joinery.semantics.merge import RowMerge, Standing
from joinery.semantics.rows import Findings, Rows, join_value, time_of, values_reader
from joinery.semantics.search_reference import SearchReference
from joinery.semantics.versions import VersionLog
from joinery.solutions.protocol import DeadDocument, Emissions

_OF_A_PRODUCT = (*LATE_COUNTERS, WITHOUT_SEQUENCE)
"""What is counted of each product's rows."""


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
        self._groups: dict[str, AggregateReference | HistoryReference | FoldReference] = {}
        self._outboxes: dict[str, _Outbox] = {}
        self._searches: dict[str, SearchReference] = {}
        self._products = _after_what_they_read(many)
        for each in self._products:
            if isinstance(each.form, AggregateForm | PatternForm):
                made = AggregateReference(each, each.form, max_document_bytes)
                self._groups[each.name] = made
            elif isinstance(each.form, HistoryForm):
                kept = HistoryReference(each, each.form, max_document_bytes)
                self._groups[each.name] = kept
            elif isinstance(each.form, FoldForm):
                self._groups[each.name] = FoldReference(each, each.form, max_document_bytes)
            elif isinstance(each.form, SearchForm):
                self._searches[each.name] = SearchReference(each, each.form, max_document_bytes)
            else:
                self._outboxes[each.name] = _Outbox(each, max_document_bytes)
        rooted = [each for each in self._products if each.name not in self._groups]
        relations = dict.fromkeys(relation for each in rooted for relation in each.form.relations)
        nodes = [one for each in rooted for one in _nodes(each)]
        versioned = {each.relation.name for each in nodes if each.as_of is not None}
        self._tables = {each.name: _Table(each, each.name in versioned) for each in relations}
        changelogs = {each.name: each for one in many for each in one.relations}
        self._clocked = {
            name: (each.clocks, RowMerge(each, Findings()), {c.name for c in each.columns})
            for name, each in changelogs.items()
            if each.clocks is not None
        }
        names = [each.name for each in many]
        self._sent = [
            *(each for each in names if each not in self._groups),
            *(each for each in names if each in self._groups),
        ]

    def apply(self, batch: Sequence[Change], timestamp_us: int) -> Emissions:
        """Apply `batch` in its order and return the documents that it changed."""
        counters: Counter[str] = Counter()
        batch = [each for each in batch if self._believed(each, counters)]
        for change in batch:
            if change.relation in self._tables:
                counters[self._tables[change.relation].apply(change, timestamp_us)] += 1
        for table in self._tables.values():
            table.watermarks.end_batch(timestamp_us)
        late: dict[str, Counter[str]] = {}
        for product in self._products:
            group = self._groups.get(product.name)
            if group is not None and product.form.relation.product is None:
                counted = group.apply(batch, timestamp_us)
                counters.update(counted)
                late[product.name] = Counter({each: counted[each] for each in _OF_A_PRODUCT})
        documents, letters = self._send_all(timestamp_us)
        found: dict[str, Counter[str]] = {}
        for name, table in self._tables.items():
            found[name] = table.news()
        for name, outbox in self._outboxes.items():
            found[name] = found.get(name, Counter()) + outbox.news()
        for name, searched in self._searches.items():
            found[name] = found.get(name, Counter()) + searched.news()
        for name, group in self._groups.items():
            found[name] = found.get(name, Counter()) + group.news()
        counters["unique_violations"] = sum(t.new_violations() for t in self._tables.values())
        counters += sum(found.values(), Counter())
        found |= {name: found[name] + each for name, each in late.items()}
        return Emissions(
            documents=documents,
            dead_letters=letters,
            counters=dict(counters),
            found=found,
        )

    def _believed(self, change: Change, counters: Counter[str]) -> bool:
        """Count what a change's clocks tell; return whether it is used.

        A change that leaves columns out tells nothing of its own.
        """
        if change.relation not in self._clocked or change.after is None:
            return True
        clocks, merge, columns = self._clocked[change.relation]
        if not columns <= {*change.after, *change.key}:
            return True
        told = merge.first(change)[CLOCK]
        counters[f"clock_{told}"] += told != "ok"
        return told != "suspect" or clocks.suspect != "dead_letter"

    def until_closed(self, timestamp_us: int) -> Emissions:
        """Return what is sent once every partition counts as ended: all windows close."""
        documents, letters = self._send_all(timestamp_us, until_closed=True)
        return Emissions(documents=documents, dead_letters=letters)

    def _send_all(
        self, timestamp_us: int, *, until_closed: bool = False
    ) -> tuple[tuple[DocumentChange, ...], tuple[DeadDocument, ...]]:
        """Return what all products send, each told first what those that it reads have sent."""
        sent: dict[str, tuple[list[DocumentChange], list[DeadDocument]]] = {}
        for table in self._tables.values():
            table.begin()
        for product in self._products:
            told = [change for each in product.form.relations for change in _told(each, sent)]
            if (read := product.form.relation.product) is not None:
                self._watermarks_of(product).follow(self._watermarks_of(read).relation)
            if product.name in self._groups:
                group = self._groups[product.name]
                if read is not None:
                    group.apply(told, timestamp_us)
                sent[product.name] = group.send(timestamp_us, until_closed=until_closed)
            else:
                for change in told:
                    self._tables[change.relation].apply(change, timestamp_us)
                for each in product.form.relations:
                    if each.product is not None:
                        behind = self._watermarks_of(each.product).relation
                        self._tables[each.name].watermarks.follow(behind)
                rows = self._rows(product.form.relations)
                if product.name in self._searches:
                    sent[product.name] = self._searches[product.name].send(rows, timestamp_us)
                    continue
                outbox = self._outboxes[product.name]
                clocks = {name: each.watermarks for name, each in self._tables.items()}
                outbox.reach(clocks, timestamp_us)
                sent[product.name] = outbox.send(rows, timestamp_us, until_closed=until_closed)
        return (
            tuple(document for each in self._sent for document in sent[each][0]),
            tuple(letter for each in self._sent for letter in sent[each][1]),
        )

    def _watermarks_of(self, product: Product) -> Watermarks:
        """Return the watermarks of what a product goes by: of its groups, or of its root."""
        if product.name in self._groups:
            return self._groups[product.name].watermarks
        return self._tables[product.form.relation.name].watermarks

    def _rows(self, relations: Iterable[Relation]) -> Rows:
        tables = {each.name: self._tables[each.name] for each in relations}
        versions = {name: list(each.log.shown()) for name, each in tables.items() if each.log}
        return Rows({name: each.existing() for name, each in tables.items()}, versions)


def _nodes(product: Product) -> Iterable[Node]:
    return product.root.walk() if isinstance(product.form, DocumentForm) else ()


def _after_what_they_read(products: Sequence[Product]) -> list[Product]:
    """Return products and all that they read, each once, after those that it reads."""
    found: dict[str, Product] = {}
    for product in products:
        found |= {each.name: each for each in (*product.reads, product) if each.name not in found}
    return list(found.values())


def _told(
    relation: Relation, sent: Mapping[str, tuple[list[DocumentChange], list[DeadDocument]]]
) -> list[Change]:
    """Return what a product was sent as, as changes of a relation that reads it.

    They are told as a snapshot's are: never late, since what they are made of was judged.
    """
    if relation.product is None:
        return []
    return [
        Change(relation.name, each.key, each.value, position=each.version, snapshot=True)
        for each in sent[relation.product.name][0]
    ]


class _Table:
    """One relation: for each key its newest row by position.

    Attributes:
        log: All versions of its rows; None where nothing is embedded as of a time.
    """

    def __init__(self, relation: Relation, versioned: bool) -> None:
        self._relation = relation
        self.log = VersionLog(relation, relation.time or "", Findings()) if versioned else None
        self._findings, self._before = Findings(), Findings()
        self._merge = RowMerge(relation, self._findings)
        self.watermarks = Watermarks(relation.watermark)
        self._times = RowMerge(relation, Findings())  # what fails in it is found by the other
        self._standing: dict[Key, Standing] = {}
        self._existing: list[Row] | None = None
        self._violations = 0

    def apply(self, change: Change, now_us: int) -> str:
        """Apply the next change of the log and return the counter that tells of it."""
        key = tuple(change.key[column] for column in self._relation.key)
        standing = self._standing.setdefault(key, Standing())
        verdict = self._merge.apply(standing, change)
        if self._relation.time is not None and change.after is not None:
            told = time_of(self._times.first(change), self._relation.time)
            self.watermarks.note(change, told, now_us)
        return verdict if self.log is None else self.log.apply(change)

    def begin(self) -> None:
        """Begin to show the rows of another batch."""
        self._existing = None

    def existing(self) -> list[Row]:
        """Return the rows that products see, with their derived columns.

        They are evaluated once a batch, when all of its changes have been applied.
        """
        if self._existing is None:
            rows = (each.row for each in self._standing.values())
            whole = [self._merge.derived(row) for row in rows if row is not None]
            self._existing = [row for row in whole if self._merge.visible(row)]
        return self._existing

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        before, self._before = self._before, self._findings.taken()
        return self._before.since(before)

    def new_violations(self) -> int:
        """Return how many more rows than before repeat a `unique` value."""
        before, existing = self._violations, self.existing()
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
        self._key_of = values_reader(relation.key)
        form = product.form
        waits = form.waits if isinstance(form, DocumentForm) else {}
        self._waits = [(each.name, after_us) for each, after_us in waits.items()]
        self._ended: set[tuple[Key, int | None]] = set()
        self._reached: dict[str, int] = {}

    def send(
        self,
        rows: Rows,
        timestamp_us: int,
        *,
        until_closed: bool = False,
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives, in the order of the keys, and the dead letters.

        Args:
            rows: Those that exist now.
            timestamp_us: The batch's time.
            until_closed: Whether every partition counts as ended.
        """
        roots = rows.of(self._product.root.relation.name)
        if until_closed:
            self._ended |= {self._moment(each) for each in roots}
        decided = [each for each in roots if self._decided(each)]
        built = self._build_all(decided, rows)
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

    def _moment(self, row: Row) -> tuple[Key, int | None]:
        return self._key_of(row), time_of(row, self._product.root.relation.time)

    def reach(self, watermarks: Mapping[str, Watermarks], now_us: int) -> None:
        """Take how far relations have come; while all of one is silent, the root's counts."""
        root = watermarks[self._product.root.relation.name].relation
        for name, _ in self._waits:
            told = [self._reached.get(name), watermarks[name].relation]
            told += [root] if watermarks[name].quiet(now_us) else []
            known = [each for each in told if each is not None]
            self._reached |= {name: max(known)} if known else {}

    def _decided(self, row: Row) -> bool:
        """Return whether nothing is waited for any more before a root is sent."""
        if not self._waits:
            return True
        moment = _, time_us = self._moment(row)
        if time_us is None or moment in self._ended:
            return True
        reached = ((self._reached.get(name), after_us) for name, after_us in self._waits)
        return all(each is not None and each > time_us + after for each, after in reached)

    def _build_all(self, roots: Iterable[Row], rows: Rows) -> dict[Key, Built]:
        documents = ((self._key_of(row), self._builder.build(row, rows)) for row in roots)
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
