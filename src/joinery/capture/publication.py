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
select t.name, coalesce(r.oid, p.oid)::bigint, (to_jsonb(r) ->> 'prqual') is null
    and (to_jsonb(r) ->> 'prattrs') is null,
  p.pubinsert and p.pubupdate and p.pubdelete
    and (p.pubviaroot or c.relkind <> 'p')
from unnest(%s::text[], %s::text[]) as t (name, quoted)
join pg_class as c on c.oid = to_regclass(t.quoted)
join pg_publication as p on p.pubname = %s
left join pg_publication_rel as r on r.prpubid = p.oid and r.prrelid = c.oid
where p.puballtables or r.oid is not null
"""


def check_published(link: Link, database: PostgresDatabase, spool: SpoolFolder) -> None:
    """Refuse a publication that did not tell all changes of a table since the spool has its rows.

    A table that was taken out of it, or told in part, and was put back has another entry there.

    Raises:
        CaptureLostError: It was altered, or dropped and created again.
    """
    known = spool.identity
    assert known is not None  # claimed before
    if spool.position is None:
        return
    awaited = {*known.awaited}
    captured = [e for e in known.tables if e not in known.unread or e in awaited]
    tables = [each for each in captured if database.is_read(each)]
    entries, noted = entries_of(link, known.slot, tables), spool.published
    for table in tables:
        if table in noted and entries.get(table) != noted[table]:
            spool.note_published({table: GONE})
            raise CaptureLostError(
                f"publication {quote_name(known.slot)} left out changes of table {table}",
                detail="It was altered, or dropped and created again, while it was in use.",
                hint=ANEW,
            )
    if {*entries} - {*noted}:
        spool.note_published(entries)


def entries_of(link: Link, publication: str, tables: Collection[str]) -> Mapping[str, int]:
    """Return by which entry a publication tells all changes of a table, of those that it does."""
    found = _found_in(link, publication, tables)
    return {each.table: each.number for each in found if each.whole_rows and each.every_kind}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A table of a publication, by which number it is there, and what is told of it."""

    table: str
    number: int
    whole_rows: bool
    every_kind: bool


def _found_in(link: Link, publication: str, tables: Collection[str]) -> list[_Entry]:
    given = ([*tables], [quote_table(each) for each in tables], publication)
    return [_Entry(*each) for each in link.execute(_ENTRIES, given).fetchall()]


def note_followed(link: Link, spool: SpoolFolder, tables: Collection[str]) -> None:
    """Note which tables some are that are followed from now on, and to be read."""
    known, identity = spool.table_oids, spool.identity
    assert identity is not None  # claimed before
    fresh = {each: oid_of(link, each) for each in tables if each not in known}
    if fresh:
        spool.note_table_oids(fresh)
    entries = entries_of(link, identity.slot, tables)
    if {*entries} - {*spool.published}:
        spool.note_published(entries)


def read_anew(
    link: Link, database: PostgresDatabase, spool: SpoolFolder, tables: Sequence[str]
) -> None:
    """Have tables read from the start whose changes were not all told since they are being read."""
    noted, entries = spool.published, entries_of(link, database.slot, tables)
    for table in tables:
        if table in noted and entries.get(table) != noted[table]:
            spool.forget(table)
            spool.forget_followed((table,))


def make_publication(link: Link, database: PostgresDatabase) -> None:
    """Have the publication of a database's slot tell the changes of its tables.

    Raises:
        CaptureError: It does not, and only another user may change that.
    """
    name = quote_name(database.slot)
    names = ", ".join(map(quote_table, database.tables))
    has = {each.table: each for each in _found_in(link, database.slot, database.tables)}
    whole = f"publication {name} for table {names} with (publish_via_partition_root = true);"
    exists = "select from pg_publication where pubname = %s"
    if link.execute(exists, (database.slot,)).fetchone() is None:
        _as_owner(link, f"create {whole}", f"publication {name} does not exist")
    elif missing := [each for each in database.tables if each not in has]:
        tables = ", ".join(map(quote_table, missing))
        statement = f"alter publication {name} add table {tables};"
        _as_owner(link, statement, f"publication {name} lacks table {missing[0]}")
    for each in has.values():
        if not (each.whole_rows and each.every_kind):
            raise CaptureError(
                f"publication {name} leaves out changes of table {each.table}",
                hint=_mended(name, quote_table(each.table), each),
            )


def _mended(publication: str, table: str, entry: _Entry) -> str:
    """Return the SQL after which a publication tells all changes of a table."""
    alter = f"alter publication {publication}"
    if entry.whole_rows:
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
