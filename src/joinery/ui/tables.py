"""What a page tells of a fleet and of one product, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from joinery.dead_letters.dead_letter import DeadLetter, State
from joinery.delivery.action_log import LoggedAction
from joinery.model.moment import moment_text
from joinery.model.status import ProductTotals, QueryStatus
from joinery.observe.history_file import Minute
from joinery.observe.kept_letters import HandledLetters
from joinery.observe.status import ProductStatus
from joinery.text.figure import seconds_text, share_text, size_text
from joinery.ui.fleet import Snapshot, Standing
from joinery.ui.table import Column, Row, Table, Value

_LETTERS = 100
_SHORT = 200
_ACTIONS = 1000
_ASKED: Mapping[State, str] = {"replayed": "replay", "dropped": "drop", "open": "open"}


def _seconds(value: Value) -> str:
    return seconds_text(value) if isinstance(value, int | float) else "-"


def _share(value: Value) -> str:
    return share_text(float(value) if isinstance(value, int | float) else None)


def _size(value: Value) -> str:
    return size_text(int(value)) if isinstance(value, int | float) else "-"


def _short(value: Value) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def _when(value: Value) -> str:
    """Return a moment to the second.

    Example:
        >>> _when("2026-01-02T03:04:05.678Z"), _when(None)
        ('2026-01-02 03:04:05Z', '-')
    """
    return f"{value[:19].replace('T', ' ')}Z" if isinstance(value, str) and value else "-"


FLEET = (
    Column("state", "state"),
    Column("product", "product"),
    Column("project", "project"),
    Column("query", "query"),
    Column("fresh_s", "fresh", _seconds, number=True),
    Column("rows_left", "behind", number=True),
    Column("bytes_left", "bytes left", _size, number=True),
    Column("per_second", "docs/s", lambda value: f"{value or 0:,.0f}", number=True),
    Column("documents", "sent", number=True),
    Column("cost", "cost", _share, number=True),
    Column("state_bytes", "state size", _size, number=True),
    Column("dead", "dead letters", number=True),
    Column("wants_attention", "needs attention"),
    Column("because", "because"),
    Column("missed", "missed"),
)
SORTS: Mapping[str, Callable[[ProductStatus], tuple[object, ...]]] = {
    "product": lambda each: (each.product,),
    "fresh": lambda each: (-(each.fresh_s or 0.0),),
    "behind": lambda each: (-each.rows_left, -each.bytes_left),
    "rate": lambda each: (-each.per_second,),
    "sent": lambda each: (-each.documents,),
    "cost": lambda each: (-(each.cost or 0.0),),
    "size": lambda each: (-(each.state_bytes or 0),),
    "dead": lambda each: (-each.dead,),
}
"""What the products may be sorted by; the least first."""


def chosen(
    snapshot: Snapshot, *, text: str = "", attention: bool = False, sort: str = ""
) -> list[Standing]:
    """Return the products that are asked for, in the order that is.

    Args:
        snapshot: All of them.
        text: Words that the product, its project, query or state has in its name; all of them.
        attention: Only what wants attention.
        sort: A name of `SORTS`; what wants attention first where it is another.
    """
    words = text.casefold().split()
    found = [
        each
        for each in snapshot.products
        if (each.status.wants_attention or not attention)
        and all(word in _names(each) for word in words)
    ]
    by = SORTS.get(sort)
    return found if by is None else sorted(found, key=lambda each: by(each.status))


def _names(each: Standing) -> str:
    status = each.status
    return f"{status.product} {each.place.slug} {status.query} {status.state}".casefold()


def fleet_table(products: Iterable[Standing]) -> Table:
    """Return the products of a fleet, one row each."""
    return Table("products", "products", FLEET, tuple(map(_fleet_row, products)))


def _fleet_row(standing: Standing) -> Row:
    row: dict[str, Value] = {
        name: value
        for name, value in standing.status.to_json().items()
        if value is None or isinstance(value, str | int | float)
    }
    return {**row, "project": standing.place.slug, "missed": "; ".join(standing.status.missed)}


def warning_table(snapshot: Snapshot) -> Table:
    """Return what the runs of a fleet noticed."""
    rows = tuple({"project": project, "warning": text} for project, text in snapshot.warnings)
    columns = (Column("project", "project"), Column("warning", "warning", long=True))
    return Table("warnings", "warnings", columns, rows)


def relation_table(told: QueryStatus | None, totals: ProductTotals | None) -> Table:
    """Return what a product is made of, and how much of each is left to read."""
    columns = (
        Column("relation", "relation"),
        Column("rows_left", "records left", number=True),
        Column("bytes_left", "bytes left", _size, number=True),
        Column("watermark", "watermark", _when),
    )
    rows: list[Row] = []
    for name in totals.relations if told is not None and totals is not None else ():
        assert told is not None
        watermark = told.watermarks.get(name, {}).get("watermark")
        rows.append(
            {
                "relation": name,
                "rows_left": told.rows_left.get(name),
                "bytes_left": told.bytes_left.get(name),
                "watermark": str(watermark) if watermark else None,
            }
        )
    return Table("relations", "reads", columns, tuple(rows), "no run has reported yet")


def frontier_table(status: ProductStatus) -> Table:
    """Return up to where a product shows everything, a row for each relation."""
    columns = (
        Column("source", "source"),
        Column("relation", "relation"),
        Column("place", "place in its log"),
        Column("sure", "sure"),
        Column("committed_at", "last committed", _when),
        Column("read", "read up to", _short, long=True),
    )
    rows: tuple[Row, ...] = tuple(
        {
            "source": each.source,
            "relation": relation,
            "place": each.place or None,
            "sure": each.sure,
            "committed_at": None if each.committed_at is None else moment_text(each.committed_at),
            "read": " ".join(each.read.get(relation, ())) or None,
        }
        for each in status.frontiers
        for relation in sorted(each.read)
    )
    return Table("frontier", "shows everything up to", columns, rows, "no run has reported yet")


def counter_table(totals: ProductTotals | None) -> Table:
    """Return what a product's run counted beside documents."""
    columns = (Column("counter", "counter"), Column("count", "count", number=True))
    counters = sorted(totals.counters.items()) if totals is not None else ()
    rows: tuple[Row, ...] = tuple({"counter": name, "count": count} for name, count in counters)
    return Table("counters", "counted", columns, rows, "nothing out of the ordinary")


