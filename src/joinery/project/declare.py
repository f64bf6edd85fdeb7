"""Relations and documents from Python, as values.

Each call reads its arguments as the file's reader would, so that both doors accept and
refuse the same, and lead to equal specs. Embeds are in `declare_embed.py`, products of other
forms in `declare_form.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from joinery.errors import suggesting
from joinery.project.argument import (
    Declared,
    RelationLike,
    caller,
    check_name,
    given,
    relation_name,
)
from joinery.project.declare_embed import Document, Embed, objects_of, with_embeds
from joinery.project.product import ProductSpec
from joinery.project.read import raise_all
from joinery.project.read_product import read_product
from joinery.project.reader import Reader
from joinery.project.relation import RelationSpec, read_relation
from joinery.project.tree import Entry, tree_of
from joinery.project.typing import (
    ClocksMap,
    EmitMap,
    ExpectMap,
    Fields,
    Format,
    Images,
    PersonalMap,
    Sinks,
    Solution,
    TimeUnit,
    WatermarkMap,
)


@suggesting
def relation(
    name: str,
    *,
    key: str | Sequence[str] | None = None,
    fields: Mapping[str, str] | None = None,
    product: str | Declared | None = None,
    topic: str | None = None,
    source: str | None = None,
    format: Format | None = None,
    derive: Mapping[str, str] | None = None,
    position: str | None = None,
    time_unit: TimeUnit | None = None,
    images: Images | None = None,
    unique: Sequence[Sequence[str]] | None = None,
    where: str | None = None,
    append: bool = False,
    time: str | ClocksMap | None = None,
    watermark: WatermarkMap | None = None,
    personal: PersonalMap | None = None,
) -> RelationSpec:
    """Return a relation.

    Args:
        name: Its name, and its topic unless `topic` says otherwise.
        key: The primary key's columns, in order, or the one that it has; a log of events
            may go without.
        fields: The columns and their Spark DDL types.
        product: Instead of both: the product that is read, whose columns and key it has.
        topic: The topic, or `pattern:` and a regular expression.
        source: The name of its source; by default that of `defaults`, or the only one.
        format: What a message looks like; by default that of `defaults`, else `json`.
        derive: Computed columns by name, usable wherever columns are but in `key`.
        position: The column that orders a key's changes; by default the format's position.
        time_unit: The unit of timestamps that come as numbers; by default microseconds.
        images: What `before` holds; by default `full`.
        unique: Sets of columns that identify a row.
        where: Rows for which it is not true do not exist for products.
        append: A log of events, whose rows never change.
        time: The column with an event's time, or from when a row is valid; or three clocks that
            tell it together.
        watermark: How late a row may be in event time.
        personal: The columns that are a person's own, and whose they are.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> relation("user", key=["email"], fields={"email": "string", "id": "long"}).key
        ('email',)
        >>> relation("hourly", product="hours", time="window_start").product
        'hours'
    """
    parts: dict[str, object] = {
        "topic": topic,
        "source": source,
        "format": format,
        "derive": derive,
    }
    parts |= {"position": position, "time_unit": time_unit, "images": images, "unique": unique}
    parts |= {"where": where, "append": append or None, "time": time, "watermark": watermark}
    parts["personal"] = personal
    parts["product"] = None if product is None else relation_name(product)
    return relation_of(name, {"key": key, "fields": fields, **parts})


def relation_of(name: str, parts: Mapping[str, object]) -> RelationSpec:
    """Return the relation that the parts that are not None declare.

    Raises:
        ProjectErrors: With every problem.
    """
    reader = Reader()
    check_name(name, "a relation")
    key = parts.get("key")
    told = given({**parts, "key": [key] if isinstance(key, str) else key})
    spec = read_relation(reader, Entry(name, tree_of(told)), ("relations", name))
    raise_all(tuple(reader.problems))
    return replace(spec, declared_at=caller())


@suggesting
def document(
    name: str,
    root: RelationLike,
    *,
    fields: Fields | None = None,
    values: Mapping[str, str] | None = None,
    where: str | None = None,
    embed: Mapping[str, Embed] | None = None,
    sink: Sinks | None = None,
    group: str | None = None,
    solution: Solution | None = None,
    emit: EmitMap | None = None,
    ready: Sequence[str] | None = None,
    expect: ExpectMap | None = None,
    erased: Literal["redact", "remove"] | None = None,
    personal_key: bool | None = None,
) -> Document:
    """Return a product of one document per row of `root`.

    Args:
        name: The product's name.
        root: The relation with one row per document; or a product of the same group.
        fields: What of the row is shown; None is all columns.
        values: Further fields by name, computed from fields and embeds.
        where: Only rows for which it is true have a document.
        embed: Embeds by name; `embed_one` and `embed_many` add more.
        sink: Where documents go: a kind with its options, the name of a sink, or a list.
        group: Products of one group share a query.
        solution: How join state is kept, by name or as `{name: options}`; by default
            `spark-state`.
        emit: When documents are sent; by default at the end of each batch.
        ready: Relations that must be read up to where they ended at the start before
            anything is sent.
        expect: What needs attention in `joinery status`; by default failures.
        erased: What becomes of a document with values of an erased person: shown with nulls, by
            default, or removed.
        personal_key: Says that the key of `root` is personal, and documents are known by its
            blind index.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> user = relation("user", key=["id"], fields={"id": "long"})
        >>> star = relation("star", key=["id"], fields={"id": "long", "user_id": "long"})
        >>> profile = document("profile", user).embed_many("stars", star, on={"user_id": "id"})
        >>> [each.name for each in profile.spec.root.embed]
        ['stars']
    """
    parts: dict[str, object] = {
        "root": relation_name(root),
        "fields": fields,
        "values": values,
        "where": where,
    }
    parts |= {"sink": sink, "group": group, "solution": solution, "emit": emit, "ready": ready}
    parts |= {"expect": expect, "erased": erased, "personal_key": personal_key}
    return with_embeds(Document(product_of(name, parts), objects_of(root)), embed)


def product_of(name: str, parts: Mapping[str, object]) -> ProductSpec:
    """Return the product of a name that these keys declare, as the file's reader reads them."""
    reader = Reader()
    check_name(name, "a product")
    spec = read_product(reader, Entry(name, tree_of(given(parts))), ("products", name))
    raise_all(tuple(reader.problems))
    return replace(spec, declared_at=caller())
