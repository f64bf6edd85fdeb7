"""The cases of products that find patterns in the rows of a key."""

from __future__ import annotations

import re

from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.case import Case, case, when
from joinery.testing.driver import Emission, gone, upsert


def _project(match: str, more: str = "", *, append: bool = False, watermark: str = "30s") -> str:
    kind = "append: true\n    " if append else ""
    define = ", ".join(f"{each}: \"kind = '{each.lower()}'\"" for each in "ABC" if each in match)
    return f"""
relations:
  e:
    {kind}key: [id]
    fields: {{id: long, who: string, kind: string, x: long, at: timestamp}}
    time: at
    watermark: {{delay: {watermark}}}
products:
  p:
    pattern: e
    by: [who]
    define: {{{define}}}
    match: "{match}"
    {more.replace(chr(10), chr(10) + "    ")}
"""


def _only(match: str, define: str, more: str = "") -> str:
    return re.sub("define: .*", f"define: {define}", _project(match, more))


def _at(minute: int, second: int = 0) -> str:
    return f"2026-03-01T10:{minute:02}:{second:02}Z"


def _e(id: int, kind: str, minute: int | None = None, who: str = "u", x: int = 0) -> RowChange:
    at = None if minute is None else _at(minute)
    return insert("e", id=id, who=who, kind=kind, x=x, at=at)


def _match(id: int, who: str = "u", **fields: object) -> Emission:
    start = {"id": id}
    return upsert((who, start), {"who": who, "start": start, **fields})


def _gone(id: int, who: str = "u") -> Emission:
    return gone((who, {"id": id}))


_ENDS = 'fields: {first: "first(A.id)", last: last(B.id), n: count(*)}'
_DEFINE_ANY = """{A: "kind = 'a'"}"""

_RULED = """
relations:
  limit: {key: [kind], fields: {kind: string, least: long, most: long}}
"""


def _ruled(more: str = "", *, append: bool = False) -> str:
    declared = _only("A -> B", '{A: x >= r.least, B: "x > r.most or x > sum(A.r.most)"}', more)
    declared = declared.replace("\nrelations:\n", _RULED)
    declared = declared.replace(
        "    define:", "    rules: {r: {one: limit, on: [kind]}}\n    define:"
    )
    return declared.replace("key: [id]", "append: true\n    key: [id]") if append else declared


def _limit(kind: str, least: int | None, most: int | None) -> RowChange:
    return insert("limit", kind=kind, least=least, most=most)


