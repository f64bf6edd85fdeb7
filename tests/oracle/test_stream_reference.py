"""What must hold of streams on random logs, whatever the cuts: the reference against itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Any

import duckdb
import pytest
from tests.oracle.compare import chosen_seeds, each_seed
from tests.oracle.stream_history import Log, cut, orders, rows, versions
from tests.oracle.stream_shape import make_stream_trial, stream_failures
from tests.oracle.stream_truth import truth

from joinery.plan.build import build_plan
from joinery.plan.step import Union
from joinery.plan.stream import PLACE, Stream
from joinery.plan.timed_step import Rolling, SeenFilter
from joinery.project.product import ProjectSpec
from joinery.semantics.stream_reference import StreamReference
from joinery.solutions.protocol import Sent
from joinery.testing import StreamDriver
from joinery.testing.changes import RowChange
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.stream_suite import ReferenceStreamRunner, StreamBatch

SEEDS = chosen_seeds(20)
DELAY = 10
# How far a version may be behind the newest: some are late.
BEHIND = 4 * DELAY
PROJECT = f"""
relations:
  orders: {{append: true, key: [id], time: at, fields: {{id: long, sku: string, at: timestamp}}}}
  prices:
    key: [sku]
    time: since
    watermark: {{delay: {DELAY}m}}
    fields: {{sku: string, price: long, since: timestamp}}
  products: {{key: [sku], fields: {{sku: string, price: long, title: string}}}}
streams:
"""
STORE = "read: database, store: {sqlite: {path: a.db}}"


def stream(*steps: str, chosen: str = "price") -> Stream:
    told = f"{', '.join(steps)}, {{select: [{chosen}]}}"
    text = f"{PROJECT}  s: {{from: orders, steps: [{told}]}}\n"
    return build_plan(load_text(text)).streams[0]


def sent(plan: Stream, batches: Iterable[Log]) -> list[list[tuple[Any, Any]]]:
    driver = StreamDriver(plan)
    return [sorted((e.key, str(e.value)) for e in driver.send(batch)) for batch in batches]


def last(batches: list[list[tuple[Any, Any]]]) -> dict[Any, Any]:
    return {key: value for batch in batches for key, value in batch}


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
@pytest.mark.parametrize("on_miss", ["'null'", "drop", "dead_letter"])
def test_held_events_are_answered_the_same_however_the_logs_are_cut(
    seed: int, on_miss: str
) -> None:
    random = Random(seed)
    plan = stream(f"{{lookup: prices, on: [sku], as_of: event, on_miss: {on_miss}}}")
    table, events = versions(random, BEHIND), orders(random)

    one, other = (sent(plan, cut(random, table, events)) for _ in range(2))

    assert sorted(chain(*one)) == sorted(chain(*other))
    assert len(list(chain(*one))) == len(last(one))


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_a_held_answer_is_what_the_two_logs_say(seed: int) -> None:
    random = Random(seed)
    plan = stream("{lookup: prices, on: [sku], as_of: event}")
    table, events = versions(random, BEHIND), orders(random)

    found = last(sent(plan, cut(random, table, events)))

    assert {each.columns["id"]: str({"price": price_of(table, each)}) for each in events} == found


def price_of(table: Log, order: RowChange) -> int | None:
    """Return the price of an order: rule T2, over the whole log of prices."""
    delay, found = dt.timedelta(minutes=DELAY), list[tuple[dt.datetime, int, int]]()
    newest: dt.datetime | None = None
    at = dt.datetime.fromisoformat(order.columns["at"])
    for number, each in enumerate(table):
        since = dt.datetime.fromisoformat(each.columns["since"])
        late_until = None if newest is None else newest - delay
        late = late_until is not None and since < late_until and at < late_until
        if each.columns["sku"] == order.columns["sku"] and since <= at and not late:
            found.append((since, number, each.columns["price"]))
        newest = since if newest is None else max(newest, since)
    return max(found)[2] if found else None


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_events_that_are_corrected_end_as_those_that_are_held(seed: int) -> None:
    random = Random(seed)
    held, corrected = (
        stream(f"{{lookup: prices, on: [sku], as_of: event, late: {late}}}")
        for late in ("hold", "correct")
    )
    table, events = versions(random, BEHIND), orders(random)
    one, other = (cut(random, table, events) for _ in range(2))

    assert last(sent(held, one)) == last(sent(corrected, other))


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
@pytest.mark.parametrize("on_miss", ["'null'", "drop", "dead_letter"])
def test_a_store_with_the_same_rows_gives_the_same_events(seed: int, on_miss: str) -> None:
    random = Random(seed)
    kept, stored = (
        stream(f"{{lookup: products, on: [sku], on_miss: {on_miss}{more}}}")
        for more in ("", f", {STORE}")
    )
    batches = cut(random, rows(random), orders(random))

    assert sent(kept, batches) == sent(stored, batches)


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_events_that_are_sent_again_end_with_the_rows_of_the_end(seed: int) -> None:
    random = Random(seed)
    again = stream("{lookup: products, on: [sku], on_change: re_emit, for: 1d}")
    table, events = rows(random), orders(random)

    one, other = (last(sent(again, cut(random, table, events))) for _ in range(2))
    after = last(sent(again, [table, events]))

    assert one == other == after


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_rolling_columns_end_as_a_query_over_the_whole_log_gives(seed: int) -> None:
    random = Random(seed)
    values = "{n: count(*), total: sum(id), low: min(id)}"
    step = f"{{rolling: {{by: [sku], over: 10m, values: {values}}}}}"
    plan = stream(step, chosen="n, total, low")
    log = orders(random)

    one, other = (last(sent(plan, cut(random, log))) for _ in range(2))

    assert one == other == rolled(log)


def rolled(log: Log) -> dict[Any, str]:
    """Return each order's values as DuckDB computes them."""
    rows = [(each.columns["id"], each.columns["sku"], each.columns["at"]) for each in log]
    with duckdb.connect() as database:
        database.execute("create table log (id bigint, sku varchar, t timestamptz)")
        database.executemany("insert into log values (?, ?, ?)", rows)
        found = database.execute(
            "select id, count(*) over w, sum(id) over w, min(id) over w from log window w as"
            " (partition by sku order by t range between"
            " interval '9 minutes 59.999999 seconds' preceding and current row)"
        ).fetchall()
    return {key: str({"n": n, "total": int(total), "low": low}) for key, n, total, low in found}


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_a_lookup_that_the_plan_moves_gives_what_it_would_give_in_its_place(seed: int) -> None:
    random = Random(seed)
    switches = ("on_miss: drop", "on_miss: 'null'")
    behind = f"{{lookup: products, on: [sku], fields: {{label: title}}, {random.choice(switches)}}}"
    steps = [
        random.choice(("{filter: sku <> 'b'}", "{select: [id, sku, price]}")),
        *random.sample(["{with_columns: {twice: price * 2}}", "{filter: price > 1}"], k=1),
    ]
    first = "{lookup: prices, on: [sku], fields: [price]"
    moved, declared = (stream(f"{first}{more}}}", *steps, behind) for more in (f", {STORE}", ""))
    batches = cut(random, versions(random, DELAY), rows(random), orders(random))

    assert "products" == moved.lookups[0].table.name
    assert "prices" == declared.lookups[0].table.name
    assert last(sent(moved, batches)) == last(sent(declared, batches))


