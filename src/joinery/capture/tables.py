"""The tables of a PostgreSQL database that are captured: what each has to have, and which it is.

Each check says in one line what is wrong and, in its hint, the SQL that fixes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from joinery.capture.gone_columns import TableColumns
from joinery.capture.spool import ANEW, GONE, CaptureError, CaptureLostError, SpoolFolder
from joinery.capture.sql import number_of, quote_table, row_of, text_of

if TYPE_CHECKING:
    import psycopg

    from joinery.capture.postgres import PostgresDatabase

    Link = psycopg.Connection[tuple[Any, ...]]

_NO_MOMENTS = ("date", "time without time zone")


def table_exists(link: Link, table: str) -> bool:
    """Return whether a database that we are connected to has a table."""
    return row_of(link, "select to_regclass(%s)", quote_table(table))[0] is not None


def check_table(link: Link, database: PostgresDatabase, table: str, *, reads: bool) -> None:
    """Refuse a table that cannot be followed, or not be read where it is to be.

    Raises:
        CaptureError: Something has to be fixed first; the hint says how.
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


def check_same(link: Link, database: PostgresDatabase, spool: SpoolFolder) -> None:
    """Refuse a table whose rows the spool has, and that is not there any more or is another one.

    What was dropped and made again is in no publication any more, and the log tells of no row that
    went with the old table. Which tables there are is noted as they are first met; until the log is
    followed, they are met for the first time.

    Raises:
        CaptureLostError: A table that relations read was dropped, or renamed.
    """
    known = spool.identity
    assert known is not None  # claimed before
    begun = spool.position is not None
    captured = [each for each in known.tables if not begun or each not in known.unread]
    found = {each: oid for each in captured if (oid := oid_of(link, each))}
    noted = spool.table_oids if begun else {}
    lost = [each for each in captured if each in noted and noted[each] != found.get(each)]
    spool.note_gone([each for each in lost if noted[each] != GONE])
    if {*found} - {*noted}:
        spool.note_table_oids({each: oid for each, oid in found.items() if each not in noted})
    if used := [each for each in lost if database.is_used(each)]:
        raise CaptureLostError(
            f"table {used[0]} was dropped or renamed",
            detail="The log has no deletes of its rows; what changes under another name is not"
            " captured, nor is another table under this one.",
            hint=ANEW,
        )


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
