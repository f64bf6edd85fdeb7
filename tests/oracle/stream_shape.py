"""Random streams: steps of all kinds, every switch that needs no moving of the clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from tests.oracle.compare import difference
from tests.oracle.stream_history import Log, cut, orders, rows, told_again, versions

from joinery.errors import ProjectErrors
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.nodes import Relation
from joinery.solutions.protocol import Sent
from joinery.spec.product import ProjectSpec
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.stream_suite import (
    ReferenceStreamRunner,
    StreamBatch,
    StreamRunner,
    joined,
    prefixed,
)
from joinery.testing.stream_driver import relations_of

BATCHES = 4
DELAY = 10
RELATIONS = f"""
relations:
  orders: {{append: true, key: [id], time: at, fields: {{id: long, sku: string, at: timestamp}}}}
  prices:
    key: [sku]
    time: since
    watermark: {{delay: {DELAY}m}}
    where: price <> 3
    fields: {{sku: string, price: long, since: timestamp}}
  products:
    key: [sku]
    derive: {{whole: "concat(title, sku)"}}
    fields: {{sku: string, price: long, title: string}}
streams:
"""
_MISS = ("'null'", "drop", "dead_letter", "'wait:1d'")
_CHANGE = ("keep", "re_emit, for: 1d", "re_emit, for: 1d, where: id > 3")


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
    """Return a project of one random stream that can be planned."""
    random = Random(seed)
    while True:
        steps = ", ".join(_step(random) for _ in range(random.randrange(1, 5)))
        text = f"{RELATIONS}  s: {{from: orders, correction: again, steps: [{steps}]}}\n"
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
        (stream,) = build_plan(spec).streams
        relations = {each.name.removeprefix(prefix): each for each in relations_of(stream)}
        for batch, log in zip(batches, _logs(Random(prefix), relations), strict=True):
            batch += [told.change(relations[told.relation]) for told in log]
    return StreamTrial(
        joined(list(specs.values())),
        tuple(StreamBatch(tuple(each)) for each in batches),
        tuple(each.streams[0].name for each in specs.values()),
    )


def stream_failures(trial: StreamTrial, runner: StreamRunner) -> list[str]:
    """Return a line for each stream, named by its seed, on which `runner` differs."""
    expected: Sequence[Sent] = ReferenceStreamRunner().run(trial.project, trial.batches)
    received = runner.run(trial.project, trial.batches)
    found = ((name, difference(expected, received, name)) for name in trial.names)
    return [f"{name}: {told}" for name, told in found if told]


def _logs(random: Random, relations: dict[str, Relation]) -> list[Log]:
    """Return the batches of the relations that are read, as many as all trials have."""
    logs = [orders(random), rows(random), versions(random, DELAY)]
    read = [[each for each in log if each.relation in relations] for log in logs]
    batches: list[Log] = [[] for _ in range(BATCHES)]
    for number, each in enumerate(cut(random, *read)):
        batches[min(number, BATCHES - 1)] += each
    return told_again(random, batches)


def _step(random: Random) -> str:
    return random.choice((_lookup, _lookup, _version, _plain))(random)


def _lookup(random: Random) -> str:
    fields = random.choice(("[price]", "{label: title}", "[whole]", "{p: price + 1}"))
    return (
        f"{{lookup: products, on: [sku], fields: {fields},"
        f" on_miss: {random.choice(_MISS)}, on_change: {random.choice(_CHANGE)}}}"
    )


def _version(random: Random) -> str:
    switches = random.choice(
        (*(f"on_miss: {miss}" for miss in _MISS[:3]), "late: correct", "late: correct")
    )
    field = random.choice(("[price]", "{was: price}"))
    return f"{{lookup: prices, on: [sku], fields: {field}, as_of: event, {switches}}}"


def _plain(random: Random) -> str:
    return random.choice(
        (
            "{filter: sku <> 'b'}",
            "{filter: price > 1 or price is null}",
            "{with_columns: {twice: price * 2}}",
            "{with_columns: {sku: lower(sku)}}",
            "{with_columns: {late: id % 3 = 0}}",
        )
    )
