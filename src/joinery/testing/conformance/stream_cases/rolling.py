"""Cases about rolling columns: what an event sees of others, and what late events correct."""

from __future__ import annotations

from typing import Any

from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert

_CARDS = """
relations:
  payments:
    append: true
    key: [id]
    time: at
    watermark: {delay: 1m}
    fields: {id: long, card: string, amount: long, at: timestamp}
streams:
"""
_COUNT = "{rolling: {by: [card], over: 10m, values: {n: count(*)}}}, {select: [n]}"


def _project(steps: str, more: str = "") -> str:
    return f"{_CARDS}{more}  s:\n    from: payments\n    steps: [{steps}]\n"


def _paid(number: int, at: str | None, card: str | None = "a", **columns: Any) -> RowChange:
    day = None if at is None else f"2026-03-01T{at}Z"
    return insert("payments", id=number, card=card, at=day, **columns)


def _n(number: int, count: int) -> Emission:
    return upsert(number, {"n": count})


def _ends(number: int, one: int | None, other: int | None, both: list[int]) -> Emission:
    return upsert(number, {"one": one, "other": other, "all": both})


def _sketched(
    kinds: int, near: int, high: int, most: int, often: int, count: int
) -> dict[str, object]:
    told = {"kinds": kinds, "near": near, "high": high, "most": [{"item": most, "count": often}]}
    return {**told, "pace": count / 600}


