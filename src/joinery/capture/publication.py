"""The publication that tells the changes of a PostgreSQL database's tables, whole and all along.

It is made where it is not there, as far as we may; one that left changes out is refused for good.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joinery.capture.spool import ANEW, GONE, CaptureError, CaptureLostError, SpoolFolder
from joinery.capture.sql import quote_name, quote_table
from joinery.capture.tables import oid_of
from joinery.clients.postgres import first_line

if TYPE_CHECKING:
    import psycopg

    from joinery.capture.postgres import PostgresDatabase

    Link = psycopg.Connection[tuple[Any, ...]]

# The entry of one that has all tables is the publication itself; older servers leave out neither
# rows nor columns. What is truncated is told apart: no row is taken back for it.
_ENTRIES = """
select t.name, coalesce(r.oid, p.oid)::bigint, (to_jsonb(r) ->> 'prqual') is null,
  p.pubinsert and p.pubupdate and p.pubdelete and (p.pubviaroot or c.relkind <> 'p'),
  array(select a.attname::text from pg_attribute as a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    and to_jsonb(r) ->> 'prattrs' is not null
    and not (to_jsonb(r) -> 'prattrs') @> to_jsonb(a.attnum))
from unnest(%s::text[], %s::text[]) as t (name, quoted)
join pg_class as c on c.oid = to_regclass(t.quoted)
join pg_publication as p on p.pubname = %s
left join pg_publication_rel as r on r.prpubid = p.oid and r.prrelid = c.oid
where p.puballtables or r.oid is not null
"""


def check_published(link: Link, database: PostgresDatabase, spool: SpoolFolder) -> None:
    """Refuse a publication that did not tell all changes of a table since the spool has its rows.

    A table that is removed from a publication and added again gets another entry. One whose changes
    were left out is marked for good, also if no relation reads it now: one may read it later.

    Raises:
        CaptureLostError: It was altered, or dropped and created again.
    """
    known = spool.identity
    assert known is not None  # claimed before
    if spool.position is None:
        return
    captured = [e for e in known.tables if e not in known.unread or e in known.awaited]
    entries, noted = entries_of(link, database, captured), spool.published
    now: dict[str, int] = {}
    for table in captured:
        entry = entries.get(table, GONE)
        now[table] = entry if noted.get(table, entry) == entry else GONE
    if now.items() - noted.items():
        spool.note_published(now)
    if lost := [each for each in captured if now[each] == GONE and database.is_used(each)]:
        raise CaptureLostError(
            f"publication {quote_name(database.slot)} left out changes of table {lost[0]}",
            detail="It was altered, or dropped and created again, while it was in use.",
            hint=ANEW,
        )


def entries_of(
    link: Link, database: PostgresDatabase, tables: Collection[str]
) -> Mapping[str, int]:
    """Return by which entry the publication tells all changes of a table, of those that it does."""
    found = _found_in(link, database, tables)
    return {each.table: each.number for each in found if each.is_whole}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A table of a publication, by which number it is there, and what is told of it."""

    table: str
    number: int
    every_row: bool
    every_kind: bool
    every_column: bool

    @property
    def is_whole(self) -> bool:
        return self.every_row and self.every_kind and self.every_column


def _found_in(link: Link, database: PostgresDatabase, tables: Collection[str]) -> list[_Entry]:
    given = ([*tables], [quote_table(each) for each in tables], database.slot)
    return [
        _Entry(table, number, rows, kinds, database.does_without(table, left_out))
        for table, number, rows, kinds, left_out in link.execute(_ENTRIES, given).fetchall()
    ]


def note_followed(
    link: Link, database: PostgresDatabase, spool: SpoolFolder, tables: Collection[str]
) -> None:
    """Note which tables some are that are followed from now on, and to be read."""
    known = spool.table_oids
    fresh = {each: oid_of(link, each) for each in tables if each not in known}
    if fresh:
        spool.note_table_oids(fresh)
    entries = entries_of(link, database, tables)
    if {*entries} - {*spool.published}:
        spool.note_published(entries)


def read_anew(
    link: Link, database: PostgresDatabase, spool: SpoolFolder, tables: Sequence[str]
) -> None:
    """Have tables read from the start whose changes were not all told since they are being read."""
    noted, entries = spool.published, entries_of(link, database, tables)
    for table in tables:
        if table not in entries or noted.get(table, entries[table]) != entries[table]:
            spool.forget(table)
            spool.forget_followed((table,))


def make_publication(link: Link, database: PostgresDatabase) -> None:
    """Have the publication of a database's slot tell the changes of its tables.

    Raises:
        CaptureError: It does not, and only another user may change that.
    """
    name = quote_name(database.slot)
    names = ", ".join(map(quote_table, database.tables))
    has = {each.table for each in _found_in(link, database, database.tables)}
    whole = f"publication {name} for table {names} with (publish_via_partition_root = true);"
    exists = "select from pg_publication where pubname = %s"
    if link.execute(exists, (database.slot,)).fetchone() is None:
        _as_owner(link, f"create {whole}", f"publication {name} does not exist")
    elif missing := [each for each in database.tables if each not in has]:
        tables = ", ".join(map(quote_table, missing))
        statement = f"alter publication {name} add table {tables};"
        _as_owner(link, statement, f"publication {name} lacks table {missing[0]}")
    for each in _found_in(link, database, database.tables):
        if not each.is_whole:
            raise CaptureError(
                f"publication {name} leaves out changes of table {each.table}",
                hint=_mended(name, quote_table(each.table), each),
            )


def _mended(publication: str, table: str, entry: _Entry) -> str:
    """Return the SQL after which a publication tells all changes of a table."""
    alter = f"alter publication {publication}"
    if entry.every_row and entry.every_column:
        kinds = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"
        return f"{alter} set ({kinds});"
    return f"{alter} drop table {table}; {alter} add table {table};"


def _as_owner(link: Link, statement: str, lacking: str) -> None:
    import psycopg

    try:
        link.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise CaptureError(
            f"{lacking}, and this user may not change that",
            detail=first_line(error),
            hint=f"Run as the owner of the tables: {statement}",
        ) from error
