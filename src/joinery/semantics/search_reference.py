"""The reference of products that search: every query tried on every document after each batch.

It is what solutions are compared with, so it is slow and plain: nothing is indexed, and a match is
sent when its text differs from what was last sent.

Where new queries do not look back (`retroactive: false`), a match is made when its document
changes, and stands until one of its two rows does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from joinery.expression.condition import build_condition
from joinery.expression.evaluate import compile_expression
from joinery.expression.order import row_key
from joinery.expression.problem import EvaluationError, ExpressionError
from joinery.model.change import DocumentChange, Key, KeyObject, Row
from joinery.model.type import DataType
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.search import DOCUMENT, QUERY, SearchForm
from joinery.semantics.document import NEVER_SENT, Built, SentDocument, judged, next_sent
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings, JoinValue, Rows, guarded, join_value
from joinery.semantics.text_parser import build_text_query
from joinery.solutions.protocol import DeadDocument

QUERY_BROKEN = "query_broken"
Match = tuple[Key, Key]
"""The key of a query, and that of a document."""
_Evaluate = Callable[[Mapping[str, Any]], Any]
_ByKey = dict[Key, Row]


class SearchReference:
    """Keeps the matches of one product.

    Args:
        product: Whose matches they are.
        form: What it searches with.
        max_bytes: Above it a match is a dead letter; None sets no bound.
    """

    def __init__(self, product: Product, form: SearchForm, max_bytes: int | None) -> None:
        self._name, self._form, self._max_bytes = product.name, form, max_bytes
        self._findings = Findings()
        self._fields = [
            (each.name, guarded(each.expression, self._findings)) for each in form.fields
        ]
        self._text = renderer(form.output)
        kinds = [_kinds(form.queries), _kinds(form.documents)]
        self._query_rank = row_key(kinds[0])
        self._rank = row_key([*kinds[0], *kinds[1]])
        self._conditions: dict[str, _Evaluate | str] = {}
        self._queries: _ByKey = {}
        self._documents: _ByKey = {}
        self._matched: set[Match] = set()
        self._sent: dict[Match, SentDocument] = {}

    def send(
        self, rows: Rows, timestamp_us: int
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives now that `rows` exist, in the order of the keys."""
        queries, documents = (
            _by_key(each, rows) for each in (self._form.queries, self._form.documents)
        )
        broken = list(self._broken(queries))
        self._matched = set(self._matches(queries, documents))
        self._queries, self._documents = queries, documents
        built = {each: self._built(each) for each in self._matched}
        sent, dead = self._compare(built, timestamp_us)
        return sent, [*broken, *dead]

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        return self._findings.news()

    # Which queries match which documents

    def _broken(self, queries: _ByKey) -> Iterator[DeadDocument]:
        """Yield a letter for each row that is new, and whose query cannot be read."""
        for key, row in sorted(queries.items(), key=lambda each: self._query_rank(each[0])):
            why = self.condition(row)
            if isinstance(why, str) and self._queries.get(key) != row:
                told = {QUERY: _key_row(self._form.queries, key), DOCUMENT: None}
                yield DeadDocument(self._name, told, QUERY_BROKEN, why)

    def condition(self, row: Row) -> _Evaluate | str | None:
        """Return a row's condition, what is wrong with it, or None where it has none."""
        text = row[self._form.query]
        if text is not None and text not in self._conditions:
            try:
                self._conditions[text] = self._read(text)
            except ExpressionError as error:
                self._conditions[text] = error.message
        return None if text is None else self._conditions[text]

    def _read(self, text: str) -> _Evaluate:
        row = self._form.documents.row
        if self._form.language == "lucene":
            return build_text_query(text, row).holds
        columns = {each.name: each.type for each in row.fields}
        return compile_expression(build_condition(text, columns))

    def _matches(self, queries: _ByKey, documents: _ByKey) -> Iterator[Match]:
        looked_at = documents if self._form.retroactive else self._changed(documents)
        if not self._form.retroactive:
            yield from self._standing(queries, documents)
        found = self._by_pairs(looked_at)
        columns = [pair.child for pair in self._form.on]
        for query, row in queries.items():
            condition = self.condition(row)
            if callable(condition):
                value = join_value(row, columns)
                for document in () if value is None else found.get(value, ()):
                    if _holds(condition, documents[document]):
                        yield query, document

    def _by_pairs(self, documents: _ByKey) -> Mapping[JoinValue, list[Key]]:
        columns = [pair.parent for pair in self._form.on]
        found: dict[JoinValue, list[Key]] = defaultdict(list)
        for key, row in documents.items():
            value = join_value(row, columns)
            if value is not None:
                found[value].append(key)
        return found

    def _changed(self, documents: _ByKey) -> _ByKey:
        return {key: row for key, row in documents.items() if self._documents.get(key) != row}

    def _standing(self, queries: _ByKey, documents: _ByKey) -> Iterator[Match]:
        """Yield the matches of which neither the document nor what is read of the query changed."""
        for query, document in self._matched:
            same = self._read_of(queries.get(query)) == self._read_of(self._queries[query])
            if same and documents.get(document) == self._documents[document]:
                yield query, document

    def _read_of(self, query: Row | None) -> Row | None:
        read = self._form.read_of_queries
        return None if query is None else {name: query[name] for name in read}

    # What a match is sent as

    def _built(self, match: Match) -> Built:
        form, (query, document) = self._form, match
        rows = {
            form.queries.name: self._queries[query],
            form.documents.name: self._documents[document],
        }
        value: dict[str, Any] = self._key_row(match)
        value |= {name: evaluate(rows) for name, evaluate in self._fields}
        return judged(self._text(value), value, max_bytes=self._max_bytes)

    def _compare(
        self, built: Mapping[Match, Built], timestamp_us: int
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        documents: list[DocumentChange] = []
        dead: list[DeadDocument] = []
        for match in sorted(
            {*built, *self._sent}, key=lambda each: self._rank([*each[0], *each[1]])
        ):
            document = built.get(match)
            sent, step = next_sent(self._sent.get(match, NEVER_SENT), document, timestamp_us)
            self._sent[match] = sent
            key = self._key_row(match)
            if step == "send":
                value = None if document is None else document.value
                documents.append(DocumentChange(self._name, key, value, sent.version))
            elif step == "dead" and document is not None:
                dead.append(DeadDocument(self._name, key, document.reason or "", document.detail))
        return documents, dead

    def _key_row(self, match: Match) -> dict[str, Any]:
        query, document = match
        return {
            QUERY: _key_row(self._form.queries, query),
            DOCUMENT: _key_row(self._form.documents, document),
        }


def _holds(condition: _Evaluate, row: Row) -> bool:
    """Return whether a condition is true of a row; one that fails is not."""
    try:
        return condition(row) is True
    except EvaluationError:
        return False


def _by_key(relation: Relation, rows: Rows) -> _ByKey:
    return {tuple(row[column] for column in relation.key): row for row in rows.of(relation.name)}


def _key_row(relation: Relation, key: Iterable[Any]) -> KeyObject:
    return KeyObject(zip(relation.key, key, strict=True))


def _kinds(relation: Relation) -> list[tuple[DataType, bool]]:
    return [(relation.type_of(name), False) for name in relation.key]