@pytest.mark.parametrize("seed", each_seed(SEEDS, few=8))
def test_a_stream_sends_the_same_alone_and_among_others(seed: int) -> None:
    together = make_stream_trial([seed, seed + 1000, seed + 2000])

    class Alone:
        def run(self, project: ProjectSpec, batches: Sequence[StreamBatch]) -> list[Sent]:
            found = [Sent({}, {}) for _ in batches]
            for each in (seed, seed + 1000, seed + 2000):
                one = make_stream_trial([each])
                sent = ReferenceStreamRunner().run(one.project, one.batches)
                found = [
                    Sent({**a.lines, **b.lines}, {**a.dead, **b.dead})
                    for a, b in zip(found, sent, strict=True)
                ]
            return found

    times = [1000 * number for number in range(1, len(together.batches) + 1)]
    alone = Alone().run(together.project, together.batches)

    assert [] == stream_failures(together, alone, times)


@pytest.mark.parametrize("seed", each_seed(chosen_seeds(300), few=60))
def test_the_reference_sends_what_the_whole_logs_say(seed: int) -> None:
    """Compare it with what becomes of each event by itself, batch by batch, also idle ones."""
    trial = make_stream_trial([seed])
    stream = build_plan(trial.project).streams[-1]
    random = Random(seed)
    batches = [replace(e, after_ms=random.choice((700, 1000, 2500, 6000))) for e in trial.batches]

    expected = truth(stream, batches)
    lines, dead = emitted(stream, batches)

    assert sorted(
        (each.batch, shown_key(stream, each.key), str({**each.row, "again": each.again}))
        for each in expected.lines
    ) == sorted(lines)
    assert sorted((at, shown_key(stream, key)) for at, key in expected.dead) == sorted(dead)


def emitted(
    plan: Stream, batches: Sequence[StreamBatch]
) -> tuple[list[tuple[int, str, str]], list[tuple[int, str]]]:
    """Return what the reference sends, and its dead letters, each with its batch and key."""
    solution, time_us = StreamReference(plan), 0
    lines, dead = [], []
    for number, each in enumerate(batches):
        time_us += each.after_ms * 1000
        made = solution.apply(each.changes, time_us)
        lines += [(number, shown_key(plan, e.key.values()), str(e.value)) for e in made.documents]
        dead += [(number, shown_key(plan, e.key.values())) for e in made.dead_letters]
    return lines, dead


def shown_key(plan: Stream, key: Iterable[Any]) -> str:
    """Return a key as text; of an event without one nothing, since its place is a runtime's own."""
    return "" if plan.key.fields == (PLACE,) else str(tuple(key))


def test_random_streams_have_every_switch_and_send_something() -> None:
    trial = make_stream_trial(range(60))
    streams = build_plan(trial.project).streams
    lookups = [each for stream in streams for each in stream.lookups]
    united = [
        (stream.relation.name, step.other.relation.name)
        for stream in streams
        for step in stream.steps
        if isinstance(step, Union)
    ]

    sent = ReferenceStreamRunner().run(trial.project, trial.batches)

    assert {"null", "drop", "dead_letter", "wait"} == {each.on_miss for each in lookups}
    assert {"keep", "re_emit", "correct"} == {each.on_change for each in lookups}
    assert {("processing", "hold"), ("event", "hold"), ("event", "correct")} == {
        (each.as_of, each.late) for each in lookups
    }
    assert {True, False} == {one == other for one, other in united}
    for kind in (Rolling, SeenFilter):
        assert sum(isinstance(step, kind) for each in streams for step in each.steps) > 4
    assert len({name for each in sent for name in each.lines}) > 40
    assert any(each.dead for each in sent)
