"""One stored query and one document while the log is told: whether they match, and what altered it.

Invariant: the match after each record is what the reference makes of the two rows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import Any

from joinery.expression.condition import build_condition
from joinery.expression.problem import EvaluationError
from joinery.model.change import Change, Key, KeyObject
from joinery.model.type import Struct
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.search import DOCUMENT, QUERY, SearchForm
from joinery.provenance.absence import unseen
from joinery.provenance.grouping import SHOWN, records
from joinery.provenance.live_rows import LiveRows, Record
from joinery.provenance.row_log import Following, ToldRow
from joinery.provenance.row_maker import RowPart, Sending
from joinery.provenance.told import Naming, json_values, keys_named
from joinery.semantics.render import map_key_text
from joinery.semantics.rows import Rows, join_value
from joinery.semantics.search_reference import SearchReference

_DECODE = json.JSONDecoder(parse_float=Decimal).decode


class MatchLog:
    """Follows one query and one document of a product that searches.

    Args:
        product: It searches.
        form: Its form.
        naming: How rows and places are told.
        max_document_bytes: Above it a match is a dead letter.

    Attributes:
        known: Some keys, for those who name none.
        several: The keys that the text named, where it named more than one.
    """

    def __init__(
        self,
        product: Product,
        form: SearchForm,
        naming: Naming,
        *,
        max_document_bytes: int | None,
    ) -> None:
        self._product, self._form, self._naming = product, form, naming
        self._most = max_document_bytes
        self.known: Sequence[str] = ()
        self.several: Sequence[str] = ()

    def tell(self, changes: Sequence[Change], text: str) -> ToldRow | None:
        """Return what the logs tell of the match that a text names.

        Args:
            changes: Of both relations.
            text: The key of the query, a comma, and that of the document; or the values of both
                as a JSON array, or the key of the match as it is sent.

        Returns:
            None where the logs do not tell of both, or the text names several.
        """
        pairs = self._named(changes, text)
        if len(pairs) != 1:
            self.several = [_pair_text(self._product, *each) for each in pairs]
            return None
        ((query, document),) = pairs
        rows = {self._form.queries.name: query, self._form.documents.name: document}
        reference = SearchReference(self._product, self._form, self._most)
        maker = _MatchMaker(reference, self._form, self._naming, query, document)
        named = map_key_text(maker.key, [each.type for each in self._product.key.fields])
        follow = Following(maker, self._product, named)
        for record in records(changes):
            own = [each for each in record if rows.get(each.relation) == _key(each)]
            if own:
                maker.apply(own)
                follow.take(own[-1])
        told = follow.told(0) or ToldRow(maker.key, None, "", (), (), 0, 0, None)
        there = told.text is not None or bool(told.refused)
        notes = () if there else tuple(maker.against())
        return replace(told, parts=tuple(maker.parts(maker.key)), notes=notes)

    def _named(self, changes: Sequence[Change], text: str) -> list[tuple[Key, Key]]:
        """Return the keys of the query and the document that a text names.

        Commas in their values may have it name several.
        """
        form = self._form
        keys: dict[str, dict[Key, None]] = {each.name: {} for each in form.relations}
        for change in changes:
            keys[change.relation][_key(change)] = None
        queries, documents = keys[form.queries.name], keys[form.documents.name]
        self.known = [
            ",".join([*_texts(form.queries, query), *_texts(form.documents, document)])
            for query, document in islice(zip(queries, documents, strict=False), SHOWN)
        ]
        values = _values(form, text)
        if values is not None:
            count = len(form.queries.key)
            query = _valued(form.queries, queries, values[:count])
            document = _valued(form.documents, documents, values[count:])
            return [] if query is None or document is None else [(query, document)]
        begins = {
            each: "".join(f"{part}," for part in _texts(form.queries, each)) for each in queries
        }
        return [
            (query, document)
            for query, begin in begins.items()
            if text.startswith(begin)
            for document in keys_named(form.documents, documents, text[len(begin) :])
        ]


class _MatchMaker:
    """Makes the match of one query and one document."""

    def __init__(
        self,
        reference: SearchReference,
        form: SearchForm,
        naming: Naming,
        query: Key,
        document: Key,
    ) -> None:
        self._reference, self._form, self._naming = reference, form, naming
        self._keys = {form.queries.name: query, form.documents.name: document}
        self._rows = LiveRows(form.relations)
        self._by: dict[str, Change] = {}
        self.key: Key = (
            KeyObject(zip(form.queries.key, query, strict=True)),
            KeyObject(zip(form.documents.key, document, strict=True)),
        )

    def apply(self, record: Sequence[Change]) -> Mapping[str, int]:
        """Apply a record of either row."""
        for each in record:
            self._rows.apply(each)
            known = self._rows.known(each.relation, self._keys[each.relation])
            if known is not None and known.by == Record.of(each):
                self._by[each.relation] = each
        return {}

    def hear(self, change: Change) -> None:
        """Nothing of other rows has a part in the match."""

    def send(self) -> Sending:
        """Return what the sink receives now, and the dead letters."""
        seen = {name: self._rows.row(name, key) for name, key in self._keys.items()}
        rows = {name: [] if row is None else [row] for name, row in seen.items()}
        return self._reference.send(Rows(rows), 0)

    def parts(self, key: Key) -> Iterator[RowPart]:
        """Yield the query and the document, where they stand."""
        for role, relation in ((QUERY, self._form.queries), (DOCUMENT, self._form.documents)):
            if self._rows.row(relation.name, self._keys[relation.name]) is not None:
                yield RowPart(role, self._by[relation.name])

    def notes(self, key: Key) -> Iterator[str]:
        """Yield nothing: a match is all there is."""
        yield from ()

    def against(self) -> Iterator[str]:
        """Yield why the two do not match."""
        form = self._form
        unmet = [
            unseen(self._rows, self._naming, each, self._keys[each.name])
            for each in (form.queries, form.documents)
            if self._rows.row(each.name, self._keys[each.name]) is None
        ]
        yield from unmet or [self._unmatched()]

    def _unmatched(self) -> str:
        """Return why two rows that are there do not match."""
        form, naming = self._form, self._naming
        query, document = (
            self._rows.row(each.name, self._keys[each.name])
            for each in (form.queries, form.documents)
        )
        assert query is not None
        assert document is not None
        names = [naming.row(each, self._keys[each.name]) for each in (form.queries, form.documents)]
        children = [each.child for each in form.on]
        parents = [each.parent for each in form.on]
        wanted = join_value(query, children)
        if wanted is None or wanted != join_value(document, parents):
            own = naming.pairs(form.queries, query, children)
            other = naming.pairs(form.documents, document, parents)
            null = ", and null matches nothing" if wanted is None else ""
            return f"{names[0]} has {own}, and {names[1]} has {other}{null}"
        text, condition = query[form.query], self._reference.condition(query)
        if condition is None:
            return f"{names[0]} has no query: {form.query} = null"
        if isinstance(condition, str):
            return f"the query of {names[0]}, `{text}`, cannot be read: {condition}"
        about = f"the query of {names[0]}, `{text}`,"
        try:
            if condition(document) is True:  # Of two rows alone, so here queries look ahead only.
                return (
                    f"{about} is true of {names[1]}, but retroactive: false finds only what changes"
                    " after the query, or in the same batch; the logs do not say which that was"
                )
        except EvaluationError as error:
            return f"{about} cannot be evaluated for {names[1]}: {error}"
        if form.language == "lucene":
            return f"{about} does not match {names[1]}"
        columns = {each.name: each.type for each in form.documents.row.fields}
        asked = naming.columns(form.documents, document, build_condition(text, columns).references)
        return f"{about} is not true of {names[1]}{f' with {asked}' if asked else ''}"


def _key(change: Change) -> Key:
    return tuple(change.key.values())


def _pair_text(product: Product, query: Key, document: Key) -> str:
    """Return the values of both keys as a JSON array."""
    parts = (each.type for each in product.key.fields)
    types = [one.type for each in parts if isinstance(each, Struct) for one in each.fields]
    return map_key_text((*query, *document), types)


def _texts(relation: Relation, key: Key) -> list[str]:
    """Return the texts of a key's values."""
    typed = zip(key, relation.key, strict=True)
    return [map_key_text([value], [relation.type_of(column)]) for value, column in typed]


def _values(form: SearchForm, text: str) -> list[Any] | None:
    """Return the values of both keys, where a text is JSON that may name them."""
    try:
        told = _DECODE(text)
    except ValueError:
        return None
    if isinstance(told, list) and len(told) == 2 and all(isinstance(e, dict) for e in told):
        told = dict(zip((QUERY, DOCUMENT), told, strict=True))
    if isinstance(told, dict):
        parts = ((QUERY, form.queries), (DOCUMENT, form.documents))
        objects = [(told.get(name), relation) for name, relation in parts]
        return [
            one.get(column) if isinstance(one, dict) else None
            for one, relation in objects
            for column in relation.key
        ]
    return told if isinstance(told, list) else None


def _valued(relation: Relation, keys: Collection[Key], values: Sequence[Any]) -> Key | None:
    """Return the key that has some values, as JSON has them."""
    types = [relation.type_of(column) for column in relation.key]
    return next((key for key in keys if json_values(key, types) == values), None)
