"""Random streams: steps of all kinds with every switch, unions, and logs for them.

Some batches bring nothing: what waits for a time goes in them. Times are in seconds, since
that is how far apart the batches of a run on Spark are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from tests.oracle.compare import difference
from tests.oracle.stream_history import Log, cut, orders, rows, told_again, versions

from joinery.errors import ProjectErrors
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.relation import Relation
from joinery.plan.stream import PLACE
from joinery.project.product import ProjectSpec
from joinery.solutions.protocol import Sent
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.stream_suite import (
    ReferenceStreamRunner,
    StreamBatch,
    joined,
    prefixed,
)

BATCHES = 8
IDLE = (2, 5, 7)
DELAY = 10
_EVENTS = "fields: {id: long, sku: string, at: timestamp}"
RELATIONS = f"""
relations:
  orders: {{append: true, key: [id], time: at, {_EVENTS}}}
  returns: {{append: true, key: [id], time: at, {_EVENTS}}}
  clicks: {{append: true, time: at, {_EVENTS}}}
  taps: {{append: true, time: at, {_EVENTS}}}
  prices:
    key: [sku]
    time: since
    watermark: {{delay: {DELAY}m}}
    where: price <> 3
    fields: {{sku: string, price: long, since: timestamp}}
  rates:
    key: [sku]
    time: since
    watermark: {{delay: {DELAY}m, idle: 4s}}
    fields: {{sku: string, price: long, since: timestamp}}
  products:
    key: [sku]
    derive: {{whole: "concat(title, sku)"}}
    fields: {{sku: string, price: long, title: string}}
