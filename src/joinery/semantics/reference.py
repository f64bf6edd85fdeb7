"""The reference solution: rows in dictionaries, everything computed again after each batch.

It is the oracle that every other solution is compared with, so it is slow and plain. Rows
follow the small print on positions; documents follow from the rows that exist; a batch
sends the documents whose text differs from what was last sent.

Groups have a reference of their own, which knows of time (`aggregate_reference`), and so have
stored queries (`search_reference`). A product that reads others is told what they have sent in the
same batch, as changes of a relation.

Limits: deletes are remembered forever. Only portable expressions can be evaluated.

Invariant: what stands in the sink depends on the applied changes, never on how they were
cut into batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from joinery.errors import PlanError
from joinery.expression.order import row_key
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.node import Node
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm, Product
from joinery.plan.relation import CLOCK, LOG_TIME, Relation
from joinery.plan.search import SearchForm
from joinery.plan.stream import Stream
from joinery.semantics.aggregate_reference import AggregateReference
from joinery.semantics.arrivals import LATE_COUNTERS
from joinery.semantics.document import NEVER_SENT, Built, DocumentBuilder, SentDocument, next_sent
from joinery.semantics.fold_reference import WITHOUT_SEQUENCE, FoldReference
from joinery.semantics.history_reference import HistoryReference
from joinery.semantics.judged_table import judged_tables
from joinery.semantics.lateness import Watermarks
from joinery.semantics.merge import RowMerge
from joinery.semantics.personal import Seals, has_erased, hidden
from joinery.semantics.rows import Findings, Rows, time_of, values_reader
from joinery.semantics.search_reference import SearchReference
from joinery.semantics.table import Table
from joinery.solutions.protocol import DeadDocument, Emissions

_OF_A_PRODUCT = (*LATE_COUNTERS, WITHOUT_SEQUENCE)
"""What is counted of each product's rows."""


