"""Cases of rows below the watermark: they correct, are left out, or come too late."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert


def _project(
    emit: str,
    *,
    delay: str = "10m",
    window: str = "window: {tumbling: 1h},",
    values: str = "n: count(*)",
    relation: str = "key: [id]",
) -> str:
    return f"""
relations:
  sale:
    {relation}
    fields: {{id: long, shop: string, at: timestamp}}
    time: at
    watermark: {{delay: {delay}}}
products:
  p: {{aggregate: sale, by: [shop], {window} values: {{{values}}}, emit: {{{emit}}}}}
"""


_EVENTS = "key: [id]\n    format: debezium-json"
_EVENT_LOG = "append: true\n    format: debezium-json"


def _at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


def _hour(shop: str, hour: int, n: int) -> dict[str, object]:
    bounds = {"window_start": _at(f"{hour:02}:00"), "window_end": _at(f"{hour + 1:02}:00")}
    return {"shop": shop, **bounds, "n": n}


def _key(hour: int, shop: str = "a") -> tuple[str, str]:
    return shop, _at(f"{hour:02}:00")


def _run(start: str, end: str, n: int) -> dict[str, object]:
    return {"shop": "a", "window_start": _at(start), "window_end": _at(end), "n": n}


def _run_key(start: str) -> tuple[str, str]:
    return "a", _at(start)


CASES = (
    case(
        "a late row corrects its window",
        _project("late: correct"),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")),
            insert("sale", id=2, shop="a", at=_at("15:05")),
            then=[upsert(_key(10), _hour("a", 10, 1)), upsert(_key(15), _hour("a", 15, 1))],
        ),
        when(
            insert("sale", id=3, shop="a", at=_at("10:06")),
            then=[upsert(_key(10), _hour("a", 10, 2))],
        ),
    ),
    case(
        "a late row that is dropped is as if not in the log, also within its batch",
        _project("late: drop"),
        when(
            insert("sale", id=1, shop="a", at=_at("15:05")),
            insert("sale", id=2, shop="a", at=_at("10:06")),
            insert("sale", id=3, shop="a", at=_at("14:55")),
            then=[upsert(_key(14), _hour("a", 14, 1)), upsert(_key(15), _hour("a", 15, 1))],
        ),
        when(insert("sale", id=4, shop="a", at="2026-03-01T14:54:59Z")),
    ),
    case(
        "allowed lateness lowers what is late",
        _project("late: drop, allowed: 1h"),
        when(
            insert("sale", id=1, shop="a", at=_at("15:00")),
            insert("sale", id=2, shop="a", at=_at("13:50")),
            insert("sale", id=3, shop="a", at="2026-03-01T13:49:59Z"),
            then=[upsert(_key(13), _hour("a", 13, 1)), upsert(_key(15), _hour("a", 15, 1))],
        ),
    ),
    case(
        "a dropped update leaves the row that stands",
        _project("late: drop"),
        when(
            insert("sale", id=1, shop="a", at=_at("15:05")),
            insert("sale", id=2, shop="b", at=_at("15:05")),
            then=[
                upsert(_key(15), _hour("a", 15, 1)),
                upsert(_key(15, "b"), _hour("b", 15, 1)),
            ],
        ),
        when(update("sale", id=1, shop="b", at=_at("10:00"))),
        when(
            update("sale", id=1, shop="b"),
            then=[gone(_key(15)), upsert(_key(15, "b"), _hour("b", 15, 2))],
        ),
    ),
    case(
        "a delete is never late, and takes back from its window under every policy",
        _project("late: drop"),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")),
            insert("sale", id=2, shop="a", at=_at("15:05")),
            then=[upsert(_key(10), _hour("a", 10, 1)), upsert(_key(15), _hour("a", 15, 1))],
        ),
        when(delete("sale", id=1), then=[gone(_key(10))]),
    ),
    case(
        "a stale change moves the watermark and is never late",
        _project("late: drop"),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")).at(9),
            then=[upsert(_key(10), _hour("a", 10, 1))],
        ),
        when(insert("sale", id=1, shop="a", at=_at("15:05")).at(3)),
        when(insert("sale", id=2, shop="a", at=_at("10:06")).at(10)),
    ),
    case(
        "a late row is left out of a product without window, too",
        _project("late: drop", window=""),
        when(
            insert("sale", id=1, shop="a", at=_at("15:05")),
            insert("sale", id=2, shop="a", at=_at("10:06")),
            then=[upsert("a", {"shop": "a", "n": 1})],
        ),
    ),
    case(
        "a window whose retention is over stays as it was sent",
        _project("retention: 1h"),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")),
            insert("sale", id=2, shop="a", at=_at("12:09")),
            then=[upsert(_key(10), _hour("a", 10, 1)), upsert(_key(12), _hour("a", 12, 1))],
        ),
        when(
            insert("sale", id=3, shop="a", at=_at("10:06")),
            then=[upsert(_key(10), _hour("a", 10, 2))],
        ),
        when(
            insert("sale", id=4, shop="a", at=_at("12:10")),
            insert("sale", id=5, shop="a", at=_at("10:07")),
            delete("sale", id=1),
            then=[upsert(_key(12), _hour("a", 12, 2))],
        ),
    ),
    case(
        "a time that stands for never, or for always, is none",
        _project("late: correct"),
        when(
            insert("sale", id=1, shop="a", at="9999-12-31T23:59:59Z"),
            insert("sale", id=2, shop="a", at="0001-01-01T00:00:00Z"),
            insert("sale", id=3, shop="a", at=_at("10:06")),
            then=[upsert(_key(10), _hour("a", 10, 1))],
        ),
        when(
            update("sale", id=3, shop="a", at="9999-12-31T23:59:59Z"),
            then=[gone(_key(10))],
        ),
    ),
    case(
        "rows whose time stands for never come before those that have one",
        _project(
            "late: correct", window="", values='one: first(id), s: last(id), all: "collect(id, 3)"'
        ),
        when(
            insert("sale", id=7, shop="a", at="9999-12-31T23:59:59Z"),
            insert("sale", id=5, shop="a", at="0001-01-01T00:00:00Z"),
            insert("sale", id=4, shop="a", at=_at("10:06")),
            insert("sale", id=6, shop="a", at=None),
            then=[upsert("a", {"shop": "a", "one": 5, "s": 4, "all": [5, 6, 7]})],
        ),
        when(
            delete("sale", id=4),
            then=[upsert("a", {"shop": "a", "one": 5, "s": 7, "all": [5, 6, 7]})],
        ),
    ),
    case(
        "a new row of a snapshot counts in a window that the watermark left long before",
        _project("retention: 1h", relation=_EVENTS),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")).as_snapshot(),
            then=[upsert(_key(10), _hour("a", 10, 1))],
        ),
        when(
            insert("sale", id=2, shop="a", at=_at("15:05")),
            then=[upsert(_key(15), _hour("a", 15, 1))],
        ),
        when(
            insert("sale", id=3, shop="a", at=_at("10:06")).as_snapshot(),
            insert("sale", id=4, shop="b", at=_at("10:06")).as_snapshot(),
            insert("sale", id=5, shop="a", at=_at("10:07")),
            then=[upsert(_key(10), _hour("a", 10, 2)), upsert(_key(10, "b"), _hour("b", 10, 1))],
            counts={"late": 1, "too_late": 1},
        ),
        when(
            insert("sale", id=1, shop="b", at=_at("10:05")).as_snapshot(),
            then=[upsert(_key(10), _hour("a", 10, 1)), upsert(_key(10, "b"), _hour("b", 10, 2))],
        ),
    ),
    case(
        "a new row of a snapshot prolongs a session that the watermark left long before",
        _project("retention: 1h", relation=_EVENTS, window="window: {session: 30m},"),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")).as_snapshot(),
            then=[upsert(_run_key("10:05"), _run("10:05", "10:35", 1))],
        ),
        when(
            insert("sale", id=2, shop="a", at=_at("15:05")),
            then=[upsert(_run_key("15:05"), _run("15:05", "15:35", 1))],
        ),
        when(
            insert("sale", id=3, shop="a", at=_at("10:15")).as_snapshot(),
            then=[upsert(_run_key("10:05"), _run("10:05", "10:45", 2))],
        ),
    ),
    case(
        "a new row of a snapshot counts in an old window of a log, too",
        _project("retention: 1h", relation=_EVENT_LOG),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")).as_snapshot(),
            insert("sale", id=2, shop="a", at=_at("15:05")),
            then=[upsert(_key(10), _hour("a", 10, 1)), upsert(_key(15), _hour("a", 15, 1))],
        ),
        when(insert("sale", id=2, shop="c", at=_at("10:05"))),
        when(
            insert("sale", id=3, shop="a", at=_at("10:06")).as_snapshot(),
            then=[upsert(_key(10), _hour("a", 10, 2))],
        ),
    ),
    case(
        "a row without a time is counted, also one of a snapshot",
        _project("retention: 1h", relation=_EVENTS),
        when(
            insert("sale", id=1, shop="a", at=None).as_snapshot(),
            insert("sale", id=2, shop="a", at=None),
            counts={"event_without_time": 2},
        ),
        when(
            insert("sale", id=2, shop="a", at=_at("10:05")).as_snapshot(),
            then=[upsert(_key(10), _hour("a", 10, 1))],
            counts={},
        ),
    ),
    case(
        "a row of a log without a time is counted, also one of a snapshot",
        _project("retention: 1h", relation=_EVENT_LOG),
        when(
            insert("sale", id=1, shop="a", at=None).as_snapshot(),
            insert("sale", id=2, shop="a", at=None),
            counts={"event_without_time": 2},
        ),
    ),
)
