"""Sources whose tables come from an export: begun, and their files found; needs no Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from joinery.capture.export import Begun, ExportError, TableExport, begin_export, find_export
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.spool import Identity, SpoolFolder
from joinery.project.captured import sealed_tables, table_in
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.project.relation import RelationSpec
from joinery.spark.batch.captures import claim_spool, database_of


@dataclass(frozen=True, slots=True)
class SourceExport:
    """The export of one source's tables.

    Attributes:
        database: Of the source.
        spool: Whose tables wait for their rows.
        tables: Their files.
        relations: By table, those that read it.
    """

    database: PostgresDatabase
    spool: SpoolFolder
    tables: Sequence[TableExport]
    relations: Mapping[str, Sequence[RelationSpec]]


def begin_source(spec: ProjectSpec, source: SourceSpec) -> tuple[PostgresDatabase, Begun]:
    """Have the database of a source keep its log for an export of its tables.

    Raises:
        CaptureError: Its tables cannot come from an export, or were read already, or the server
            refuses.
    """
    _check_exportable(spec, source)
    claim_spool(spec, source)
    database, spool = database_of(spec, source)
    assert isinstance(database, PostgresDatabase)  # as was checked
    return database, begin_export(database, spool)


def _check_exportable(spec: ProjectSpec, source: SourceSpec) -> None:
    if source.kind != "postgres":
        raise ExportError(
            f'source "{source.name}" is of kind {source.kind}, whose tables are not taken from an'
            " export yet",
            hint="Run without it: the capture reads the tables before it follows the log.",
        )
    if sealed_tables(spec, source):
        raise ExportError(
            f'source "{source.name}" has personal columns, which are not taken from an export yet',
            hint="Run without it: the connector reads the tables.",
        )
    for each in spec.changelogs:
        if each.append and spec.source_of(each) == source.name:
            raise ExportError(
                f'relation "{each.name}" is append, and its rows cannot come from an export',
                detail="Those written between the beginning of the log and the export are in both,"
                " and would count twice.",
                hint="Run without it: the connector reads the tables as of the log's beginning.",
            )


def exports_of(spec: ProjectSpec, folder: Path) -> tuple[SourceExport, ...]:
    """Return the exports that sources wait for; none where all were taken before.

    Where several sources were begun for exports, each has a folder of its name.

    Raises:
        ExportError: No log was begun for an export, or a table lacks its files.
    """
    begun = dict(_begun(spec))
    if not begun:
        raise _not_begun(spec)
    awaiting = {name: known for name, known in begun.items() if known.awaited}
    if awaiting and not folder.is_dir():
        raise ExportError(
            f"the export {folder} is not there, or is not a folder",
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
        _check_exportable(spec, each)
    name = databases[0].name
    return ExportError(
        f'the log of source "{name}" was not begun for an export',
        detail="Changes between an export and the beginning of the log would be lost.",
        hint=f"Run joinery source begin {name}, then export the tables, then run this again.",
    )


def _source_export(
    spec: ProjectSpec, source: SourceSpec, known: Identity, folder: Path
) -> SourceExport:
    database, spool = database_of(spec, source)
    assert isinstance(database, PostgresDatabase)  # no other was begun
    relations: dict[str, list[RelationSpec]] = {}
    for each in spec.changelogs:
        if spec.source_of(each) == source.name:
            relations.setdefault(table_in(source, each.topic or each.name), []).append(each)
    tables = [each for each in known.awaited if each in relations]
    plain = Counter(each.partition(".")[2] for each in tables)
    found = []
    for table in tables:
        schema, _, name = table.partition(".")
        names = [table, f"{schema}/{name}", *(each.name for each in relations[table])]
        names += [name] if plain[name] == 1 else []
        found.append(find_export(folder, table, names, known.exported_since))
    return SourceExport(database, spool, found, relations)
