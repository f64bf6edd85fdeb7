"""The tables of a PostgreSQL database that are captured: what each has to have, and which it is.

Each check says in one line what is wrong and, in its hint, the SQL that mends it. A publication
is made where it is not there, as far as we may.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joinery.capture.gone_columns import TableColumns
from joinery.capture.spool import ANEW, CaptureError, CaptureLostError, SpoolFolder
from joinery.capture.sql import number_of, quote_name, quote_table, row_of, text_of
from joinery.clients.postgres import first_line

if TYPE_CHECKING:
    import psycopg

    from joinery.capture.postgres import PostgresDatabase

    Link = psycopg.Connection[tuple[Any, ...]]

_NO_MOMENTS = ("date", "time without time zone")
# The entry of one that has all tables is the publication itself; older servers filter no rows.
_ENTRIES = """
select t.name, coalesce(r.oid, p.oid)::bigint, (to_jsonb(r) ->> 'prqual') is null,
  p.pubinsert and p.pubupdate and p.pubdelete and p.pubtruncate
    and (p.pubviaroot or c.relkind <> 'p')
from unnest(%s::text[], %s::text[]) as t (name, quoted)
join pg_class as c on c.oid = to_regclass(t.quoted)
join pg_publication as p on p.pubname = %s
left join pg_publication_rel as r on r.prpubid = p.oid and r.prrelid = c.oid
where p.puballtables or r.oid is not null
"""


def table_exists(link: Link, table: str) -> bool:
    """Return whether a database that we are connected to has a table."""
    return row_of(link, "select to_regclass(%s)", quote_table(table))[0] is not None


def check_table(link: Link, database: PostgresDatabase, table: str, *, reads: bool) -> None:
    """Refuse a table that cannot be followed, or not be read where it is to be.

    Raises:
        CaptureError: Something has to be mended first; the hint says how.
    """
    name = quote_table(table)
    found = link.execute(
        "select c.relkind::text, c.relreplident::text,"
        " exists (select from pg_index where indrelid = c.oid and indisprimary),"
        " has_table_privilege(c.oid, 'select'), row_security_active(c.oid)"
        " from pg_class as c where c.oid = to_regclass(%s)",
        (name,),
    ).fetchone()
    if found is None:
        raise CaptureError(
            f"the database {database.shown} has no table {table}",
            hint="Write topic: schema.table under the relation.",
        )
    kind, identity, keyed, readable, filtered = found
    if kind not in ("r", "p"):
        raise CaptureError(f"{table} is not a table, so it has no changes to capture")
    if identity == "n":
        raise CaptureError(
            f"table {table} has replica identity nothing: its updates and deletes identify no row",
            hint=f"alter table {name} replica identity {'default' if keyed else 'full'};",
        )
    if identity == "d" and not keyed:
        raise CaptureError(
            f"table {table} has no primary key, so its updates and deletes identify no row",
            hint=f"alter table {name} add primary key (…);"
            f" or: alter table {name} replica identity full",
        )
    if not reads or (readable and not filtered):
        return
    user = text_of(link, "select quote_ident(current_user)")
    if not readable:
        raise CaptureError(
            f"user {user} may not read table {table}", hint=f"grant select on {name} to {user};"
        )
    raise CaptureError(
        f"user {user} may not see all rows of table {table}, which has row-level security",
        hint=f"alter role {user} bypassrls;",
    )


def check_same(link: Link, spool: SpoolFolder) -> None:
    """Refuse a table that is another one than the one of its name whose rows the spool has.

    What was dropped and made anew is in no publication any more, and the log tells of no row that
    went with the old table. Which tables there are is noted as they are first met; until the log is
    followed, they are met for the first time.

    Raises:
        CaptureLostError: It was dropped, or renamed, and another one has its name.
    """
    known = spool.identity
    assert known is not None  # claimed before
    begun = spool.position is not None
    tables = [each for each in known.tables if not begun or each not in known.unread]
    found = {each: oid for each in tables if (oid := oid_of(link, each))}
    noted = spool.table_oids if begun else {}
    for table in tables:
        if table in spool.gone:
            raise gone(table)
    for table, oid in found.items():
        if noted.get(table, oid) != oid:
            raise CaptureLostError(
                f"table {table} is not the one that was captured before",
                detail="That one was dropped or renamed, and another one created under its name;"
                " the log has neither deletes of its rows nor the new table's rows so far.",
                hint=ANEW,
            )
    if {*found} - {*noted}:
        spool.note_table_oids(found)


def gone(table: str) -> CaptureLostError:
    """Return what refuses to go on once a table whose rows the spool has is not there any more."""
    return CaptureLostError(
        f"table {table} was dropped or renamed",
        detail="The log has no deletes of its rows, and what changes under another name is not"
        " captured.",
        hint=ANEW,
    )


def check_published(link: Link, spool: SpoolFolder) -> None:
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
    tables = [e for e in known.tables if e not in known.unread or e in awaited]
    entries, noted = entries_of(link, known.slot, tables), spool.published
    for table in tables:
        entry = entries.get(table, 0)
        if not oid_of(link, table) or (entry and noted.get(table, entry) == entry):
            continue
        spool.note_published({table: noted.get(table, 0)})
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
    return {each.table: each.number for each in found if each.all_rows and each.all_kinds}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A table of a publication, by which number it is there, and what is told of it."""

    table: str
    number: int
    all_rows: bool
    all_kinds: bool


def _found_in(link: Link, publication: str, tables: Collection[str]) -> list[_Entry]:
    given = ([*tables], [quote_table(each) for each in tables], publication)
    return [_Entry(*each) for each in link.execute(_ENTRIES, given).fetchall()]


def columns_of_tables(link: Link, tables: Collection[str]) -> Mapping[str, TableColumns]:
    """Return the columns of those of some tables that are there."""
    found = {each: oid for each in tables if (oid := oid_of(link, each))}
    return {table: _columns_of(link, oid) for table, oid in found.items()}


def _columns_of(link: Link, oid: int) -> TableColumns:
    rows = link.execute(
        "select attname, attgenerated <> '', atttypid::regtype::text from pg_attribute"
        " where attrelid = %s and attnum > 0 and not attisdropped",
        (oid,),
    ).fetchall()
    return TableColumns(
        captured=frozenset(str(name) for name, generated, _ in rows if not generated),
        generated=frozenset(str(name) for name, generated, _ in rows if generated),
        no_moments={str(name): str(type) for name, _, type in rows if type in _NO_MOMENTS},
    )


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


def replaced(table: str) -> CaptureError:
    """Return what refuses a table that became another one before it was read whole."""
    return CaptureError(
        f"table {table} was dropped and created again before it was read completely",
        detail="Changes of the old table would be mixed with rows of the new one.",
        hint=ANEW,
    )


def oid_of(link: Link, table: str) -> int:
    """Return by which number a database knows a table; 0 where it has none of that name."""
    return number_of(link, "select coalesce(to_regclass(%s)::oid::bigint, 0)", quote_table(table))


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
        if not (each.all_rows and each.all_kinds):
            raise CaptureError(
                f"publication {name} leaves out changes of table {each.table}",
                hint=_whole(name, quote_table(each.table), each),
            )


def _whole(publication: str, table: str, entry: _Entry) -> str:
    """Return the SQL after which a publication tells all changes of a table."""
    alter = f"alter publication {publication}"
    if entry.all_rows:
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
