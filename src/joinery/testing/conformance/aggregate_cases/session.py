"""Cases of sessions and of sliding windows."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert


def _project(window: str, emit: str = "") -> str:
    return f"""
relations:
  click:
    key: [id]
    fields: {{id: long, user: string, at: timestamp}}
    time: at
    watermark: {{delay: 10m}}
products:
  p:
    aggregate: click
    by: [user]
    window: {window}
    values: {{n: count(*)}}
    emit: {{retention: 7d{emit}}}
"""


_SESSION = _project("{session: 30m}")
_CUT = _project("{session: 30m, max: 1h}")
_CLOSED = _project("{session: 30m}", ", when: closed")
_CUT_CLOSED = _project("{session: 30m, max: 1h}", ", when: closed")
_SLIDING = _project("{sliding: 20m}")


def _at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


def _run(start: str, end: str, n: int, **more: object) -> dict[str, object]:
    return {"user": "u", "window_start": _at(start), "window_end": _at(end), "n": n, **more}


CASES = (
    case(
        "rows less than the gap apart are one session; it ends a gap after its last row",
        _SESSION,
        when(
            insert("click", id=1, user="u", at=_at("10:00")),
            insert("click", id=2, user="u", at="2026-03-01T10:29:59Z"),
            insert("click", id=3, user="u", at="2026-03-01T10:59:59Z"),
            then=[
                upsert(
                    ("u", _at("10:00")),
                    {
                        "user": "u",
                        "window_start": _at("10:00"),
                        "window_end": "2026-03-01T10:59:59Z",
                        "n": 2,
                    },
                ),
                upsert(
                    ("u", "2026-03-01T10:59:59Z"),
                    {
                        "user": "u",
                        "window_start": "2026-03-01T10:59:59Z",
                        "window_end": "2026-03-01T11:29:59Z",
                        "n": 1,
                    },
                ),
            ],
        ),
    ),
    case(
        "a row between two sessions makes them one, and the later key goes in the same batch",
        _SESSION,
        when(
            insert("click", id=1, user="u", at=_at("10:00")),
            insert("click", id=2, user="u", at=_at("10:40")),
            then=[
                upsert(("u", _at("10:00")), _run("10:00", "10:30", 1)),
                upsert(("u", _at("10:40")), _run("10:40", "11:10", 1)),
            ],
        ),
        when(
            insert("click", id=3, user="u", at=_at("10:20")),
            then=[
                upsert(("u", _at("10:00")), _run("10:00", "11:10", 3)),
                gone(("u", _at("10:40"))),
            ],
        ),
        when(
            delete("click", id=3),
            then=[
                upsert(("u", _at("10:00")), _run("10:00", "10:30", 1)),
                upsert(("u", _at("10:40")), _run("10:40", "11:10", 1)),
            ],
        ),
    ),
    case(
        "a session whose first row moves has another key",
        _SESSION,
        when(
            insert("click", id=1, user="u", at=_at("10:00")),
            insert("click", id=2, user="u", at=_at("10:10")),
            then=[upsert(("u", _at("10:00")), _run("10:00", "10:40", 2))],
        ),
        when(
            update("click", id=1, at=_at("10:05")),
            then=[
                gone(("u", _at("10:00"))),
                upsert(("u", _at("10:05")), _run("10:05", "10:40", 2)),
            ],
        ),
    ),
    case(
        "a long session is cut at multiples of the most after its first row",
        _CUT,
        when(
            insert("click", id=1, user="u", at=_at("10:00")),
            insert("click", id=2, user="u", at=_at("10:25")),
            insert("click", id=3, user="u", at=_at("10:50")),
            insert("click", id=4, user="u", at=_at("11:10")),
            insert("click", id=5, user="u", at=_at("11:30")),
            then=[
                upsert(("u", _at("10:00")), _run("10:00", "11:00", 3)),
                upsert(("u", _at("11:10")), _run("11:10", "12:00", 2)),
            ],
        ),
    ),
)

CLOSED_CASES = (
    case(
        "a closed session that a late row reopens is a tombstone until it closes again",
        _CLOSED,
        when(insert("click", id=1, user="u", at=_at("10:00"))),
        when(
            insert("click", id=2, user="v", at=_at("10:40")),
            then=[upsert(("u", _at("10:00")), _run("10:00", "10:30", 1, final=True))],
        ),
        when(
            insert("click", id=3, user="u", at=_at("10:20")),
            then=[gone(("u", _at("10:00")))],
        ),
        when(
            insert("click", id=4, user="v", at=_at("11:00")),
            then=[upsert(("u", _at("10:00")), _run("10:00", "10:50", 2, final=True))],
        ),
    ),
    case(
        "a session that is cut is closed at the cut, before a gap is over; and cuts move",
        _CUT_CLOSED,
        when(
            insert("click", id=1, user="u", at=_at("10:00")),
            insert("click", id=2, user="u", at=_at("10:25")),
            insert("click", id=3, user="u", at=_at("10:50")),
        ),
        when(
            insert("click", id=4, user="v", at=_at("11:10")),
            then=[upsert(("u", _at("10:00")), _run("10:00", "11:00", 3, final=True))],
        ),
        when(
            insert("click", id=5, user="u", at=_at("11:05")),
            insert("click", id=6, user="v", at=_at("11:20")),
        ),
        when(
            delete("click", id=1),
            then=[gone(("u", _at("10:00")))],
        ),
        when(
            insert("click", id=7, user="v", at=_at("11:35")),
            then=[upsert(("u", _at("10:25")), _run("10:25", "11:25", 3, final=True))],
        ),
    ),
)

SLIDING_CASES = (
    case(
        "a sliding window holds the last rows up to the watermark, and moves with it",
        _SLIDING,
        when(
            insert("click", id=1, user="u", at=_at("10:00")),
            insert("click", id=2, user="u", at=_at("10:10")),
            then=[upsert("u", {"user": "u", "n": 1})],
        ),
        when(
            insert("click", id=3, user="v", at=_at("10:20")),
            then=[upsert("u", {"user": "u", "n": 2})],
        ),
        when(
            insert("click", id=4, user="v", at=_at("10:30")),
            then=[upsert("u", {"user": "u", "n": 1}), upsert("v", {"user": "v", "n": 1})],
        ),
        when(
            insert("click", id=5, user="v", at=_at("10:40")),
            then=[gone("u"), upsert("v", {"user": "v", "n": 2})],
        ),
    ),
)