CASES = (
    stream_case(
        "an event sees those of its key in the time up to it, itself among them",
        _project(_COUNT),
        batch(
            _paid(1, "10:00:00"),
            _paid(2, "10:05:00"),
            _paid(3, "10:05:00", "b"),
            _paid(4, "10:12:00"),
            sends=[_n(1, 1), _n(2, 2), _n(3, 1), _n(4, 2)],
        ),
    ),
    stream_case(
        "what is as old as the time it looks back is not seen any more",
        _project(_COUNT),
        batch(_paid(1, "10:00:00"), sends=[_n(1, 1)]),
        batch(_paid(2, "10:09:59.999999"), sends=[_n(2, 2)]),
        batch(_paid(3, "10:10:00"), sends=[_n(3, 2)]),
    ),
    stream_case(
        "events of one time see one another, also where a later batch brings them",
        _project(_COUNT),
        batch(_paid(1, "10:00:00"), _paid(2, "10:00:00"), sends=[_n(1, 2), _n(2, 2)]),
        batch(_paid(3, "10:00:00"), sends=[_n(1, 3), _n(2, 3), _n(3, 3)]),
    ),
    stream_case(
        "a late event corrects those that see it, and no others",
        _project(_COUNT).replace("from:", "correction: again\n    from:"),
        batch(
            _paid(1, "10:00:00"),
            _paid(2, "10:04:00"),
            _paid(3, "10:14:00"),
            _paid(4, "10:14:00", "b"),
            sends=[
                upsert(1, {"n": 1, "again": False}),
                upsert(2, {"n": 2, "again": False}),
                upsert(3, {"n": 1, "again": False}),
                upsert(4, {"n": 1, "again": False}),
            ],
        ),
        batch(
            _paid(5, "10:02:00"),
            sends=[upsert(2, {"n": 3, "again": True}), upsert(5, {"n": 2, "again": False})],
        ),
    ),
    stream_case(
        "a correction that alters no value is not sent",
        _project("{rolling: {by: [card], over: 10m, values: {top: max(amount)}}}, {select: [top]}"),
        batch(_paid(1, "10:05:00", amount=9), sends=[upsert(1, {"top": 9})]),
        batch(_paid(2, "10:01:00", amount=4), sends=[upsert(2, {"top": 4})]),
        batch(
            _paid(3, "10:02:00", amount=11),
            sends=[upsert(1, {"top": 11}), upsert(3, {"top": 11})],
        ),
    ),
    stream_case(
        "values may read the event's own columns, and those above them",
        _project(
            "{rolling: {by: [card], over: 10m, values: {total: sum(amount),"
            " share: amount / total, small: count(*) filter (where amount < 5)}}},"
            " {select: [total, share, small]}"
        ),
        batch(
            _paid(1, "10:00:00", amount=1),
            _paid(2, "10:01:00", amount=3),
            sends=[
                upsert(1, {"total": 1, "share": 1.0, "small": 1}),
                upsert(2, {"total": 4, "share": 0.75, "small": 2}),
            ],
        ),
    ),
    stream_case(
        "a least or greatest value leaves when its event is out of sight",
        _project(
            "{rolling: {by: [card], over: 10m, values: {low: min(amount), mean: avg(amount)}}},"
            " {select: [low, mean]}"
        ),
        batch(
            _paid(1, "10:00:00", amount=1),
            _paid(2, "10:06:00", amount=4),
            _paid(3, "10:12:00", amount=8),
            sends=[
                upsert(1, {"low": 1, "mean": 1.0}),
                upsert(2, {"low": 1, "mean": 2.5}),
                upsert(3, {"low": 4, "mean": 6.0}),
            ],
        ),
    ),
    stream_case(
        "events without a key's column have null in common",
        _project(_COUNT),
        batch(
            _paid(1, "10:00:00", None),
            _paid(2, "10:01:00", None),
            _paid(3, "10:01:00"),
            sends=[_n(1, 1), _n(2, 2), _n(3, 1)],
        ),
    ),
    stream_case(
        "an event without a time is a dead letter, and no other sees it",
        _project(_COUNT),
        batch(_paid(1, "10:00:00"), _paid(2, None), sends=[_n(1, 1)], dead=[2]),
    ),
    stream_case(
        "only what reaches the step is seen, and a later filter keeps what it is true for",
        _project(f"{{filter: amount > 0}}, {_COUNT}, {{filter: n > 1}}"),
        batch(
            _paid(1, "10:00:00", amount=1),
            _paid(2, "10:01:00", amount=0),
            _paid(3, "10:02:00", amount=5),
            sends=[_n(3, 2)],
        ),
        batch(_paid(4, "10:01:30", amount=2), sends=[_n(3, 3), _n(4, 2)]),
    ),
    stream_case(
        "an event that comes again counts once, with the time and the key that it has now",
        _project(_COUNT),
        batch(
            _paid(1, "10:00:00"),
            _paid(2, "10:01:00"),
            _paid(3, "10:02:00", "b"),
            sends=[_n(1, 1), _n(2, 2), _n(3, 1)],
        ),
        batch(_paid(1, "10:00:00"), sends=[_n(1, 1)]),
        batch(_paid(1, "10:01:30"), sends=[_n(1, 2), _n(2, 1)]),
        batch(_paid(1, "10:01:30", "b"), sends=[_n(1, 1), _n(3, 2)]),
    ),
    stream_case(
        "a delete in the log changes no count",
        _project(_COUNT),
        batch(_paid(1, "10:00:00"), sends=[_n(1, 1)]),
        batch(delete("payments", id=1)),
        batch(_paid(2, "10:01:00"), sends=[_n(2, 2)]),
    ),
    stream_case(
        "an event further below the watermark than retention is a dead letter",
        _project(_COUNT.replace("over: 10m", "over: 10m, retention: 30m")),
        batch(_paid(1, "10:00:00"), sends=[_n(1, 1)]),
        batch(_paid(2, "10:40:00", "b"), sends=[_n(2, 1)]),
        batch(_paid(3, "10:09:00"), sends=[_n(3, 2)]),
        batch(_paid(4, "10:08:59"), _paid(5, "10:42:00", "b"), sends=[_n(5, 2)], dead=[4]),
        batch(_paid(6, "10:11:00"), sends=[_n(6, 2)]),
    ),
    stream_case(
        "rolling columns of two lengths stand side by side",
        _project(
            "{rolling: {by: [card], over: 10m, values: {n: count(*)}}},"
            " {rolling: {by: [card], over: 1m, values: {m: count(*)}}}, {select: [n, m]}"
        ),
        batch(
            _paid(1, "10:00:00"),
            _paid(2, "10:02:00"),
            sends=[upsert(1, {"n": 1, "m": 1}), upsert(2, {"n": 2, "m": 1})],
        ),
        batch(
            _paid(3, "10:01:30"),
            sends=[upsert(2, {"n": 3, "m": 2}), upsert(3, {"n": 2, "m": 1})],
        ),
    ),
    stream_case(
        "events of a log without key are seen, too",
        """
relations:
  payments:
    append: true
    time: at
    fields: {card: string, at: timestamp}
streams:
  s:
    from: payments
    steps: [{rolling: {by: [card], over: 10m, values: {n: count(*)}}}, {select: [n]}]
""",
        batch(
            insert("payments", card="a", at="2026-03-01T10:01:00Z"),
            sends=[upsert("payments/000000.jsonl/1", {"n": 1})],
        ),
        batch(
            insert("payments", card="a", at="2026-03-01T10:00:00Z"),
            sends=[
                upsert("payments/000000.jsonl/1", {"n": 2}),
                upsert("payments/000001.jsonl/1", {"n": 1}),
            ],
        ),
    ),
    stream_case(
        "the rate of a value is a second of the time that it looks back",
        _project(
            "{rolling: {by: [card], over: 10s, values: {rps: rate(count(*))}}}, {select: [rps]}"
        ),
        batch(_paid(1, "10:00:00"), sends=[upsert(1, {"rps": 0.1})]),
        batch(_paid(2, "10:00:01"), sends=[upsert(2, {"rps": 0.2})]),
    ),
    stream_case(
        "first, last and collect go by time, then by key",
        _project(
            "{rolling: {by: [card], over: 10m, values: {one: first(amount), other: last(amount),"
            " all: 'collect(amount, 2)'}}}, {select: [one, other, all]}"
        ),
        batch(
            _paid(2, "10:00:00", amount=2),
            _paid(1, "10:00:00", amount=1),
            sends=[_ends(1, 1, 2, [1, 2]), _ends(2, 1, 2, [1, 2])],
        ),
        batch(
            _paid(3, "09:59:00"),
            _paid(4, "10:09:30", amount=4),
            sends=[_ends(3, None, None, []), _ends(4, 1, 4, [1, 2])],
        ),
        batch(_paid(5, "10:10:00", amount=5), sends=[_ends(5, 4, 5, [4, 5])]),
    ),
    stream_case(
        "distinct values, quantiles and the most frequent value forget what is not seen any more",
        _project(
            "{rolling: {by: [card], over: 10m, values: {kinds: count(distinct amount % 10),"
            " near: approx_count_distinct(amount),"
            " high: 'cast(round(approx_quantile(amount, 1)) as long)',"
            " most: 'approx_top_k(amount, 1)', pace: rate(count(*))}}},"
            " {select: [kinds, near, high, most, pace]}"
        ),
        batch(
            _paid(1, "10:00:00", amount=3),
            sends=[upsert(1, _sketched(1, 1, 3, 3, 1, 1))],
        ),
        batch(
            _paid(2, "10:01:00", amount=1),
            _paid(3, "10:01:00", amount=1),
            sends=[
                upsert(2, _sketched(2, 2, 3, 1, 2, 3)),
                upsert(3, _sketched(2, 2, 3, 1, 2, 3)),
            ],
        ),
        batch(
            _paid(4, "10:10:00", amount=11),
            sends=[upsert(4, _sketched(1, 2, 11, 1, 2, 3))],
        ),
    ),
)
