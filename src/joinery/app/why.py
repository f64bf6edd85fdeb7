"""Why a document looks as it does, for Python."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.app.document_product import asked_product, document_product
from joinery.app.logs import About, Logs, WhyError, asked_key
from joinery.app.project import ProjectLike, project_of
from joinery.delivery.query_paths import QueryPaths
from joinery.model.change import Key
from joinery.observe.frontier import Frontier, kept
from joinery.observe.outline import queries_of
from joinery.plan.build import examine
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Relation
from joinery.plan.search import SearchForm
from joinery.project.product import ProjectSpec
from joinery.project.read import raise_all
from joinery.provenance.answer import Answering, Why
from joinery.provenance.document_log import DocumentLog
from joinery.provenance.live_rows import LiveRows
from joinery.provenance.match_log import MatchLog
from joinery.provenance.roots import Reach, reach_of
from joinery.provenance.row_answer import RowAnswering
from joinery.provenance.row_log import RowLog, ToldRow
from joinery.provenance.row_maker import RowForm
from joinery.provenance.sought import Search, Sought, can_seek
from joinery.provenance.told import is_part_of_key, keys_meant

if TYPE_CHECKING:
    from joinery.spark.source.door_process import DoorProcess

RECORDS = 1_000_000
"""How many records of a topic are read."""


def why(
    project: ProjectLike,
    product: str,
    key: object,
    *,
    absent: str | None = None,
    at: str | int | datetime = "",
    batch: int | None = None,
    records: int = RECORDS,
    process: DoorProcess | None = None,
) -> Why:
    """Return why a document looks as it does: its rows, and what altered it last.

    It reads the product's logs from their beginning and makes the document again, as far as they
    tell of it; so it needs no run, and disturbs none.

    Args:
        project: The project, its file, or a folder of them; or an app.
        product: One with a `root`, or an `aggregate`, a `fold`, a `history`, a `pattern` or a
            `search`.
        key: The document's: one column's value, or the values of several as a list or a tuple, or
            by column, or their texts with commas.
        absent: `RELATION:KEY`, to be told why that row is not in the document.
        at: How the document was then: a time, also in ISO 8601, at which files were written, or
            Kafka took records; or a position of the database, where positions order the logs.
        batch: How the document was after this batch of its run, one of the last hundred or so,
            of which the checkpoint knows how far they came; None for all that the logs tell.
        records: How many records of a topic are read at most.
        process: That was started before, so that nobody waits for it.

    Raises:
        ProjectErrors: The file has problems.
        WhyError: The product is of another form, or its logs cannot be read; or there is no such
            key or relation; or the checkpoint does not know the batch.
        RunError: Java is missing, or the files cannot be read.
    """
    spec = project_of(project).spec
    plan = asked_product(spec, product)
    form = plan.form
    if not isinstance(form, DocumentForm | RowForm | SearchForm):
        raise WhyError(f'why does not cover product "{product}" yet, which {form.does}')
    if absent is not None and not isinstance(form, DocumentForm):
        raise WhyError("--not covers documents only: it says which embed leaves a row out")
    frontier = None if batch is None else _after(spec, product, batch)
    keyed = plan.root.relation.name if isinstance(form, DocumentForm) else product
    text = asked_key(keyed, {each.name: each.type for each in plan.key.fields}, key)
    if not isinstance(form, DocumentForm):
        logs = Logs.of(spec, plan, records=records, at=str(at), frontier=frontier)
        told = (
            _told_match(spec, plan, form, logs, text)
            if isinstance(form, SearchForm)
            else _told_row(spec, plan, form, logs, text)
        )
        row = RowAnswering(plan, told, logs.naming).answer(
            ordered=logs.ordered, read=logs.read, left=logs.left, gone=logs.gone
        )
        return replace(row, ignored=logs.ignored)
    _refuse_part(plan.root.relation, text)
    asked = None if absent is None else _asked(plan, absent)
    root, beside = keys_meant(plan.root.relation, text), keys_meant(*asked) if asked else []
    about = None
    if can_seek(plan) and root is not None and beside is not None:
        rows = [(asked[0], each) for each in beside] if asked else []
        about = About(partial(_about, plan, root, rows), plan.root.relation)
    logs = Logs.of(
        spec,
        plan,
        records=records,
        at=str(at),
        frontier=frontier,
        about=about,
        process=process,
    )
    log = DocumentLog(
        plan,
        logs.key(plan.root.relation, text),
        max_document_bytes=spec.run.max_document_bytes,
    )
    log.tell(logs.changes)
    found = Answering(plan, log, logs.naming).answer(
        asked,
        ordered=logs.ordered,
        read=logs.read,
        left=logs.left,
        gone=logs.gone,
    )
    return replace(found, ignored=logs.ignored)


def _about(
    product: Product, root: Sequence[Key], rows: Sequence[tuple[Relation, Key]], search: Search
) -> Collection[int]:
    """Return the changes that a document depends on.

    Args:
        product: The document's.
        root: The keys that may be meant.
        rows: Those that are asked for beside it.
        search: Finds them among all that was read.
    """
    sought = Sought(product, search)
    for key in root:
        sought.document(key)
    if not sought.found:
        return ()
    for relation, key in rows:
        sought.row(relation, key)
    return sought.found


def _above(
    products: Sequence[Product], relation: str, keys: Sequence[Key], search: Search
) -> Collection[int]:
    """Return the changes that tell which documents some rows go into."""
    found = set[int]()
    for product in products:
        sought = Sought(product, search)
        for each in keys:
            sought.roots(next(one for one in product.relations if one.name == relation), each)
        found |= sought.found
    return found


def _told_row(spec: ProjectSpec, product: Product, form: RowForm, logs: Logs, text: str) -> ToldRow:
    """Return what the logs tell of a row of a product without a root."""
    log = RowLog(product, form, max_document_bytes=spec.run.max_document_bytes)
    told = log.tell(logs.changes, text)
    if told is None:
        columns = ", ".join(each.name for each in product.key.fields) or "[], without columns"
        raise WhyError(
            f'no record of {form.relation.name} leads to a row "{text}" of {product.name}',
            detail=" ".join(logs.unread(form.relation)),
            hint=f"Its key is {columns}{_keys_like(log)}.",
        )
    return told


def _told_match(
    spec: ProjectSpec, product: Product, form: SearchForm, logs: Logs, text: str
) -> ToldRow:
    """Return what the logs tell of a stored query and a document."""
    most = spec.run.max_document_bytes
    log = MatchLog(product, form, logs.naming, max_document_bytes=most)
    told = log.tell(logs.changes, text)
    if log.several:
        raise WhyError(
            f'"{text}" names {len(log.several)} pairs of a row of {form.queries.name} and one of'
            f" {form.documents.name}: {', '.join(log.several[:3])}",
            hint=f"Write one as a JSON array: '{log.several[0]}'.",
        )
    if told is None:
        told_of = (line for each in form.relations for line in logs.unread(each))
        known = f", such as {log.known[0]}" if log.known else ""
        raise WhyError(
            f'"{text}" does not name a row of {form.queries.name} and one of {form.documents.name}',
            detail=" ".join(dict.fromkeys(told_of)),
            hint=f"Write the key of the query, a comma, and that of the document{known}.",
        )
    return told


def _keys_like(log: RowLog) -> str:
    """Return what keys of a product look like: those of the group that was asked for, or groups."""
    if log.near:
        return f"; its group has {', '.join(log.near)}"
    verb = "begin with" if log.begins else "look like"
    return f"; keys {verb} {', '.join(log.known)}" if log.known and log.known != ["[]"] else ""


def where_to(
    project: ProjectLike,
    row: str,
    *products: str,
    records: int = RECORDS,
    process: DoorProcess | None = None,
) -> list[Reach]:
    """Return the documents that a row goes into, by the embeds by which it does.

    Args:
        project: The project, its file, or a folder of them; or an app.
        row: `RELATION:KEY`.
        products: Only these; without any, all whose documents read the relation.
        records: How many records of a topic are read at most.
        process: That was started before, so that nobody waits for it.

    Raises:
        ProjectErrors: The file has problems.
        WhyError: There is no such row, or nothing reads its relation.
        RunError: Java is missing, or the files cannot be read.
    """
    spec = project_of(project).spec
    relation = row.partition(":")[0]
    known = _with_documents(spec, products)
    reading = [document_product(spec, each) for each in known if relation in known[each]]
    if not reading:
        read = ", ".join(sorted(set().union(*known.values())))
        hint = f"They read {read}." if read else "The project has no product with documents."
        raise WhyError(f'no document reads a relation "{relation}"', hint=hint)
    relations = tuple(dict.fromkeys(one for each in reading for one in each.relations))
    of, key = _asked(reading[0], row)
    meant = keys_meant(of, key)
    seeks = meant is not None and all(map(can_seek, reading))
    about = About(partial(_above, reading, relation, meant or ()), of) if seeks else None
    logs = Logs.of(spec, *reading, records=records, about=about, process=process)
    rows = LiveRows(relations)
    for change in logs.changes:
        rows.apply(change)
    standing = rows.known(relation, logs.key(of, key))
    if standing is None or standing.seen is None:
        raise WhyError(f"the row {row} is gone, or a where leaves it out")
    return [
        replace(one, left=logs.left, gone=logs.gone)
        for each in reading
        for one in reach_of(each, relation, standing.seen, rows)
    ]


def _after(spec: ProjectSpec, product: str, batch: int) -> Frontier:
    """Return how far the query of a product had come after a batch."""
    from joinery.spark.recovery.mark import marked

    root = spec.checkpoint
    checkpoint = QueryPaths.of(root, queries_of(spec)[product]).checkpoint
    known = kept(checkpoint)
    if batch in known:
        return Frontier.read(checkpoint, batch)
    folder = marked(checkpoint, batch) if isinstance(checkpoint, Path) else None
    if folder is None:
        which = f"It knows {known[0]} to {known[-1]}." if known else "It has none."
        raise WhyError(
            f'the checkpoint of product "{product}" does not know how far batch {batch} got',
            detail=which,
            hint="Use --at with a time, a position or a record.",
        )
    return Frontier.read(checkpoint, batch, folder)


def _asked(product: Product, row: str) -> tuple[Relation, str]:
    """Return the relation and the key that `RELATION:KEY` names."""
    name, _, key = row.partition(":")
    known = {each.name: each for each in product.relations}
    if name not in known:
        raise WhyError(
            f'"{row}" is not a row that product "{product.name}" reads',
            hint=f"Write RELATION:KEY, with one of {', '.join(known)}.",
        )
    if not key:
        raise WhyError(f'"{row}" has no key', hint=f"Write {name}:KEY.")
    _refuse_part(known[name], key)
    return known[name], key


def _refuse_part(relation: Relation, text: str) -> None:
    """Refuse a text with too few values for the key of a relation."""
    if is_part_of_key(relation, text):
        columns = relation.key
        raise WhyError(
            f'"{text}" is only a part of a key of {relation.name}',
            detail=f"Its key is {', '.join(columns)}.",
            hint=f"Write the values of all {len(columns)} columns, with commas or as a JSON array.",
        )


def _with_documents(spec: ProjectSpec, names: Sequence[str]) -> dict[str, set[str]]:
    """Return by name the relations that products read: those named, else all of relations alone."""
    found = [document_product(spec, each) for each in names] or _of_relations_alone(spec)
    return {each.name: {one.name for one in each.relations} for each in found}


def _of_relations_alone(spec: ProjectSpec) -> list[Product]:
    plan, problems, _ = examine(spec)
    raise_all(problems)
    assert plan is not None
    documents = (each for each in plan.products if isinstance(each.form, DocumentForm))
    return [each for each in documents if not each.reads]
