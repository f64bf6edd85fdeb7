"""Products that are not documents, from Python: outboxes, groups, searches, histories.

Folds are in `declare_fold.py` and patterns in `declare_pattern.py`, with what builds them step by
step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from joinery.errors import suggesting
from joinery.project.argument import RelationLike, given, relation_name
from joinery.project.declare import product_of
from joinery.project.declare_embed import Document, objects_of
from joinery.project.typing import (
    Columns,
    EmitMap,
    ExpectMap,
    Fields,
    Sinks,
    Solution,
    WindowMap,
)


@suggesting
def outbox(
    name: str,
    relation: RelationLike,
    *,
    sink: Sinks,
    key: str | None = None,
    value: str | None = None,
    headers: Mapping[str, str] | None = None,
    expect: ExpectMap | None = None,
) -> Document:
    """Return a product that sends the inserted rows of `relation` as events.

    Args:
        name: The product's name.
        relation: The outbox.
        sink: `{"kafka": {"topic": "outbox.event.{aggregatetype}"}}`, columns in braces.
        key: The column with the event's key; by default `aggregateid`.
        value: The column with the event itself; by default `payload`.
        headers: Kafka headers and the columns that they are taken from.
        expect: As for `jn.document`.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> made = outbox("events", "outbox", sink={"kafka": {"topic": "{type}"}}, key="id")
        >>> made.spec.form.key
        'id'
    """
    parts = {"relation": relation_name(relation), "key": key, "value": value, "headers": headers}
    spec = product_of(name, {"outbox": given(parts), "sink": sink, "expect": expect})
    return Document(spec, objects_of(relation))


@suggesting
def aggregate(
    name: str,
    relation: RelationLike,
    *,
    by: Fields | None = None,
    window: WindowMap | str | None = None,
    where: str | None = None,
    values: Mapping[str, str] | None = None,
    emit: EmitMap | None = None,
    sink: Sinks | None = None,
    group: str | None = None,
    solution: Solution | None = None,
    ready: Sequence[str] | None = None,
    expect: ExpectMap | None = None,
) -> Document:
    """Return a product of one row per group of `relation`'s rows.

    Args:
        name: The product's name.
        relation: The relation whose rows are put into groups; or a product of the same group.
        by: What they are grouped by; None is one group.
        window: Such as `{"tumbling": "1h"}`, or the name of one of the project.
        where: Only rows for which it is true are in a group.
        values: What a group shows, by name: expressions over aggregates of its rows.
        emit: When groups are sent, and what late rows do.
        sink: As for `jn.document`.
        group: Products of one group share a query.
        solution: As for `jn.document`.
        ready: As for `jn.document`.
        expect: As for `jn.document`.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> hours = aggregate("hours", "view", by=["page"], window={"tumbling": "1h"})
        >>> hours.spec.form.window.size.count
        3600000000
    """
    parts: dict[str, object] = {"aggregate": relation_name(relation), "by": by, "window": window}
    parts |= {"where": where, "values": values, "emit": emit, "sink": sink}
    parts |= {"group": group, "solution": solution, "ready": ready, "expect": expect}
    return Document(product_of(name, parts), objects_of(relation))


@suggesting
def search(
    name: str,
    documents: RelationLike,
    *,
    queries: RelationLike,
    query: str,
    on: Columns | None = None,
    language: Literal["sql", "lucene"] | None = None,
    retroactive: bool | None = None,
    fields: Fields | None = None,
    sink: Sinks | None = None,
    group: str | None = None,
    solution: Solution | None = None,
    emit: EmitMap | None = None,
    ready: Sequence[str] | None = None,
    expect: ExpectMap | None = None,
) -> Document:
    """Return a product of one row for each stored query and document that match now.

    Args:
        name: The product's name.
        documents: What is searched: a relation, or a product of the same group.
        queries: The relation with a stored query in each row.
        query: Its column with the query.
        on: Column of a query to column of a document, which must be equal; a list where the
            names agree.
        language: `sql`, a condition over the columns of a document, or `lucene`.
        retroactive: Whether a new query finds the documents that are there already; it does by
            default.
        fields: What a match shows after the keys of the two: expressions over both rows, such
            as `{"price": "listing.price"}`.
        sink: As for `jn.document`.
        group: Products of one group share a query.
        solution: As for `jn.document`.
        emit: As for `jn.document`.
        ready: As for `jn.document`.
        expect: As for `jn.document`.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> hits = search("hits", "listing", queries="saved_search", query="condition")
        >>> hits.spec.form.query
        'condition'
    """
    parts: dict[str, object] = {
        "search": relation_name(documents),
        "queries": relation_name(queries),
    }
    parts |= {"query": query, "on": on, "language": language, "retroactive": retroactive}
    parts |= {"fields": fields, "sink": sink, "group": group, "solution": solution}
    parts |= {"emit": emit, "ready": ready, "expect": expect}
    return Document(product_of(name, parts), (*objects_of(documents), *objects_of(queries)))


@suggesting
def history(
    name: str,
    relation: RelationLike,
    *,
    valid: str,
    track: Sequence[str] | None = None,
    known_at: str | Literal[True] | None = None,
    emit: EmitMap | None = None,
    sink: Sinks | None = None,
    group: str | None = None,
    solution: Solution | None = None,
    ready: Sequence[str] | None = None,
    expect: ExpectMap | None = None,
) -> Document:
    """Return a product of one row per version: a slowly changing dimension of type 2.

    Args:
        name: The product's name.
        relation: The relation whose rows' versions are kept.
        valid: The column with the time from which a version is valid.
        track: The columns in which versions differ; None is all but the key and `valid`.
        known_at: The column with the time at which a change became known, or True for the time at
            which its log took it: rows then tell from when until when they were known.
        emit: When versions are sent; `settle` alone.
        sink: As for `jn.document`.
        group: Products of one group share a query.
        solution: As for `jn.document`.
        ready: As for `jn.document`.
        expect: As for `jn.document`.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> history("tiers", "customer", valid="changed_at", track=["tier"]).spec.form.valid
        'changed_at'
    """
    parts: dict[str, object] = {"history": relation_name(relation), "valid": valid, "track": track}
    parts |= {"known_at": known_at, "expect": expect}
    parts |= {"emit": emit, "sink": sink, "group": group, "solution": solution, "ready": ready}
    return Document(product_of(name, parts), objects_of(relation))