class ReferenceSolution:
    """Keeps the documents and groups of `products`, by computing all of them after each batch.

    Args:
        products: One product, or several that share their relations.
        max_document_bytes: Above it a document is a dead letter; None sets no bound.
        sealed: Whether changes come as a run decodes them, with personal columns sealed.
    """

    def __init__(
        self,
        products: Product | Sequence[Product],
        *,
        max_document_bytes: int | None = None,
        sealed: bool = False,
    ) -> None:
        many = [products] if isinstance(products, Product) else list(products)
        self._groups: dict[str, AggregateReference | HistoryReference | FoldReference] = {}
        self._outboxes: dict[str, _Outbox] = {}
        self._searches: dict[str, SearchReference] = {}
        self._products = _after_what_they_read(many)
        for each in self._products:
            match each.form:
                case AggregateForm() | PatternForm():
                    made = AggregateReference(each, each.form, max_document_bytes)
                    self._groups[each.name] = made
                case HistoryForm():
                    kept = HistoryReference(each, each.form, max_document_bytes)
                    self._groups[each.name] = kept
                case FoldForm():
                    self._groups[each.name] = FoldReference(each, each.form, max_document_bytes)
                case SearchForm():
                    self._searches[each.name] = SearchReference(each, each.form, max_document_bytes)
                case DocumentForm() | OutboxForm():
                    self._outboxes[each.name] = _Outbox(each, max_document_bytes)
                case Stream():
                    raise PlanError(f'stream "{each.name}" has a reference of its own')
                case _:
                    assert_never(each.form)
        rooted = [each for each in self._products if each.name not in self._groups]
        self._judged = judged_tables(rooted)
        relations = dict.fromkeys(
            relation
            for each in rooted
            for relation in each.form.relations
            if relation.name not in self._judged_of(each)
        )
        ruled = (each.form for each in self._products if isinstance(each.form, PatternForm))
        relations |= dict.fromkeys(rule.relation for form in ruled for rule in form.rules)
        nodes = [one for each in rooted for one in _nodes(each)]
        self._versioned = {
            one.name: {each.relation.name for each in _nodes(one) if each.as_of is not None}
            for one in rooted
        }
        versioned = {name for names in self._versioned.values() for name in names}
        # Where a row stands as it is, too, what became of a change is told of that.
        alone = versioned - {each.relation.name for each in nodes if each.as_of is None}
        self._tables = {
            each.name: Table(each, versioned=each.name in versioned, alone=each.name in alone)
            for each in relations
        }
        changelogs = {each.name: each for one in many for each in one.relations}
        self._seals = Seals(() if sealed else changelogs.values())
        self._clocked = {
            name: (each.clocks, RowMerge(each, Findings()), _told_by_records(each))
            for name, each in changelogs.items()
            if each.clocks is not None
        }
        self._counted: dict[str, Counter[str]] = {}  # Of those that read products, in a batch.
        names = [each.name for each in many]
        self._sent = [
            *(each for each in names if each not in self._groups),
            *(each for each in names if each in self._groups),
        ]

    def apply(self, batch: Sequence[Change], timestamp_us: int) -> Emissions:
        """Apply `batch` in its order and return the documents that it changed."""
        counters: Counter[str] = Counter()
        batch = [self._seals.seen(each) for each in batch if self._believed(each, counters)]
        self._forget()
        for change in batch:
            if change.relation in self._tables:
                counters[self._tables[change.relation].apply(change, timestamp_us)] += 1
        for table in self._tables.values():
            table.watermarks.end_batch(timestamp_us)
        late: dict[str, Counter[str]] = {}
        timeless = {name: each.taken_timeless() for name, each in self._tables.items()}
        for name, relations in self._versioned.items():
            late[name] = Counter({"event_without_time": sum(timeless[each] for each in relations)})
        for name, judged in self._judged.items():
            counted = judged.apply(batch, timestamp_us)
            counters.update(counted)
            late[name] = Counter({each: counted[each] for each in LATE_COUNTERS})
            self._outboxes[name].begin_anew(judged.take_anew())
        for product in self._products:
            group = self._groups.get(product.name)
            if group is not None and product.form.relation.product is None:
                counted = group.apply(batch, timestamp_us)
                counters.update(counted)
                late[product.name] = Counter({each: counted[each] for each in _OF_A_PRODUCT})
        documents, letters = self._send_all(timestamp_us)
        return self._emissions(documents, letters, counters, late)

    def _emissions(
        self,
        documents: tuple[DocumentChange, ...],
        letters: tuple[DeadDocument, ...],
        counters: Counter[str],
        late: dict[str, Counter[str]],
    ) -> Emissions:
        """Return what was sent, with what making it was the first to find."""
        for name, counted in self._counted.items():
            late[name] = Counter({each: counted[each] for each in _OF_A_PRODUCT})
            counters += late[name]
        found: dict[str, Counter[str]] = {}
        for table in self._all_tables():
            found[table.relation.name] = found.get(table.relation.name, Counter()) + table.news()
        for name, outbox in self._outboxes.items():
            found[name] = found.get(name, Counter()) + outbox.news()
        for name, searched in self._searches.items():
            found[name] = found.get(name, Counter()) + searched.news()
        for name, group in self._groups.items():
            found[name] = found.get(name, Counter()) + group.news()
        counters["unique_violations"] = sum(t.new_violations() for t in self._all_tables())
        counters += sum(found.values(), Counter()) + self._seals.news()
        found |= {name: found[name] + each for name, each in late.items()}
        return Emissions(
            documents=documents,
            dead_letters=letters,
            counters=dict(counters),
            found=found,
        )

    def erase(self, relation: str, subject: object, timestamp_us: int) -> Emissions:
        """Erase a subject of a relation, now and forever, and return what is sent again."""
        self._seals.erase(relation, subject)
        for table in self._all_tables():
            if table.relation.name == relation:
                table.erase(subject)
        for group in self._groups.values():
            if isinstance(group, HistoryReference):
                group.erase(relation, subject)
        documents, letters = self._send_all(timestamp_us)
        return Emissions(documents=documents, dead_letters=letters)

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
        return self._emissions(documents, letters, Counter(), {})

    def _send_all(
        self, timestamp_us: int, *, until_closed: bool = False
    ) -> tuple[tuple[DocumentChange, ...], tuple[DeadDocument, ...]]:
        """Return what all products send, each told first what those that it reads have sent."""
        sent: dict[str, tuple[list[DocumentChange], list[DeadDocument]]] = {}
        for table in self._all_tables():
            table.begin()
        for judged in self._judged.values() if until_closed else ():
            judged.end_logs()
        for product in self._products:
            told = [change for each in product.form.relations for change in _told(each, sent)]
            if (read := product.form.relation.product) is not None:
                self._watermarks_of(product).follow(self._watermarks_of(read).relation)
            if product.name in self._groups:
                group = self._groups[product.name]
                if read is not None:
                    self._counted[product.name] = group.apply(told, timestamp_us)
                if isinstance(product.form, PatternForm) and isinstance(group, AggregateReference):
                    rules = {each.relation.name for each in product.form.rules}
                    group.see(_rows({name: self._tables[name] for name in rules}))
                sent[product.name] = group.send(timestamp_us, until_closed=until_closed)
            else:
                tables = self._tables_of(product)
                for change in told:
                    tables[change.relation].apply(change, timestamp_us)
                for each in product.form.relations:
                    if each.product is not None:
                        behind = self._watermarks_of(each.product).relation
                        tables[each.name].watermarks.follow(behind)
                rows = _rows(tables)
                if product.name in self._searches:
                    sent[product.name] = self._searches[product.name].send(rows, timestamp_us)
                    continue
                outbox = self._outboxes[product.name]
                clocks = {name: each.watermarks for name, each in tables.items()}
                outbox.reach(clocks, timestamp_us)
                documents, dead = outbox.send(rows, timestamp_us, until_closed=until_closed)
                if product.name in self._judged:
                    dead = [*self._judged[product.name].take_dead_letters(), *dead]
                sent[product.name] = documents, dead
        return (
            tuple(document for each in self._sent for document in sent[each][0]),
            tuple(letter for each in self._sent for letter in sent[each][1]),
        )

    def _watermarks_of(self, product: Product) -> Watermarks:
        """Return the watermarks of what a product goes by: of its groups, or of its root."""
        if product.name in self._groups:
            return self._groups[product.name].watermarks
        return self._tables_of(product)[product.form.relation.name].watermarks

    def _forget(self) -> None:
        """Forget the rows of intervals that are over; their documents stay as they were sent."""
        for name, judged in self._judged.items():
            if roots := judged.begin():
                product = next(each for each in self._products if each.name == name)
                self._outboxes[name].leave(roots, _rows(self._tables_of(product)))

    def _judged_of(self, product: Product) -> Mapping[str, Table]:
        judged = self._judged.get(product.name)
        return {} if judged is None else judged.tables

    def _tables_of(self, product: Product) -> Mapping[str, Table]:
        """Return the rows of the relations that a product reads, by their names."""
        own = self._judged_of(product)
        names = [each.name for each in product.form.relations]
        return {name: own[name] if name in own else self._tables[name] for name in names}

    def _all_tables(self) -> Iterator[Table]:
        yield from self._tables.values()
        for judged in self._judged.values():
            yield from judged.tables.values()


