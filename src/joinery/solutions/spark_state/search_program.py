"""The node of a kernel program that matches stored queries with documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from joinery.solutions.spark_state.assembler import Address


@dataclass(frozen=True, slots=True)
class SearchedUse:
    """The row is a document that is searched."""

    target: int
    use: Literal["searched"] = "searched"


@dataclass(frozen=True, slots=True)
class QueryUse:
    """The row, assembled, is a stored query."""

    target: int
    assembler: int
    use: Literal["query"] = "query"


@dataclass(frozen=True, slots=True)
class Search:
    """Remembers queries, documents and what matches; sends the assembled object of each match.

    Attributes:
        documents: The relation that is searched.
        queries: The relation of the queries.
        stored: The assembler, over a row of the queries, of what is kept of it.
        text: Where the query is in what is kept.
        query_on: The columns of what is kept that a document must have, too.
        document_on: Those of the document.
        language: What a query is written in.
        functions: What conditions may call.
        retroactive: Whether documents are kept.
        assembler: The object of a match, over the two rows.
        buckets: How many addresses the documents are shared among; each has all queries.
        raw: Whether documents come as changes, which it applies itself; else None.
    """

    name: str
    level: int
    documents: int
    queries: int
    stored: int
    text: int
    query_on: Address
    document_on: Address
    language: Literal["sql", "lucene"]
    functions: tuple[str, ...]
    most_characters: int
    retroactive: bool
    assembler: int
    product: int
    buckets: int
    raw: bool | None = None
    kind: Literal["search"] = "search"
