"""Cases of states that the events of a log make."""

from __future__ import annotations

from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.conformance.case import Case, case, when
from joinery.testing.driver import Emission, upsert


def _project(product: str, relation: str = "", by: str = "by: [account]") -> str:
    return f"""
relations:
  entry:
    key: [id]
    fields:
      id: long
      account: string
      no: int
      type: string
      owner: string
      amount: decimal(10,2)
      at: timestamp
    append: true
    {relation}
products:
  account:
    fold: entry
    {by}
    sequence: no
    state: {{owner: string, balance: "decimal(10,2) = 0", earlier: string}}
    when:
      Opened: {{owner: event.owner}}
      Deposited: {{balance: balance + event.amount}}
      Withdrawn: {{balance: balance - event.amount}}
      Renamed: {{owner: event.owner, earlier: owner}}
    {product}
"""


_TIMED = _project("wait: 1m", "time: at")
_AT_ONCE = _project("wait: 0s", "time: at")
_BY_COUNT = _project("wait: 3 events")
_DELAYED = _project("wait: 1m", "time: at\n    watermark: {delay: 30s}")
_WHERE = _project("wait: 0s", "time: at\n    where: amount is null or amount > 1")
_WHOLE = _project("wait: 0s", "time: at", by="")
_BY_TEXT = _project("wait: 0s", "time: at", by='by: {initial: "substr(account, 1, 1)"}')
_CLOCK = _project("wait: 1s")
_WITHOUT_TIME = _project("wait: 0s")
_TYPES = """
relations:
  reading:
    fields:
      device: long
      n: long
      type: string
      x: double
      d: date
      tags: array<string>
      cents: long
    derive: {euros: "cast(cents as decimal(12,2)) / 100"}
    append: true
products:
  device:
    fold: reading
    by: [device]
    sequence: n
    wait: 0s
    state:
      count: "long = 0"
      most: double
      seen: timestamp
      tags: array<string>
      paid: "decimal(6,2) = 10"
      last: "struct<x: double, n: long>"
    when:
      Read:
        count: count + 1
        most: greatest(most, event.x)
        seen: event.d
        tags: event.tags
        last: struct(event.x as x, event.n as n)
      Paid: {paid: paid + event.euros * 1.5}
"""

_LISTS = """
relations:
  note:
    fields: {device: long, n: long, type: string, tag: string}
    append: true
products:
  tags:
    fold: note
    by: [device]
    sequence: n
    wait: 0s
    state: {tags: "array<string> = array()"}
    when:
      Tagged: {tags: "concat(tags, array(event.tag))"}
      Cleared: {tags: array()}
"""


_HIGHEST = 2**63 - 1


def _event(
    number: int | None,
    type_: str,
    amount: str | None = None,
    *,
    id_: int | None = None,
    account: str | None = "a",
    owner: str | None = None,
    at: int | None = 0,
) -> RowChange:
    moment = None if at is None else f"2026-03-01T10:{at // 60:02}:{at % 60:02}Z"
    columns = {"id": number if id_ is None else id_, "account": account, "no": number}
    return insert("entry", **columns, type=type_, owner=owner, amount=amount, at=moment)


def _opened(number: int = 1, *, at: int = 0, account: str = "a") -> RowChange:
    return _event(number, "Opened", owner="Ada", at=at, account=account)


def _in(number: int, amount: str, *, at: int = 0, id_: int | None = None) -> RowChange:
    return _event(number, "Deposited", amount, at=at, id_=id_)


def _other(number: int, type_: str = "Noted", *, at: int) -> RowChange:
    return _event(number, type_, "1.00", account="b", at=at)


def _account(
    balance: float, owner: str | None = "Ada", *, key: str | None = "a", earlier: str | None = None
) -> Emission:
    value = {"account": key, "owner": owner, "balance": balance, "earlier": earlier}
    return upsert(key, value)


def _whole(balance: float) -> Emission:
    return upsert((), {"owner": "Ada", "balance": balance, "earlier": None})