CASES: tuple[Case, ...] = (
    case(
        "the very next row of the key, whatever comes of others",
        _project("A B", _ENDS, append=True),
        when(
            _e(1, "a", 1), _e(2, "x", 2, "v"), _e(3, "b", 3), then=[_match(1, first=1, last=3, n=2)]
        ),
        when(_e(4, "a", 4), _e(5, "x", 5), _e(6, "b", 6)),
    ),
    case(
        "a match over several batches",
        _project("A B C", append=True),
        when(_e(1, "a", 1)),
        when(_e(2, "b", 2)),
        when(_e(3, "c", 3), then=[_match(1)]),
    ),
    case(
        "rows stand in the order of their times, however they come",
        _project("A B C", append=True, watermark="1h"),
        when(_e(3, "c", 3)),
        when(_e(1, "a", 1)),
        when(_e(2, "b", 2), then=[_match(1)]),
    ),
    case(
        "rows of one time stand in the order of their keys",
        _project("A B", append=True),
        when(_e(2, "b", 1), _e(1, "a", 1), then=[_match(1)]),
        when(_e(4, "a", 2), _e(3, "b", 2)),
    ),
    case(
        "a late row between undoes a match of neighbours",
        _project("A B", append=True, watermark="1h"),
        when(_e(1, "a", 1), _e(3, "b", 3), then=[_match(1)]),
        when(_e(2, "x", 2), then=[_gone(1)]),
    ),
    case(
        "later rows are passed over, as few as can be",
        _project("A -> B", _ENDS, append=True),
        when(
            _e(1, "a", 1),
            _e(2, "x", 2),
            _e(3, "b", 3),
            _e(4, "b", 4),
            then=[_match(1, first=1, last=3, n=2)],
        ),
    ),
    case(
        "a later row that leads nowhere is passed over, too",
        _project("A -> B C", "fields: {b: B.id}", append=True),
        when(_e(1, "a", 1), _e(2, "b", 2), _e(3, "b", 3), _e(4, "c", 4), then=[_match(1, b=3)]),
    ),
    case(
        "the last of two alternatives where the first fails",
        _project("A (B | C) C", "fields: {b: B.id, c: first(C.id)}", append=True),
        when(_e(1, "a", 1), _e(2, "c", 2), _e(3, "c", 3), then=[_match(1, b=None, c=2)]),
    ),
    case(
        "as many as can be",
        _project("A B+", "fields: {n: count(B)}\nafter: past_last", append=True),
        when(_e(1, "a", 1), _e(2, "b", 2), then=[_match(1, n=1)]),
        when(_e(3, "b", 3), then=[_match(1, n=2)]),
        when(_e(4, "x", 4), _e(5, "b", 5)),
    ),
    case(
        "between so many and so many",
        _project("A{2,3} B", "fields: {n: count(A)}", append=True),
        when(_e(1, "a", 1), _e(2, "b", 2)),
        when(
            _e(3, "a", 3),
            _e(4, "a", 4),
            _e(5, "a", 5),
            _e(6, "a", 6),
            _e(7, "b", 7),
            then=[_match(4, n=3)],
        ),
    ),
    case(
        "none at all",
        _project("A B? C{2}", "fields: {n: count(B), c: last(C.id)}", append=True),
        when(_e(1, "a", 1), _e(2, "c", 2), _e(3, "c", 3), then=[_match(1, n=0, c=3)]),
        when(
            _e(4, "a", 4), _e(5, "b", 5), _e(6, "c", 6), _e(7, "c", 7), then=[_match(4, n=1, c=7)]
        ),
    ),
    case(
        "a group that is repeated",
        _project("(A B)+ C", "fields: {n: count(*)}", append=True),
        when(
            _e(1, "a", 1),
            _e(2, "b", 2),
            _e(3, "a", 3),
            _e(4, "b", 4),
            _e(5, "c", 5),
            then=[_match(1, n=5)],
        ),
    ),
    case(
        "the search goes on behind the last row",
        _project("A A", append=True),
        when(_e(1, "a", 1), _e(2, "a", 2), _e(3, "a", 3), then=[_match(1)]),
        when(_e(4, "a", 4), then=[_match(3)]),
    ),
    case(
        "or behind the first",
        _project("A A", "after: next_row", append=True),
        when(_e(1, "a", 1), _e(2, "a", 2), _e(3, "a", 3), then=[_match(1), _match(2)]),
        when(_e(4, "a", 4), then=[_match(3)]),
    ),
    case(
        "rows beyond the end in time are not seen",
        _project("A B*", "within: 2m\nfields: {n: count(B)}", append=True),
        when(_e(1, "a", 1), _e(2, "b", 3), _e(3, "b", 4), then=[_match(1, n=1)]),
    ),
    case(
        "a match that would end too late is none",
        _project("A -> B", "within: 2m", append=True),
        when(_e(1, "a", 1), _e(2, "b", 4)),
        when(_e(3, "a", 5), _e(4, "b", 7), then=[_match(3)]),
    ),
    case(
        "a condition sees the row before, in the match or not",
        _only("A B", """{A: "x > prev(x)", B: "prev(kind) = 'a'"}"""),
        when(_e(1, "x", 1, x=1), _e(2, "a", 2, x=2), _e(3, "b", 3, x=0), then=[_match(2)]),
        when(_e(5, "a", 5, "v", x=9), _e(6, "b", 6, "v")),
    ),
    case(
        "a condition sees what was taken before",
        _only(
            "A B+ C",
            """{A: "kind = 'a'", B: "x > last(A.x) and sum(B.x) <= 10", C: "x = count(B)"}""",
            "fields: {sum: sum(B.x), mean: avg(B.x), most: max(B.x), c: C.id}",
        ),
        when(
            _e(1, "a", 1, x=2),
            _e(2, "b", 2, x=3),
            _e(3, "b", 3, x=4),
            _e(4, "b", 4, x=2),
            then=[_match(1, sum=7, mean=3.5, most=4, c=4)],
        ),
    ),
    case(
        "a variable of its own condition includes the row under test",
        _only("A{1,9} B", """{A: "count(A) < 3 and A.x >= first(A.x)", B: "kind = 'b'"}"""),
        when(
            _e(1, "a", 1, x=1),
            _e(2, "a", 2, x=1),
            _e(3, "a", 3, x=1),
            _e(4, "b", 4),
            then=[_match(2)],
        ),
    ),
    case(
        "a condition that is null is false, and so is one that fails",
        _only("A B", """{A: "x > last(B.x)", B: "true"}"""),
        when(_e(1, "a", 1, x=1), _e(2, "b", 2, x=1)),
    ),
    case(
        "a variable without a condition is any row",
        _only("A Any", _DEFINE_ANY, "fields: {any: Any.id}"),
        when(_e(1, "a", 1), then=[]),
        when(_e(2, "x", 2), then=[_match(1, any=2)]),
    ),
    case(
        "a deleted row takes its match back, and gives others room",
        _project("A -> B", "fields: {b: B.id}"),
        when(_e(1, "a", 1), _e(2, "a", 2), _e(3, "b", 3), then=[_match(1, b=3)]),
        when(delete("e", id=1), then=[_gone(1), _match(2, b=3)]),
        when(delete("e", id=3), then=[_gone(2)]),
    ),
    case(
        "an update moves a row in time, and to another key",
        _project("A B", "fields: {b: B.x}"),
        when(_e(1, "a", 1), _e(2, "b", 2, x=5), then=[_match(1, b=5)]),
        when(update("e", id=2, who="u", kind="b", x=6, at=_at(3)), then=[_match(1, b=6)]),
        when(update("e", id=2, who="u", kind="b", x=6, at=_at(0)), then=[_gone(1)]),
        when(
            _e(3, "a", 0, "v"),
            update("e", id=2, who="v", kind="b", x=6, at=_at(3)),
            then=[_match(3, "v", b=6)],
        ),
    ),
    case(
        "rows without a time take no part",
        _project("A B", append=True),
        when(_e(1, "a", 1), _e(2, "x", None), _e(3, "b", 3), then=[_match(1)]),
    ),
    case(
        "another order than time",
        _project("A B", "order: [-x]"),
        when(_e(1, "a", 9, x=2), _e(2, "b", 1, x=1), then=[_match(1)]),
        when(_e(3, "x", 1, x=1)),
        when(_e(4, "x", 1, x=2), then=[_gone(1)]),
    ),
    case(
        "all rows, where they share nothing",
        _project("A B", append=True).replace("    by: [who]\n", ""),
        when(
            _e(1, "a", 1, "u"),
            _e(2, "b", 2, "v"),
            then=[upsert(({"id": 1},), {"start": {"id": 1}})],
        ),
    ),
    case(
        "null is a key like any other",
        _project("A B"),
        when(
            insert("e", id=1, who=None, kind="a", x=0, at=_at(1)),
            insert("e", id=2, who=None, kind="b", x=0, at=_at(2)),
            then=[upsert((None, {"id": 1}), {"who": None, "start": {"id": 1}})],
        ),
    ),
    case(
        "late rows that are dropped undo nothing, rows in time do",
        _project("A B", "emit: {late: drop}", append=True, watermark="1m"),
        when(_e(1, "a", 1), _e(2, "b", 3), then=[_match(1)]),
        when(_e(3, "x", 1), _e(4, "x", 2), then=[_gone(1)]),
    ),
    case(
        "what is too old for anything changes nothing",
        _project("A B", "within: 5m\nemit: {retention: 5m}", append=True, watermark="0s"),
        when(_e(1, "a", 1), _e(3, "b", 3), then=[_match(1)]),
        when(_e(4, "x", 20)),
        when(_e(2, "x", 2)),
    ),
    case(
        "a rule that changes makes, changes and takes back matches of rows told before",
        _ruled("fields: {x: B.x, most: B.r.most}", append=True),
        when(_e(1, "a", 1, x=5), _e(2, "b", 2, x=7), _limit("a", 5, 9)),
        when(_limit("b", 9, 6), then=[_match(1, x=7, most=6)]),
        when(update("limit", kind="b", most=4), then=[_match(1, x=7, most=4)]),
        when(update("limit", kind="b", least=1)),
        when(_e(3, "a", 3, "v", x=1), update("limit", kind="a", least=6), then=[_gone(1)]),
    ),
    case(
        "rows see their own rule, and without one nulls",
        _ruled("fields: {least: A.r.least}"),
        when(_limit("a", 1, 1), _e(1, "a", 1, x=2), _e(2, "b", 2, x=9), then=[_match(1, least=1)]),
        when(delete("limit", kind="a"), then=[_gone(1)]),
        when(_e(3, "b", 3, x=8), _limit("b", 0, None)),
        when(_limit("b", 0, 7), then=[_match(2, least=0)]),
        when(update("e", id=3, kind="c")),
        when(update("e", id=3, x=7), then=[_gone(2)]),
    ),
    case(
        "a rule changes nothing of matches that are over",
        _ruled("within: 1m\nemit: {retention: 1m}", append=True),
        when(_limit("a", 1, 1), _e(1, "a", 1, x=2), _e(2, "a", 1, x=3), then=[_match(1)]),
        when(_e(3, "x", 30)),
        when(_limit("a", 9, 9), _e(4, "a", 30, x=9), _e(5, "a", 30, x=10), then=[_match(4)]),
        when(delete("limit", kind="a"), then=[_gone(4)]),
    ),
)
"""Of matches that are sent as soon as they are there."""