def batch_table(told: QueryStatus | None) -> Table:
    """Return the last batches of a product's query, the newest first."""
    columns = (
        Column("batch", "batch", number=True),
        Column("ended_at", "ended", _when),
        Column("rows", "rows", number=True),
        Column("seconds", "took", _seconds, number=True),
        Column("rows_per_second", "rows/s", lambda value: f"{value or 0:,.0f}", number=True),
        Column("stage_ms", "process, ms", number=True),
        Column("sinks_ms", "write, ms", number=True),
        Column("slowest", "slowest sink", long=True),
    )
    rows: tuple[Row, ...] = tuple(
        {
            "batch": each.number,
            "ended_at": moment_text(each.ended_at),
            "rows": each.rows,
            "seconds": each.seconds,
            "rows_per_second": round(each.rows / each.seconds, 1) if each.seconds else None,
            "stage_ms": each.durations_ms.get("stage"),
            "sinks_ms": each.durations_ms.get("sinks"),
            "slowest": max(each.sinks_ms, key=lambda name: each.sinks_ms[name], default=None),
        }
        for each in (told.batches if told is not None else ())
    )
    return Table("batches", "last batches", columns, rows, "no batch has finished yet")


def hot_key_table(totals: ProductTotals | None) -> Table:
    """Return the keys of a product that had much of their node's messages, the most first."""
    columns = (
        Column("node", "node"),
        Column("by", "by"),
        Column("key", "key", long=True),
        Column("share", "share", _share, number=True),
        Column("share_at_most", "at most", _share, number=True),
        Column("messages", "messages", number=True),
        Column("error", "may be higher by", number=True),
        Column("of", "of", number=True),
    )
    rows: tuple[Row, ...] = tuple(
        {
            "node": each.node,
            "by": each.by,
            "key": each.key,
            "share": round(each.share, 4),
            "share_at_most": round(each.most, 4),
            "messages": each.messages,
            "error": each.error,
            "of": each.of,
        }
        for each in (totals.hot_keys if totals is not None else ())
    )
    empty = "no key stands out in the last batches"
    return Table("hot_keys", "hot keys", columns, rows, empty)