def _note(number: int, type_: str, tag: str | None = None) -> RowChange:
    return insert("note", device=1, n=number, type=type_, tag=tag)


def _tags(*tags: str | None) -> Emission:
    return upsert(1, {"device": 1, "tags": list(tags)})


def _device(key: int, **state: object) -> Emission:
    empty = {"count": 0, "most": None, "seen": None, "tags": None, "paid": 10.0, "last": None}
    return upsert(key, {"device": key, **empty, **state})


def _reading(n: int, type_: str, device: int = 1, **more: object) -> RowChange:
    told = {"x": None, "d": None, "tags": None, "cents": None, **more}
    return insert("reading", device=device, n=n, type=type_, **told)


_CASES = (
    case(
        "events fold in the order of their numbers, whatever order they arrive in",
        _TIMED,
        when(
            _event(3, "Renamed", owner="Bea"),
            _in(2, "5.00"),
            _opened(),
            then=[_account(5.00, "Bea", earlier="Ada")],
        ),
        when(_event(4, "Withdrawn", "1.50"), then=[_account(3.50, "Bea", earlier="Ada")]),
    ),
    case(
        "what one kind assigns is told by the state before the event",
        _TIMED,
        when(_opened(), then=[_account(0.0)]),
        when(_event(2, "Renamed", owner="Bea"), then=[_account(0.0, "Bea", earlier="Ada")]),
        when(_event(3, "Renamed", owner="Cy"), then=[_account(0.0, "Cy", earlier="Bea")]),
    ),
    case(
        "a row is there from the first event that applies, also of a kind that changes nothing",
        _TIMED,
        when(_event(2, "Frozen")),
        when(_event(1, "Counted"), then=[_account(0.0, None)]),
    ),
    case(
        "an event of a kind that is not listed uses its number, and changes nothing",
        _TIMED,
        when(_opened(), then=[_account(0.0)]),
        when(_event(2, "Frozen")),
        when(_in(4, "1.00")),
        when(_event(3, "Thawed"), then=[_account(1.0)]),
    ),
    case(
        "events behind a gap wait for the number that is missing",
        _TIMED,
        when(_opened(), _in(3, "3.00"), _in(4, "4.00"), then=[_account(0.0)]),
        when(_in(2, "2.00"), then=[_account(9.0)]),
    ),
    case(
        "nothing is shown while the first number is missing",
        _TIMED,
        when(_in(2, "2.00"), _in(3, "3.00")),
        when(_opened(), then=[_account(5.0)]),
    ),
    case(
        "a gap is waited for until the watermark is past an event behind it by more than wait",
        _TIMED,
        when(_opened(), _in(3, "3.00", at=10), then=[_account(0.0)]),
        when(_other(1, "Deposited", at=70), then=[_account(1.0, None, key="b")]),
        when(
            _other(2, "Deposited", at=71),
            then=[_account(3.0), _account(2.0, None, key="b")],
        ),
        when(_in(4, "4.00", at=72), then=[_account(7.0)]),
    ),
    case(
        "the delay of a watermark is waited for, too",
        _DELAYED,
        when(_opened(), _in(3, "3.00", at=10), then=[_account(0.0)]),
        when(_other(2, at=100)),
        when(_other(3, at=101), then=[_account(3.0)]),
    ),
    case(
        "once an event has waited long enough, all before it apply and nothing there is waited for",
        _TIMED,
        when(_opened(), _in(3, "3.00", at=60), _in(6, "6.00", at=10), then=[_account(0.0)]),
        when(_other(2, at=75), then=[_account(9.0)]),
        when(_in(5, "5.00", at=77), then=[_account(14.0)]),
        when(_in(8, "8.00", at=77)),
        when(_in(7, "7.00", at=77), then=[_account(29.0)]),
    ),
    case(
        "an event that comes after its gap was given up folds all behind it again",
        _TIMED,
        when(_opened(), _event(3, "Renamed", owner="Cy", at=10), then=[_account(0.0)]),
        when(_other(9, at=71), then=[_account(0.0, "Cy", earlier="Ada")]),
        when(
            _event(2, "Renamed", owner="Bea", at=5),
            then=[_account(0.0, "Cy", earlier="Bea")],
        ),
        when(_in(4, "1.00", at=72), then=[_account(1.0, "Cy", earlier="Bea")]),
    ),
    case(
        "an event without a time waits until one behind it has waited",
        _TIMED,
        when(_opened(), _event(3, "Deposited", "3.00", at=None), then=[_account(0.0)]),
        when(_other(9, at=200)),
        when(_in(5, "5.00", at=100), then=[_account(8.0)]),
    ),
    case(
        "without a wait nothing is waited for, and what comes later folds again",
        _AT_ONCE,
        when(_in(2, "2.00"), then=[_account(2.0, None)]),
        when(_in(5, "5.00"), then=[_account(7.0, None)]),
        when(
            _opened(),
            _event(3, "Renamed", owner="Bea"),
            then=[_account(7.0, "Bea", earlier="Ada")],
        ),
    ),
    case(
        "a gap is waited for until so many events wait behind it",
        _BY_COUNT,
        when(_opened(), _in(3, "3.00"), _in(5, "5.00"), then=[_account(0.0)]),
        when(_in(6, "6.00"), then=[_account(3.0)]),
        when(_in(7, "7.00"), then=[_account(21.0)]),
        when(_in(4, "4.00"), then=[_account(25.0)]),
        when(_in(9, "9.00"), _in(10, "1.00"), _in(2, "2.00"), then=[_account(27.0)]),
    ),
    case(
        "events that came before it wait from the first of them on",
        _BY_COUNT,
        when(_in(9, "9.00"), _in(4, "4.00")),
        when(_in(2, "2.00"), then=[_account(2.0, None)]),
        when(_in(3, "3.00"), then=[_account(9.0, None)]),
    ),
    case(
        "an event told again changes nothing",
        _AT_ONCE,
        when(_opened(), _in(2, "2.00"), _in(2, "2.00"), then=[_account(2.0)]),
        when(_in(2, "2.00"), _opened()),
        when(_in(3, "1.00"), then=[_account(3.0)]),
    ),
    case(
        "an event told again under another key is no conflict",
        _AT_ONCE,
        when(_in(1, "2.00"), _in(1, "2.00", id_=77), then=[_account(2.0, None)]),
        when(_in(1, "2.00", id_=78)),
    ),
    case(
        "of two different events of one number the first stands, and the other is a dead letter",
        _AT_ONCE,
        when(_in(1, "2.00"), _in(1, "3.00"), then=[_account(2.0, None)], dead=["a"]),
        when(_in(2, "1.00"), then=[_account(3.0, None)]),
        when(_event(2, "Withdrawn", "1.00"), dead=["a"]),
        when(_in(3, "1.00"), then=[_account(4.0, None)]),
    ),
    case(
        "two different events of one number are a conflict while they wait, too",
        _TIMED,
        when(_in(2, "2.00")),
        when(_in(2, "9.00"), dead=["a"]),
        when(_opened(), then=[_account(2.0)]),
    ),
    case(
        "a delete of an event is ignored",
        _AT_ONCE,
        when(_in(1, "2.00"), then=[_account(2.0, None)]),
        when(delete("entry", id=1)),
        when(_in(2, "2.00"), then=[_account(4.0, None)]),
    ),
    case(
        "an event without a number, or with one below 1, is no part of a state",
        _AT_ONCE,
        when(_event(None, "Deposited", "1.00", id_=1), _in(0, "2.00"), _in(-1, "3.00")),
        when(_in(1, "4.00"), then=[_account(4.0, None)]),
    ),
    case(
        "an event that leaves the state as it is sends nothing",
        _AT_ONCE,
        when(_opened(), then=[_account(0.0)]),
        when(_in(2, "0.00")),
    ),
    case(
        "the events of each key have numbers of their own, and a null is a key",
        _AT_ONCE,
        when(
            _in(1, "1.00"),
            _event(1, "Deposited", "2.00", account="b"),
            _event(1, "Deposited", "3.00", account=None),
            then=[
                _account(1.0, None),
                _account(2.0, None, key="b"),
                _account(3.0, None, key=None),
            ],
        ),
        when(_event(2, "Deposited", "4.00", account=None), then=[_account(7.0, None, key=None)]),
    ),
    case(
        "without by all events of the log make one state",
        _WHOLE,
        when(_opened(), _event(2, "Deposited", "1.00", account="b"), then=[_whole(1.0)]),
        when(_event(3, "Deposited", "1.00", account=None), then=[_whole(2.0)]),
    ),
    case(
        "events are folded by any expression over them",
        _BY_TEXT,
        when(
            _event(1, "Deposited", "1.00", account="xy"),
            _event(2, "Deposited", "2.00", account="xz"),
            then=[upsert("x", {"initial": "x", "owner": None, "balance": 3.0, "earlier": None})],
        ),
    ),
    case(
        "an event that the relation's where leaves out leaves a gap",
        _WHERE,
        when(_opened(), _in(2, "1.00"), _in(3, "5.00"), then=[_account(5.0)]),
    ),
    case(
        "a state has values of any type, and null where it begins with none",
        _TYPES,
        when(
            _reading(1, "Read", x=1.5, d="2026-03-01", tags=["p", None]),
            then=[
                _device(
                    1,
                    count=1,
                    most=1.5,
                    seen="2026-03-01T00:00:00Z",
                    tags=["p", None],
                    last={"x": 1.5, "n": 1},
                )
            ],
        ),
        when(
            _reading(2, "Read", x=-2.0),
            _reading(1, "Noted", device=2),
            then=[_device(1, count=2, most=1.5, last={"x": -2.0, "n": 2}), _device(2)],
        ),
    ),
    case(
        "a list of a state may begin empty, and become so again",
        _LISTS,
        when(_note(1, "Noted"), then=[_tags()]),
        when(_note(2, "Tagged", "p"), _note(3, "Tagged"), then=[_tags("p", None)]),
        when(_note(4, "Cleared"), then=[_tags()]),
    ),
    case(
        "a decimal is rounded to the column of the state, and too large a one is null and counted",
        _TYPES,
        when(_reading(1, "Paid", cents=101), then=[_device(1, paid=11.52)], counts={}),
        when(
            _reading(2, "Paid", cents=1_000_000),
            then=[_device(1, paid=None)],
            counts={"expression_errors": 1},
        ),
        when(_reading(3, "Paid", cents=1)),
    ),
    case(
        "nothing comes after the highest number of all, and everything before it",
        _TYPES,
        when(
            _reading(_HIGHEST, "Read", x=1.0),
            then=[_device(1, count=1, most=1.0, last={"x": 1.0, "n": _HIGHEST})],
        ),
        when(
            _reading(4, "Read", x=2.0),
            then=[_device(1, count=2, most=2.0, last={"x": 1.0, "n": _HIGHEST})],
        ),
        when(_reading(4, "Read", x=2.0), _reading(_HIGHEST, "Read", x=1.0)),
    ),
    case(
        "a log without times needs none where nothing is waited for",
        _WITHOUT_TIME,
        when(_in(3, "3.00"), then=[_account(3.0, None)]),
        when(_opened(), then=[_account(3.0)]),
    ),
)
_CLOCK_CASES = (
    case(
        "without times in the log a gap is waited for by the clock",
        _CLOCK,
        when(_opened(), _in(3, "3.00"), then=[_account(0.0)]),
        when(_in(4, "4.00")),
        when(then=[_account(7.0)]),
        when(_in(2, "2.00"), then=[_account(9.0)]),
    ),
)


def fold_cases() -> tuple[Case, ...]:
    """Return the cases of folds but those that go by the clock."""
    return _CASES


def clock_fold_cases() -> tuple[Case, ...]:
    """Return the cases of folds that wait by the clock, each batch a second after the other."""
    return _CLOCK_CASES