WAITING: tuple[Case, ...] = (
    case(
        "a match that is closed is sent once, after its end in time",
        _project("A -> B", "within: 5m\nemit: {when: closed}", append=True, watermark="1m"),
        when(_e(1, "a", 1), _e(2, "b", 2)),
        when(_e(3, "x", 7, "v")),
        when(_e(4, "x", 8, "v"), then=[_match(1)]),
    ),
    case(
        "what did not follow is told once the time is over, by rows of any key",
        _project("A not B", "within: 5m", append=True, watermark="0s"),
        when(_e(1, "a", 1), _e(2, "a", 2, "v"), _e(3, "b", 4, "v")),
        when(_e(4, "x", 6, "w")),
        when(_e(5, "x", 7, "w"), then=[_match(1)]),
    ),
    case(
        "what follows at the very end still counts",
        _project("A not B", "within: 5m", append=True, watermark="1m"),
        when(_e(1, "a", 1), _e(2, "b", 6)),
        when(_e(3, "x", 30)),
    ),
    case(
        "a late row takes back what was told not to be, another delete brings it again",
        _project("A not B", "within: 5m", watermark="0s"),
        when(_e(1, "a", 1)),
        when(_e(2, "x", 7, "v"), then=[_match(1)]),
        when(_e(3, "b", 3), then=[_gone(1)]),
        when(delete("e", id=3), then=[_match(1)]),
    ),
    case(
        "what takes its rows while it waits leaves them once it fails",
        _project(
            "A A not B", "within: 3m\nfields: {last: last(A.id)}", append=True, watermark="0s"
        ),
        when(_e(1, "a", 1), _e(2, "a", 2), _e(3, "a", 3)),
        when(_e(4, "b", 4)),
        when(_e(5, "x", 9, "v")),
        when(_e(6, "a", 10), _e(7, "a", 11)),
        when(_e(8, "x", 20, "v"), then=[_match(6, last=7)]),
    ),
    case(
        "allowed lateness puts off what did not follow",
        _project("A not B", "within: 5m\nemit: {allowed: 2m}", append=True, watermark="0s"),
        when(_e(1, "a", 1)),
        when(_e(2, "x", 8, "v")),
        when(_e(3, "x", 9, "v"), then=[_match(1)]),
    ),
)
"""Of matches that wait for the watermark."""


