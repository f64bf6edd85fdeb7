"""The slot of a PostgreSQL capture: whether it stands where the spool does, in the same log.

Invariant: a slot that has confirmed less than the spool has is followed on only where its log has
the very transaction that the spool ends with. A database that was put back, and has grown since,
has others there, which would be taken for those that were captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joinery.capture.server import ServerAwayError
from joinery.capture.spool import ANEW, CaptureError, CaptureLostError, SpoolFolder
from joinery.capture.sql import lsn_text, number_of, row_of
from joinery.clients.postgres import database_errors

if TYPE_CHECKING:
    import psycopg

    from joinery.capture.postgres import PostgresDatabase

    Link = psycopg.Connection[tuple[Any, ...]]

RESTORED = "It was restored from a backup, or a standby that lacked changes took over."
_TOO_MUCH = "It held back more of the log than max_slot_wal_keep_size allows."
_INVALIDATED = {
    "": _TOO_MUCH,  # until PostgreSQL 16
    "wal_removed": _TOO_MUCH,
    "idle_timeout": "Nobody read it for longer than idle_replication_slot_timeout allows.",
}
_TELLS_MESSAGES = 140_000
_EPOCH_US = 946_684_800_000_000  # of PostgreSQL's times, 2000-01-01
# Of a commit that pgoutput tells: its kind, flags, its place and its end, and when it was.
_HAS_COMMIT = """
select exists (
  select from pg_logical_slot_peek_binary_changes(%s, %s, null, variadic %s) as told
  where get_byte(told.data, 0) = ascii('C')
  and substring(told.data from 11 for 8) = int8send(%s)
  and substring(told.data from 19 for 8) = int8send(%s))
"""


def check_slot(link: Link, database: PostgresDatabase, spool: SpoolFolder) -> None:
    """Refuse a slot that does not go on where the spool ends; remove one of a broken beginning.

    Raises:
        ServerAwayError: Another process reads it.
        CaptureLostError: It has no longer all that the spool lacks.
        CaptureError: It is not the spool's.
    """
    found = link.execute(
        "select database::text, plugin::text, coalesce(wal_status, ''), active,"
        " coalesce(confirmed_flush_lsn - '0/0'::pg_lsn, 0)::bigint,"
        " coalesce(to_jsonb(slot) ->> 'invalidation_reason', '')"
        " from pg_replication_slots as slot where slot_name = %s",
        (database.slot,),
    ).fetchone()
    position = spool.position
    if found is None:
        if position is not None:
            raise CaptureLostError(
                f'slot "{database.slot}" is gone, and with it changes that were not captured yet',
                hint=ANEW,
            )
        return
    place, plugin, status, active, confirmed, reason = found
    if place != link.info.dbname or plugin != "pgoutput":
        raise CaptureError(
            f'slot "{database.slot}" belongs to database "{place}", with plugin {plugin}',
            hint="Choose another: slot: NAME.",
        )
    if active and (position is not None or spool.begun):
        raise ServerAwayError(f'slot "{database.slot}" is in use by another process')
    if position is None:
        _begin_anew(link, database, spool)
    elif status == "lost":
        raise CaptureLostError(
            f'slot "{database.slot}" was invalidated by the server: changes are lost',
            detail=_INVALIDATED.get(reason, f"The server's reason: {reason}."),
            hint=ANEW,
        )
    elif confirmed > position.lsn:
        raise _moved(database)
    elif confirmed < position.lsn and not _has_end(link, database, spool):
        raise CaptureLostError(
            f"the database {database.shown} does not have the changes that were captured last",
            detail=RESTORED,
            hint=ANEW,
        )


def _has_end(link: Link, database: PostgresDatabase, spool: SpoolFolder) -> bool:
    """Return whether the log has the transaction that the spool ends with.

    Where the spool ends at the place from which it follows the log, there is none.
    """
    offset = spool.offset
    end, at_us = offset.get("lsn_commit"), offset.get("ts_usec")
    if end is None or at_us is None:
        return True
    options = ["proto_version", "1", "publication_names", database.slot]
    if link.info.server_version >= _TELLS_MESSAGES:
        options += ["messages", "true"]
    link.execute("set statement_timeout = 0")
    beyond = lsn_text(int(end) + 1)
    given = (database.slot, beyond, options, int(end), int(at_us) - _EPOCH_US)
    return bool(row_of(link, _HAS_COMMIT, *given)[0])


def _moved(database: PostgresDatabase) -> CaptureLostError:
    return CaptureLostError(
        f'slot "{database.slot}" was dropped, or moved past what was captured: changes are lost',
        detail="Somebody dropped it, so that it was created again, or another client read from it.",
        hint=ANEW,
    )


def check_unmoved(database: PostgresDatabase, spool: SpoolFolder) -> None:
    """Refuse a slot that stands past the spool, as one does that was made again.

    Asked while nothing is confirmed, which would hide it.

    Raises:
        ServerAwayError: The server is not there now.
        CaptureLostError: The slot was made again.
    """
    with database.connect() as link:
        try:
            confirmed = number_of(
                link,
                "select coalesce(max(confirmed_flush_lsn - '0/0'::pg_lsn), 0)::bigint"
                " from pg_replication_slots where slot_name = %s",
                database.slot,
            )
        except database_errors() as error:
            raise database.failure(error) from error
    position = spool.position
    if position is not None and confirmed > position.lsn:
        raise _moved(database)


def _begin_anew(link: Link, database: PostgresDatabase, spool: SpoolFolder) -> None:
    """Remove the slot of a first reading that was broken off; refuse one that is not ours."""
    if not spool.begun:
        raise CaptureError(
            f'slot "{database.slot}" exists already, and does not belong to the spool {spool.path}',
            hint=f"select pg_drop_replication_slot('{database.slot}'); or write slot: NAME.",
        )
    link.execute("select pg_drop_replication_slot(%s)", (database.slot,))