def minute_table(minutes: Sequence[Minute]) -> Table:
    """Return what a product did in the last day, the newest minute first."""
    columns = (
        Column("at", "at", _when),
        Column("batches", "batches", number=True),
        Column("last_batch", "last batch", number=True),
        Column("rows", "rows", number=True),
        Column("sent", "sent", number=True),
        Column("longest_s", "longest batch", _seconds, number=True),
        Column("writing_s", "writing of it", _seconds, number=True),
        Column("fresh_s", "fresh", _seconds, number=True),
        Column("rows_left", "behind", number=True),
        Column("bytes_left", "bytes left", _size, number=True),
        Column("paused", "paused"),
        Column("waits", "waited for", long=True),
        Column("ended", "run"),
    )
    rows: tuple[Row, ...] = tuple(
        {
            "at": moment_text(each.at),
            "batches": each.batches.count,
            "last_batch": each.batches.last,
            "rows": each.batches.rows,
            "sent": each.sent,
            "longest_s": each.batches.longest_s,
            "writing_s": each.batches.writing_s,
            "fresh_s": each.fresh_s,
            "rows_left": each.rows_left,
            "bytes_left": each.bytes_left,
            "paused": each.paused,
            "waits": ", ".join(each.waits),
            "ended": each.ended,
        }
        for each in reversed(minutes)
    )
    return Table("minutes", "the last 24 hours", columns, rows, "nothing was sent")


def action_table(actions: Sequence[LoggedAction], handled: Sequence[HandledLetters] = ()) -> Table:
    """Return what people did to a product, the newest first.

    Args:
        actions: But for its dead letters.
        handled: What they did about its dead letters.
    """
    columns = (
        Column("at", "at", _when),
        Column("verb", "action"),
        Column("letters", "dead letters", number=True),
        Column("by", "by", long=True),
        Column("why", "why", long=True),
    )
    rows: list[Row] = [
        {"at": each.at, "verb": each.verb, "letters": None, "by": each.by, "why": each.told}
        for each in actions
    ]
    rows += [
        {"at": each.at, "verb": _ASKED[each.state], "letters": each.count, "by": each.by, "why": ""}
        for each in handled
    ]
    newest = sorted(rows, key=lambda row: str(row["at"]), reverse=True)
    return Table("actions", "actions", columns, tuple(newest[:_ACTIONS]), "nothing")


def dead_letter_table(letters: Iterable[DeadLetter]) -> Table:
    """Return dead letters, the newest first, a hundred at most."""
    columns = (
        Column("id", "id"),
        Column("time", "time", _when),
        Column("reason", "reason"),
        Column("of", "of"),
        Column("place", "place", _short, long=True),
        Column("detail", "detail", _short, long=True),
        Column("value", "value", _short, long=True),
    )
    rows = tuple(
        {
            "id": each.id,
            "time": each.time,
            "reason": each.reason,
            "of": each.of,
            "place": each.place,
            "detail": each.detail,
            "value": _kept(each),
        }
        for each in list(letters)[:_LETTERS]
    )
    return Table("dead_letters", "dead letters", columns, rows)


def _kept(letter: DeadLetter) -> str | None:
    value = letter.facts.get("value", letter.facts.get("value_base64"))
    return None if value is None else str(value)


def clock_text(seconds: float) -> str:
    """Return a time of the day in UTC.

    Example:
        >>> clock_text(3661)
        '01:01:01Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%SZ")
