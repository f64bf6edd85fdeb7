"""The plan of a product that searches: one row for each stored query and document that match now.

Which names its expressions may use:
    fields              the two relations, by name: `listing.price`, `saved_search.user`
    a stored condition  the columns of `documents`, derived too, and none of `queries`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from joinery.expression.typed import Apply, Constant, Read, Typed, parts
from joinery.model.type import STRING, DataType, Field, Struct
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.project.form import SearchSpec

QUERY, DOCUMENT = "query", "document"
"""The columns of a match's key, each an object with a key's columns."""


@dataclass(frozen=True, slots=True)
class SearchForm:
    """Which stored queries match which documents.

    Attributes:
        documents: What is searched: a relation, or a product that is read as one.
        queries: The relation with a query in each row.
        query: Its column with the query, a text.
        on: Columns of a query and of a document that must be equal; a null matches nothing.
        fields: What a match shows after its key, over the rows of both.
        language: What a query is: a condition, or a query of Lucene.
        retroactive: Whether a new query finds documents that are there already.
    """

    word: ClassVar[str] = SearchSpec.word
    does: ClassVar[str] = "searches"
    documents: Relation
    queries: Relation
    query: str
    on: tuple[JoinPair, ...] = ()
    fields: tuple[Computed, ...] = ()
    language: Literal["sql", "lucene"] = "sql"
    retroactive: bool = True

    @property
    def key(self) -> Struct:
        """The key of the query and that of the document."""
        return Struct((Field(QUERY, key_of(self.queries)), Field(DOCUMENT, key_of(self.documents))))

    @property
    def nullable_key(self) -> frozenset[str]:
        """None: both are objects, whatever is in them."""
        return frozenset()

    @property
    def output(self) -> Struct:
        """The key, then the fields."""
        return Struct((*self.key.fields, *(Field(each.name, each.type) for each in self.fields)))

    @property
    def relation(self) -> Relation:
        """What is searched."""
        return self.documents

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What is searched, and the queries."""
        return (self.documents, self.queries)

    @property
    def fields_scope(self) -> dict[str, DataType]:
        """What `fields` may name."""
        return {each.name: each.row for each in self.relations}

    @property
    def read_of_queries(self) -> frozenset[str]:
        """The columns of the queries on which matches depend."""
        joined = (pair.child for pair in self.on)
        return frozenset((*self.queries.key, self.query, *joined, *self._shown_of_queries()))

    def _shown_of_queries(self) -> Iterator[str]:
        """Yield the columns of the queries that a match shows; all where that cannot be told."""
        for each in self.fields:
            typed = each.expression.typed
            columns = None if typed is None else _fields_of(typed, self.queries.name)
            known = (field.name for field in self.queries.row.fields)
            yield from known if columns is None else columns

    def invariants(self) -> Iterator[tuple[bool, str]]:
        """Yield each invariant in words, with whether it holds."""
        yield all(each.key for each in self.relations), "both relations have a key"
        yield self.queries.type_of(self.query) == STRING, "a query is a text"
        scope = self.fields_scope.keys()
        read = all(each.expression.references <= scope for each in self.fields)
        yield read, "fields read the two relations"


def key_of(relation: Relation) -> Struct:
    """Return the columns of a relation's key."""
    return Struct(tuple(Field(each, relation.type_of(each)) for each in relation.key))


def _fields_of(typed: Typed, name: str) -> list[str] | None:
    """Return the fields that are taken of an object; None where it is read whole."""
    nodes = list(parts(typed))
    taken = [each for each in nodes if isinstance(each, Apply) and each.function == "field"]
    columns = []
    for each in taken:
        match each.arguments:
            case (Read(of), Constant(column)) if of == name:
                columns.append(str(column))
    whole = sum(isinstance(each, Read) and each.name == name for each in nodes)
    return columns if whole == len(columns) else None