def _hours(match: str, more: str) -> str:
    return f"""
relations:
  e:
    key: [id]
    fields: {{id: long, who: string, kind: string, x: long, at: timestamp}}
    time: at
  hours: {{product: hourly, time: window_start}}
products:
  p:
    pattern: hours
    by: [who]
    define: {{A: total > 10, B: total > 20}}
    match: "{match}"
    {more}
  hourly: {{aggregate: e, by: [who], window: {{tumbling: 5m}}, values: {{total: sum(x)}}}}
"""


def _of_hour(minute: int, who: str = "u", **fields: object) -> Emission:
    start = {"who": who, "window_start": _at(minute)}
    return upsert((who, start), {"who": who, "start": start, **fields})


def _gone_hour(minute: int, who: str = "u") -> Emission:
    return gone((who, {"who": who, "window_start": _at(minute)}))


_READING = (
    case(
        "matches in the rows of a product follow its corrections",
        _hours("A B", "fields: {last: last(B.total)}"),
        when(_e(1, "x", 1, x=11), _e(2, "x", 6, x=25), then=[_of_hour(0, last=25)]),
        when(update("e", id=2, x=2), then=[_gone_hour(0)]),
        when(_e(3, "x", 7, x=20), then=[_of_hour(0, last=22)]),
        when(_e(4, "x", 8, x=1), then=[_of_hour(0, last=23)]),
        when(delete("e", id=1), then=[_gone_hour(0)]),
    ),
    case(
        "what did not follow in the rows of a product goes by the log behind it",
        _hours("A not B", "within: 10m"),
        when(_e(1, "x", 1, x=11), _e(2, "x", 1, "v", x=11)),
        when(_e(3, "x", 9, "v", x=25)),
        when(_e(4, "x", 40, "w", x=1), then=[_of_hour(0), _of_hour(5, "v")]),
        when(update("e", id=3, x=5), then=[_of_hour(0, "v"), _gone_hour(5, "v")]),
    ),
)
_ENDLESS = _only(
    "(A | B)+ C",
    "{A: count(*) > 0, B: count(*) > 0, C: \"kind = 'c' or count(*) < 0\"}",
    "fields: {n: count(A)}",
)
_GIVEN_UP = case(
    "a start that takes too many tests is given up and counted, until a row ends its match",
    _ENDLESS,
    when(*(_e(each, "a", each) for each in range(18)), counts={"instance_limit": 3}),
    when(_e(18, "c", 18), then=[_match(0, n=18)], counts={}),
)
_FAILING = "fields: {last: B.id}"
_FAILURES = (
    case(
        "a condition of the row alone that fails is counted once for each row",
        _only("A -> B", """{A: 100 / x > 20, B: "kind = 'b'"}""", _FAILING).replace("30s", "1h"),
        when(_e(1, "a", 1, x=0), _e(2, "a", 2), counts={"expression_errors": 2}),
        when(_e(3, "b", 3, x=1), update("e", id=1, kind="c"), counts={}),
        when(update("e", id=1, x=2), then=[_match(1, last=3)], counts={}),
        when(update("e", id=1, x=0), then=[_gone(1)], counts={"expression_errors": 1}),
    ),
    case(
        "so is one that reads a rule, when the row or its rule begins to fail it",
        _ruled(_FAILING).replace("A: x >= r.least", "A: x / r.least > 2").replace("30s", "1h"),
        when(
            _limit("a", 0, 5),
            *(_e(1, "a", 1, x=3), _e(2, "a", 2, x=3), _e(3, "c", 3, x=3)),
            counts={"expression_errors": 2},
        ),
        when(_limit("b", 1, 1), _e(4, "b", 4, x=2), update("e", id=2, x=4), counts={}),
        when(update("limit", kind="a", most=6), counts={}),
        when(update("limit", kind="a", least=1), then=[_match(1, last=4)], counts={}),
        when(update("limit", kind="a", least=0), then=[_gone(1)], counts={"expression_errors": 2}),
        when(_limit("c", 0, 5), counts={"expression_errors": 1}),
        when(update("e", id=3, at=_at(7)), counts={}),
    ),
)
CASES += (*_READING[:1], _GIVEN_UP, *_FAILURES)
WAITING += _READING[1:]


def pattern_cases() -> tuple[Case, ...]:
    """Return the cases of matches that are sent as soon as they are there."""
    return CASES


def waiting_pattern_cases() -> tuple[Case, ...]:
    """Return the cases of matches that wait for the watermark."""
    return WAITING