def _rows(tables: Mapping[str, Table]) -> Rows:
    versions = {name: list(each.log.shown()) for name, each in tables.items() if each.log}
    roots = {name: each.roots() for name, each in tables.items()}
    return Rows({name: each.existing() for name, each in tables.items()}, versions, roots)


def _told_by_records(relation: Relation) -> set[str]:
    """Return the columns that a record has of itself."""
    return {each.name for each in relation.columns} - ({LOG_TIME} if relation.logged else set())


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
        Change(relation.name, *_row_of(relation.product, each), each.version, snapshot=True)
        for each in sent[relation.product.name][0]
    ]


def _row_of(product: Product, sent: DocumentChange) -> tuple[Row, Row | None]:
    """Return the key and the row that those have who read a product; no row where it went."""
    names = [each.name for each in product.key.fields]
    key = {
        each.name: sent.key[each.name]
        if each.inner is None
        else sent.key[names[each.place]][each.name.removeprefix(f"{names[each.place]}.")]
        for each in product.key_columns
    }
    return key, None if sent.value is None else {**sent.value, **key}


class _Outbox:
    """One product: compares the documents that should stand with those that were sent."""

    def __init__(self, product: Product, max_bytes: int | None) -> None:
        self._product = product
        self._findings = Findings()
        self._builder = DocumentBuilder(product, self._findings, max_bytes)
        self._sent: dict[Key, SentDocument] = {}
        self._former: dict[Key, SentDocument] = {}
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
        roots = rows.roots(self._product.root.relation.name)
        if until_closed:
            self._ended |= {self._moment(each) for each in roots}
        decided = [each for each in roots if self._decided(each)]
        built = self._build_all(decided, rows)
        self._take_back_former({self._key_of(each) for each in roots})
        documents: list[DocumentChange] = []
        dead: list[DeadDocument] = []
        for key in sorted(built.keys() | self._sent.keys(), key=self._rank):
            document = built.get(key)
            before = self._sent.get(key, NEVER_SENT)
            sent, step = next_sent(before, document, timestamp_us)
            self._sent[key] = sent
            if step == "send":
                self._former.pop(key, None)
                value = None if document is None else document.value
                documents.append(self._emission(key, value, sent.version))
            elif step == "dead" and document is not None:
                dead.append(self._dead(key, document))
        return documents, dead

    def leave(self, roots: Iterable[Key], rows: Rows) -> None:
        """Leave documents as they were sent, so that nothing is known of them from now on.

        Args:
            roots: Their keys.
            rows: Those that are not forgotten.
        """
        for key in roots:
            self._sent.pop(key, None)
            self._former.pop(key, None)
        left = rows.roots(self._product.root.relation.name)
        self._build_all([each for each in left if self._decided(each)], rows)
        self._findings.end_batch()

    def begin_anew(self, roots: Iterable[Key]) -> None:
        """Leave documents as they were sent until what has their keys now is sent, or goes."""
        for key in roots:
            sent = self._sent.pop(key, NEVER_SENT)
            if sent.text is not None:
                self._former[key] = sent

    def _take_back_former(self, roots: set[Key]) -> None:
        """Have documents that were left go where nothing has their keys any more."""
        for key in self._former.keys() - roots:
            self._sent[key] = self._former.pop(key)

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        return self._findings.news()

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
        gone = self._product.removes_erased and has_erased(value, self._product.output)
        shown = None if gone else hidden(value, self._product.output)
        return DocumentChange(self._product.name, self._key_row(key), shown, version)

    def _dead(self, key: Key, document: Built) -> DeadDocument:
        reason = document.reason or ""
        return DeadDocument(self._product.name, self._key_row(key), reason, document.detail)

    def _key_row(self, key: Key) -> Row:
        return dict(zip(self._product.root.relation.key_names, key, strict=True))
