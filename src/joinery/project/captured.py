"""Sources that are databases whose own logs are captured, and the change files that they become.

A database's log is written into complete change files, a spool, by a capture; what reads the
source reads those as it reads any files.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from joinery.project.kind import SourceSpec
from joinery.project.mysql import mysql_options, replica_of, table_in_database
from joinery.project.option import path_in
from joinery.project.postgres import SpoolSpec, postgres_options, slot_of, table_of
from joinery.project.product import ProjectSpec

CAPTURED = ("postgres", "mysql")
"""The kinds of sources whose logs are captured."""

_FILES = "files"
_TAIL = "tail"


def spool_spec(source: SourceSpec) -> SpoolSpec:
    """Return where the changes of a source are kept."""
    if source.kind == "mysql":
        return mysql_options(source).spool
    return postgres_options(source).spool


def log_name(spec: ProjectSpec, source: SourceSpec) -> str:
    """Return what a source's spool is known by: the slot of PostgreSQL, or a name like it."""
    return replica_of(spec, source) if source.kind == "mysql" else slot_of(spec, source)


def table_in(source: SourceSpec, topic: str) -> str:
    """Return the table that a relation reads of a source by its topic, as schema.table.

    Example:
        >>> table_in(SourceSpec("db", "postgres", (("url", "x"),)), "customer")
        'public.customer'
        >>> table_in(SourceSpec("db", "mysql", (("url", "mysql://h/shop"),)), "customer")
        'shop.customer'
    """
    if source.kind == "mysql":
        return table_in_database(str(dict(source.options).get("url", "")), topic)
    return table_of(topic)


def topics_of(spec: ProjectSpec) -> dict[str, str]:
    """Return by relation the name that its records come under: its topic, or its whole table."""
    captured = {each.name: each for each in spec.sources if each.kind in CAPTURED}
    found = {}
    for each in spec.relations:
        source, topic = captured.get(spec.source_of(each)), each.topic or each.name
        found[each.name] = topic if source is None else table_in(source, topic)
    return found


def tables_of(spec: ProjectSpec, source: SourceSpec) -> tuple[str, ...]:
    """Return the tables of a source, as schema.table: those it names, else those that are read."""
    given = cast(tuple[str, ...], dict(source.options).get("tables", ()))
    if given:
        return tuple(dict.fromkeys(table_in(source, each) for each in given))
    read = (table_in(source, each.topic or each.name) for each in spec.changelogs_of(source))
    return tuple(dict.fromkeys(read))


def sealed_tables(spec: ProjectSpec, source: SourceSpec) -> tuple[str, ...]:
    """Return the tables of a source that have personal columns, as schema.table."""
    own = [each for each in spec.changelogs_of(source) if each.personal is not None]
    return tuple(sorted({table_in(source, each.topic or each.name) for each in own}))


def spool_of(spec: ProjectSpec, source: SourceSpec) -> Path:
    """Return the folder of a source's spool."""
    return path_in(spec.folder, spool_spec(source).path) / source.name


def as_files(spec: ProjectSpec, source: SourceSpec) -> SourceSpec:
    """Return the source that reads the change files of a database's spool."""
    spool = spool_of(spec, source)
    options = (("path", str(spool / _FILES)), ("tail", str(spool / _TAIL)))
    return SourceSpec(source.name, "files", options)
