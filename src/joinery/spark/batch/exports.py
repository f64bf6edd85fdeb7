"""Sources whose tables come from an export: begun, and their files found; needs no Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from joinery.capture.export import Begun, ExportError, TableExport, begin_export, find_export
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.spool import CaptureError, Identity, SpoolFolder
from joinery.capture.tending import Tending, TooMuchLogError
from joinery.model.warning import RunWarning
from joinery.project.captured import sealed_tables, spool_spec, table_in
from joinery.project.kind import SourceSpec
from joinery.project.postgres import postgres_options
from joinery.project.product import ProjectSpec
from joinery.project.relation import RelationSpec
from joinery.spark.batch.captures import claim_spool, database_of
from joinery.spark.source.spool_readers import applied_files


@dataclass(frozen=True, slots=True)
class SourceExport:
    """The export of one source's tables.

    Attributes:
        source: The source.
        database: Its own.
        spool: Whose tables wait for their rows.
        tables: Their files.
        relations: By table, those that read it.
    """

    source: SourceSpec
    database: PostgresDatabase
    spool: SpoolFolder
    tables: Sequence[TableExport]
    relations: Mapping[str, Sequence[RelationSpec]]


def begin_source(
    spec: ProjectSpec,
    source: SourceSpec,
    *,
    on_warning: Callable[[RunWarning], None] = lambda warning: None,
) -> tuple[PostgresDatabase, Begun]:
    """Have the database of a source keep its log for an export of its tables.

    Args:
        spec: The project.
        source: Of it.
        on_warning: Told of a log that grows above its limit before the slot is made.

    Raises:
        CaptureError: Its tables cannot come from an export, or were read already, or the server
            refuses, or keeps too much of its log meanwhile.
    """
    if (lacks := _not_exportable(spec, source)) is not None:
        raise lacks
    claim_spool(spec, source)
    database, spool = database_of(spec, source)
    assert isinstance(database, PostgresDatabase)  # as was checked
    tending = Tending(
        database,
        spool,
        name=source.name,
        keep_s=spool_spec(source).keep_ms / 1000,
        applied=applied_files,
        max_wal=postgres_options(source).max_wal,
        columns={},
        on_warning=on_warning,
    )
    try:
        return database, begin_export(database, spool, goes_on=tending.look)
    except CaptureError:
        if tending.error is None:
            raise
        raise TooMuchLogError(
            tending.error.message,
            detail="The slot was not created; it waited for open transactions.",
            hint="End them, or raise max_wal, then run this again.",
        ) from None


def _not_exportable(spec: ProjectSpec, source: SourceSpec) -> ExportError | None:
    """Return why the tables of a source cannot come from an export; None where they can."""
    if source.kind != "postgres":
        return ExportError(
            f'source "{source.name}" is of kind {source.kind}, whose tables cannot be loaded'
            " from an export yet",
            hint="Run without it: the capture reads the tables before it follows the log.",
        )
    if sealed_tables(spec, source):
        return ExportError(
            f'source "{source.name}" has personal columns, which cannot be loaded from an export'
            " yet",
            hint="Run without it: the connector reads the tables.",
        )
    for each in spec.changelogs_of(source):
        if each.append:
            return ExportError(
                f'relation "{each.name}" is append, and its rows cannot come from an export',
                detail="Those written between the start of the log and the export are in both,"
                " and would count twice.",
                hint="Run without it: the connector reads the tables as of the log's beginning.",
            )
    return None


def exports_of(spec: ProjectSpec, folder: Path) -> tuple[SourceExport, ...]:
    """Return the exports that sources wait for; none where all were taken before.

    Where several sources were begun for exports, each has a folder of its name.

    Raises:
        ExportError: No log was begun for an export, a table lacks its files, or a relation became
            one whose rows cannot come from an export.
    """
    begun = dict(_begun(spec))
    if not begun:
        raise _not_begun(spec)
    awaiting = {name: known for name, known in begun.items() if known.awaited}
    if awaiting and not folder.is_dir():
        raise ExportError(
            f"the export {folder} does not exist, or is not a folder",
            hint="Name the folder that has a folder or a file for each table.",
        )
    return tuple(
        _source_export(
            spec, each, awaiting[each.name], folder / each.name if len(begun) > 1 else folder
        )
        for each in spec.sources
        if each.name in awaiting
    )


def _begun(spec: ProjectSpec) -> Iterator[tuple[str, Identity]]:
    """Yield the sources whose log was begun for an export."""
    for each in spec.sources:
        if each.kind == "postgres":
            spool = database_of(spec, each)[1]
            known = spool.identity
            if known is not None and known.exported_since and spool.position is not None:
                yield each.name, known


def _not_begun(spec: ProjectSpec) -> ExportError:
    """Return why no source has a place in its log to which an export belongs."""
    databases = [each for each in spec.sources if each.kind == "postgres"]
    if not databases:
        return ExportError("no source of the project is a PostgreSQL database")
    for each in databases:
        if (lacks := _not_exportable(spec, each)) is not None:
            return lacks
    name = databases[0].name
    return ExportError(
        f'the log of source "{name}" was not started for an export',
        detail="Changes between an export and the start of the log would be lost.",
        hint=f"Run joinery source begin {name}, then export the tables, then run this again.",
    )


def _source_export(
    spec: ProjectSpec, source: SourceSpec, known: Identity, folder: Path
) -> SourceExport:
    if (lacks := _not_exportable(spec, source)) is not None:  # since the log was begun
        lacks.hint = f"Undo that; or joinery source drop {source.name}, and run without it."
        raise lacks
    database, spool = database_of(spec, source)
    assert isinstance(database, PostgresDatabase)  # no other was begun
    relations: dict[str, list[RelationSpec]] = {}
    for each in spec.changelogs_of(source):
        relations.setdefault(table_in(source, each.topic or each.name), []).append(each)
    tables = [each for each in known.awaited if each in relations]
    plain = Counter(each.partition(".")[2] for each in tables)
    found = []
    for table in tables:
        schema, _, name = table.partition(".")
        names = [table, f"{schema}/{name}", *(each.name for each in relations[table])]
        names += [name] if plain[name] == 1 else []
        found.append(find_export(folder, table, names, known.exported_since))
    return SourceExport(source, database, spool, found, relations)