streams:
"""
STORE = "read: database, store: {sqlite: {path: a.db}}, cache: {ttl: 0s, negative: 0s}"
KEYED = ("orders", "returns")
_MISS = ("'null'", "drop", "dead_letter", "'wait:1d'", "'wait:3s'", "'wait:9s'")
_CHANGE = (
    "keep",
    "re_emit, for: 1d",
    "re_emit, for: 7s",
    "re_emit, for: 1d, where: id > 3",
    "correct, for: 1d, every: 1s",
    "correct, for: 6s, every: 4s",
)


@dataclass(frozen=True, slots=True)
class StreamTrial:
    """Random streams in one project, and the batches that they are given.

    Attributes:
        names: The streams to compare, by seed.
    """

    project: ProjectSpec
    batches: tuple[StreamBatch, ...]
    names: tuple[str, ...]


def make_stream(seed: int) -> ProjectSpec:
    """Return a project of one random stream, the last one, that can be planned.

    It may be united with a stream of another log, or with another branch of its own.
    """
    random = Random(seed)
    while True:
        origin, other = random.choice((KEYED, KEYED, ("clicks", "taps")))
        steps = [_step(random) for _ in range(random.randrange(1, 5))]
        streams = ""
        if random.random() < 0.3:
            before = [
                random.choice((_plain, _lookup, _unseen))(random)
                for _ in range(random.randrange(2))
            ]
            if random.random() < 0.5:
                # Of a record that passes two branches of one log either line may be sent.
                other, before = origin, ["{filter: sku = 'a'}", *before]
                steps.insert(0, "{filter: sku <> 'a'}")
            streams = f"  more: {{from: {other}, steps: [{', '.join(before)}]}}\n"
            steps.insert(random.randrange(len(steps) + 1), "{union: more}")
        told = ", ".join(steps)
        text = f"{RELATIONS}{streams}  s: {{from: {origin}, correction: again, steps: [{told}]}}\n"
        try:
            spec = load_text(text)
            build_plan(spec)
        except ProjectErrors:
            continue
        return spec


def make_stream_trial(seeds: Iterable[int]) -> StreamTrial:
    """Return the streams of `seeds` under prefixes, each with logs of its own."""
    specs = {f"s{seed}_": prefixed(make_stream(seed), f"s{seed}_") for seed in seeds}
    batches: list[list[Change]] = [[] for _ in range(BATCHES)]
    for prefix, spec in specs.items():
        stream = build_plan(spec).streams[-1]
        relations = {each.name.removeprefix(prefix): each for each in stream.named_relations}
        for batch, log in zip(batches, _logs(Random(prefix), relations), strict=True):
            batch += [told.change(relations[told.relation]) for told in log]
    return StreamTrial(
        joined(list(specs.values())),
        tuple(StreamBatch(tuple(each)) for each in batches),
        tuple(each.streams[-1].name for each in specs.values()),
    )


def stream_failures(
    trial: StreamTrial, received: Sequence[Sent], times_ms: Sequence[int]
) -> list[str]:
    """Return a line for each stream, named by its seed, that sent otherwise than the reference.

    Args:
        trial: The streams and their batches.
        received: What each batch sent.
        times_ms: When each batch was.
    """
    gaps = [times_ms[0], *(later - earlier for earlier, later in pairwise(times_ms))]
    timed = [replace(each, after_ms=gap) for each, gap in zip(trial.batches, gaps, strict=True)]
    expected = ReferenceStreamRunner().run(trial.project, timed)
    streams = {each.name: each for each in build_plan(trial.project).streams}
    found = []
    for name in trial.names:
        united = [each.name for each in streams[name].united]
        one, other = expected, received
        if streams[name].key.fields == (PLACE,):
            one, other = (_nameless(each, name, united) for each in (expected, received))
        other = [
            _with_shared_letters(told, sent, name, united)
            for told, sent in zip(one, other, strict=True)
        ]
        found.append((name, difference(one, other, name)))
    return [f"{name}: {told}" for name, told in found if told]


def _with_shared_letters(expected: Sent, sent: Sent, stream: str, united: Sequence[str]) -> Sent:
    """Return what was sent, with the letters of steps that `stream` shares with `united` streams.

    Such a letter is written once, under the name of the first of them.
    """
    dead = list(sent.dead.get(stream, ()))
    missing = Counter(expected.dead.get(stream, ())) - Counter(dead)
    elsewhere = Counter(each for name in united for each in sent.dead.get(name, ()))
    return replace(sent, dead={**sent.dead, stream: [*dead, *(missing & elsewhere).elements()]})


def _nameless(sent: Sequence[Sent], stream: str, united: Sequence[str]) -> list[Sent]:
    """Return what was sent under values for keys: places are named otherwise in each runtime."""
    made = []
    for each in sent:
        values = sorted(json.dumps(json.loads(e)["value"]) for e in each.lines.get(stream, ()))
        lines = [f'{{"key":{value},"value":{value},"version":0}}' for value in values]
        dead = {name: ["?"] * len(each.dead.get(name, ())) for name in (stream, *united)}
        made.append(Sent({stream: lines}, dead))
    return made


def _logs(random: Random, relations: dict[str, Relation]) -> list[Log]:
    """Return the batches of the relations that are read, as many as all trials have."""
    events = [
        orders(random, name, 100 * number)
        for number, name in enumerate(("orders", "returns", "clicks", "taps"))
    ]
    tables = [rows(random), versions(random, 4 * DELAY), versions(random, 4 * DELAY, "rates")]
    read = [[one for one in log if one.relation in relations] for log in (*events, *tables)]
    full = [number for number in range(BATCHES) if number not in IDLE]
    told: list[Log] = [[] for _ in full]
    for number, each in enumerate(cut(random, *read)):
        told[min(number, len(full) - 1)] += each
    batches: list[Log] = [[] for _ in range(BATCHES)]
    for number, each in zip(full, told_again(random, told, KEYED), strict=True):
        batches[number] = each
    return batches


def _step(random: Random) -> str:
    kinds = (_lookup, _lookup, _version, _plain, _stored, _rolling, _rolling, _unseen)
    return random.choice(kinds)(random)


def _lookup(random: Random) -> str:
    fields = random.choice(("[price]", "{label: title}", "[whole]", "{p: price + 1}"))
    return (
        f"{{lookup: products, on: [sku], fields: {fields},"
        f" on_miss: {random.choice(_MISS)}, on_change: {random.choice(_CHANGE)}}}"
    )


def _stored(random: Random) -> str:
    miss = random.choice(_MISS[:3])
    return f"{{lookup: products, on: [sku], fields: [title], on_miss: {miss}, {STORE}}}"


def _version(random: Random) -> str:
    switches = random.choice(
        (*(f"on_miss: {miss}" for miss in _MISS[:3]), "late: correct", "late: correct", "for: 20m")
    )
    table = random.choice(("prices", "rates"))
    field = random.choice(("[price]", "{was: price}"))
    return f"{{lookup: {table}, on: [sku], fields: {field}, as_of: event, {switches}}}"


def _rolling(random: Random) -> str:
    by = random.choice(("[sku]", "[sku]", "[sku, id]"))
    values = random.choice(
        (
            "{n: count(*)}",
            "{low: min(id), high: max(id)}",
            "{total: sum(id), mean: total / count(*)}",
            "{odd: count(*) filter (where id % 2 = 1), sku: max(sku)}",
            "{one: first(id), other: last(sku), ids: 'collect(id, 3)'}",
            "{ids: count(distinct id % 3), near: approx_count_distinct(id), low: min(id % 5)}",
            "{mid: 'approx_quantile(id, 0.5)', top: 'approx_top_k(id % 3, 2)'}",
            "{pace: rate(count(*)), ids: count(distinct id) filter (where id % 2 = 0)}",
        )
    )
    retention = random.choice(("", "", ", retention: 5m", ", retention: 20m"))
    over = random.choice(("3m", "10m", "40m"))
    return f"{{rolling: {{by: {by}, over: {over}, values: {values}{retention}}}}}"


def _unseen(random: Random) -> str:
    column, span = random.choice(("sku", "sku", "id")), random.choice(("3m", "10m", "2h"))
    asked = f"seen({column}, for => '{span}')"
    where = random.choice((f"not {asked}", f"not {asked}", f"id > 3 and not {asked}", asked))
    return f'{{filter: "{where}"}}'


def _plain(random: Random) -> str:
    return random.choice(
        (
            "{filter: sku <> 'b'}",
            "{filter: price > 1 or price is null}",
            "{with_columns: {twice: price * 2}}",
            "{with_columns: {id: id + 1}}",
            "{with_columns: {twice: id}}",
            "{select: [id, sku, at]}",
            "{filter: at is not null}",
            "{with_columns: {sku: lower(sku)}}",
            "{with_columns: {late: id % 3 = 0}}",
        )
    )
