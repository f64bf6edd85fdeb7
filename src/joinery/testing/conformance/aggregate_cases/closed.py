"""Cases of windows that are sent once they are closed."""

from __future__ import annotations

from joinery.testing.changes import delete, insert
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert


def _project(emit: str = "", window: str = "{tumbling: 1h}") -> str:
    return f"""
relations:
  sale:
    key: [id]
    fields: {{id: long, shop: string, at: timestamp}}
    time: at
    watermark: {{delay: 10m}}
products:
  p:
    aggregate: sale
    by: [shop]
    window: {window}
    values: {{n: count(*)}}
    emit: {{when: closed{emit}}}
"""


def _at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


def _hour(shop: str, hour: int, n: int) -> dict[str, object]:
    bounds = {"window_start": _at(f"{hour:02}:00"), "window_end": _at(f"{hour + 1:02}:00")}
    return {"shop": shop, **bounds, "n": n, "final": True}


def _key(hour: int, shop: str = "a") -> tuple[str, str]:
    return shop, _at(f"{hour:02}:00")


CASES = (
    case(
        "a window is sent once, when the watermark has reached its end",
        _project(),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")),
            insert("sale", id=2, shop="a", at=_at("11:05")),
        ),
        when(insert("sale", id=3, shop="b", at="2026-03-01T11:09:59Z")),
        when(
            insert("sale", id=4, shop="b", at=_at("11:10")),
            then=[upsert(_key(10), _hour("a", 10, 1))],
        ),
        when(
            insert("sale", id=5, shop="b", at=_at("12:10")),
            then=[upsert(_key(11), _hour("a", 11, 1)), upsert(_key(11, "b"), _hour("b", 11, 2))],
        ),
    ),
    case(
        "a row counts in its window that its own batch closes",
        _project(),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")),
            insert("sale", id=2, shop="a", at=_at("10:59")),
            insert("sale", id=3, shop="a", at=_at("11:10")),
            then=[upsert(_key(10), _hour("a", 10, 2))],
        ),
    ),
    case(
        "allowed lateness puts off the close",
        _project(", allowed: 20m"),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")),
            insert("sale", id=2, shop="a", at=_at("11:20")),
        ),
        when(
            insert("sale", id=3, shop="a", at=_at("10:50")),
            insert("sale", id=4, shop="a", at=_at("11:30")),
            then=[upsert(_key(10), _hour("a", 10, 2))],
        ),
    ),
    case(
        "a late row corrects a closed window at once",
        _project(),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")),
            insert("sale", id=2, shop="a", at=_at("13:00")),
            then=[upsert(_key(10), _hour("a", 10, 1))],
        ),
        when(
            insert("sale", id=3, shop="a", at=_at("10:06")),
            insert("sale", id=4, shop="b", at=_at("10:06")),
            then=[upsert(_key(10), _hour("a", 10, 2)), upsert(_key(10, "b"), _hour("b", 10, 1))],
        ),
    ),
    case(
        "what a delete takes back from a closed window is a correction under every policy",
        _project(", late: drop"),
        when(
            insert("sale", id=1, shop="a", at=_at("10:05")),
            insert("sale", id=2, shop="a", at=_at("10:06")),
            insert("sale", id=3, shop="a", at=_at("13:00")),
            then=[upsert(_key(10), _hour("a", 10, 2))],
        ),
        when(delete("sale", id=1), then=[upsert(_key(10), _hour("a", 10, 1))]),
        when(delete("sale", id=2), then=[gone(_key(10))]),
    ),
    case(
        "a group whose rows left before its window closed is never sent",
        _project(),
        when(insert("sale", id=1, shop="a", at=_at("10:05"))),
        when(delete("sale", id=1), insert("sale", id=2, shop="b", at=_at("12:10"))),
    ),
    case(
        "windows that overlap close each at its end",
        _project(window="{hopping: 1h, every: 30m}"),
        when(insert("sale", id=1, shop="a", at=_at("10:05"))),
        when(
            insert("sale", id=2, shop="a", at=_at("10:40")),
            then=[
                upsert(
                    ("a", _at("09:30")),
                    {
                        "shop": "a",
                        "window_start": _at("09:30"),
                        "window_end": _at("10:30"),
                        "n": 1,
                        "final": True,
                    },
                )
            ],
        ),
    ),
)
