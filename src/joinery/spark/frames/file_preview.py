"""What a product or a stream makes of its logs, on the reference solution: no Spark.

All that is read is one batch: the documents that would stand, or the events that would be
sent. Nothing of the project's own is written.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from joinery.errors import SpecError
from joinery.model.change import Change, DocumentChange
from joinery.model.warning import RunWarning
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.stream import Stream
from joinery.project.product import ProjectSpec
from joinery.project.source_warning import source_warnings
from joinery.provenance.told import Naming, file_names
from joinery.semantics.reference import ReferenceSolution
from joinery.semantics.stream_reference import StreamReference
from joinery.solutions.protocol import DeadDocument, Emissions
from joinery.solutions.spark_state.decoded import as_decoded, told_by_deletes
from joinery.spark.source.file_feed import FileChanges, read_files
from joinery.spark.source.log_order import in_written_order, unreadable
from joinery.spark.source.warning import column_warnings, declared_columns

MOST = 50_000


class PreviewError(SpecError):
    """A product or a stream cannot be shown without a run."""

    code = "SPEC_PREVIEW"


@dataclass(frozen=True, slots=True)
class FilePreview:
    """What came of the change files.

    Attributes:
        documents: Or events, in the order of their keys, or in which they were sent.
        records: What was read, with the records that became dead letters.
        dead: Documents or events that became dead letters.
        counters: Of the reference: `applied`, `stale`, `lookup_misses` and others.
        waiting: How many events wait for a row, or for the table's watermark.
        filtered: How many events a filter, or the relation's `where`, kept out.
        missing: The folders of topics that are not there.
        warnings: What a run would warn of in the folders and the columns that are read.
        stores: Tables that a run would ask a store for; here their change files are read.
        seconds: How long it took.
    """

    documents: Sequence[DocumentChange]
    records: FileChanges
    dead: Sequence[DeadDocument]
    counters: Mapping[str, int]
    waiting: int = 0
    filtered: int = 0
    missing: tuple[Path, ...] = field(default=())
    warnings: tuple[RunWarning, ...] = ()
    stores: tuple[str, ...] = ()
    seconds: float = 0.0


def preview_files(
    spec: ProjectSpec,
    plan: Product | Stream,
    *,
    most: int = MOST,
    until_closed: bool = False,
    as_of: str = "",
) -> FilePreview:
    """Return what a product or a stream makes of its logs.

    Args:
        spec: The project, whose sources name the folders.
        plan: Of the product or stream; its expressions are portable.
        most: How many records of a topic are read, the first ones.
        until_closed: Whether all logs end with them, so that no window stays open.
        as_of: Only what was written up to then, a moment as `in_written_order` takes it; empty
            for all.

    Raises:
        PreviewError: A log cannot be read without a run.
        MomentError: `as_of` is not a moment of the logs.
        RunError: Java is missing, or the records cannot be read.
    """
    started_at = time.monotonic()
    relations = _readable(spec, plan)
    decoded, told = as_decoded(spec, relations, plan), told_by_deletes([plan])
    records = read_files(spec, decoded, most=most, told=told)
    if as_of:
        _, written = in_written_order(spec, relations, records, as_of)
        records = replace(records, changes=written)
    time_us = time.time_ns() // 1000
    if isinstance(plan, Product):
        most_bytes = spec.run.max_document_bytes
        solution = ReferenceSolution(plan, max_document_bytes=most_bytes, sealed=True)
        emitted = solution.apply(records.changes, time_us)
        found = FilePreview(emitted.documents, records, emitted.dead_letters, emitted.counters)
        if until_closed:
            found = _ended(found, solution.until_closed(time_us + 1))
    else:
        found = _streamed(plan, records, time_us)
    return replace(
        found,
        missing=_missing(spec, relations),
        warnings=tuple(_warnings(spec, relations, records)),
        seconds=time.monotonic() - started_at,
    )


def _ended(found: FilePreview, emitted: Emissions) -> FilePreview:
    """Return a preview with what the end of all logs sends."""
    newest = {tuple(each.key.values()): each for each in (*found.documents, *emitted.documents)}
    stand = tuple(each for each in newest.values() if each.value is not None)
    counters = Counter(found.counters) + Counter(emitted.counters)
    dead = (*found.dead, *emitted.dead_letters)
    return replace(found, documents=stand, dead=dead, counters=counters)


def previewable(spec: ProjectSpec, stream: Stream) -> bool:
    """Return whether `preview_files` shows what a run would: it reads change files alone."""
    try:
        _readable(spec, stream)
    except PreviewError:
        return False
    return not stream.stored_tables


def _readable(spec: ProjectSpec, plan: Product | Stream) -> tuple[Relation, ...]:
    """Return the relations that are read; those of stores too, where a source has them."""
    stores = () if isinstance(plan, Product) else plan.stored_tables
    relations = tuple(dict.fromkeys((*plan.relations, *stores)))
    for each in relations:
        if reason := unreadable(spec, each):
            raise PreviewError(
                f'a preview cannot read relation "{each.name}", which {reason}',
                hint="Run it: joinery run --once; or give rows by hand: joinery test.",
            )
    return relations


def _missing(spec: ProjectSpec, relations: Sequence[Relation]) -> tuple[Path, ...]:
    paths = {each.name: dict(each.options).get("path") for each in spec.sources}
    listed = [(paths[each.source], each.topic) for each in relations]
    folders = (spec.path_of(str(path)) / topic for path, topic in listed if path is not None)
    return tuple(each for each in dict.fromkeys(folders) if not each.is_dir())


def _warnings(
    spec: ProjectSpec, relations: Sequence[Relation], records: FileChanges
) -> Iterator[RunWarning]:
    yield from source_warnings(spec, [each.name for each in relations])
    declared = declared_columns(spec)
    for name, counts in records.columns.items():
        yield from column_warnings(name, counts, declared=declared[name], first=True)


def _streamed(stream: Stream, records: FileChanges, time_us: int) -> FilePreview:
    named = {each.name: each.topic for each in stream.named_relations}
    naming = Naming(named, file_names(records.files))
    solution = StreamReference(stream, sealed=True, place_of=naming.place)
    emitted = solution.apply(records.changes, time_us)
    waiting = solution.waiting
    return FilePreview(
        emitted.documents,
        records,
        emitted.dead_letters,
        emitted.counters,
        waiting,
        _filtered(stream, records.changes, emitted, waiting),
        stores=tuple(dict.fromkeys(each.name for each in stream.stored_tables)),
    )


def _filtered(stream: Stream, changes: Sequence[Change], emitted: Emissions, waiting: int) -> int:
    """Return how many events a filter kept out: in the first batch, all that went nowhere else."""
    logs = _logs(stream)
    arrived = sum(logs.count(each.relation) for each in changes if each.after is not None)
    counted = sum(emitted.counters.get(each, 0) for each in ("superseded", "events_dropped"))
    return arrived - counted - waiting - len(emitted.documents) - len(emitted.dead_letters)


def _logs(stream: Stream) -> list[str]:
    """Return the relations whose events arrive, one that two branches read twice."""
    found = [stream.relation.name]
    for each in stream.united:
        found += _logs(each)
    return found
