"""What a query in real-time mode may have, and where its records go.

Real-time mode takes a change at a time: Spark's own Kafka sink writes each document as it
leaves the chain, so nothing that needs a whole batch can take part.

Invariant: what cannot run is refused before a session starts, with every reason at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.spark.source import SourceRead
from joinery.spec.kafka import kafka_options
from joinery.spec.product import Pairs, ProjectSpec, SinkSpec

_SINK_OPTIONS = frozenset({"topic", "bootstrap", "properties", "create"})


class RealTimeRefusedError(SpecError):
    """A query cannot run in real-time mode."""

    code = "RUN_REAL_TIME"


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic that documents or dead letters go to.

    Attributes:
        properties: Of Kafka's client; may hold secrets, so never shown.
    """

    topic: str
    bootstrap: str
    properties: Pairs = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RealTimeTarget:
    """Where a query's records go: one Kafka, a topic or more a product.

    Attributes:
        topics: By product.
        dead_letters: The topic of records that cannot be used.
    """

    bootstrap: str
    properties: Pairs = field(repr=False)
    topics: Mapping[str, tuple[str, ...]]
    dead_letters: str


def real_time_target(
    spec: ProjectSpec, query: str, products: Sequence[Product], reads: Sequence[SourceRead]
) -> RealTimeTarget:
    """Return where the records of a query in real-time mode go.

    Raises:
        RealTimeRefusedError: The query has a part that needs whole batches.
    """
    reasons = list(_reasons(spec, products, reads))
    if reasons:
        raise RealTimeRefusedError(
            f'query "{query}" cannot run in real-time mode: {reasons[0]}',
            detail=" ".join(f"Also: {each}." for each in reasons[1:]),
            hint="Change that, or run without real time.",
        )
    topics = kafka_topics(spec, products, reads)
    letters = _topic_of(spec.run.dead_letters, reads)
    first = topics[products[0].name][0]
    return RealTimeTarget(
        bootstrap=first.bootstrap,
        properties=first.properties,
        topics={name: tuple(each.topic for each in found) for name, found in topics.items()},
        dead_letters=letters.topic,
    )


def kafka_topics(
    spec: ProjectSpec, products: Sequence[Product], reads: Sequence[SourceRead]
) -> Mapping[str, tuple[KafkaTopic, ...]]:
    """Return, by product, the topics that its Kafka sinks write."""
    return {
        each.name: tuple(
            _topic_of(SinkSpec(sink.kind, sink.options), reads)
            for sink in each.sinks
            if sink.kind == "kafka"
        )
        for each in products
    }


def _topic_of(sink: SinkSpec, reads: Sequence[SourceRead]) -> KafkaTopic:
    """Return a sink's topic; without brokers of its own it uses those of the source."""
    options: dict[str, Any] = dict(sink.options)
    source = next((each.source for each in reads if each.source.kind == "kafka"), None)
    read = kafka_options(source) if source else None
    given = options.get("properties")
    own = tuple((name, _plain(value)) for name, value in given or ())
    bootstrap = str(options.get("bootstrap") or (read.bootstrap if read else ""))
    shared = read is not None and bootstrap == read.bootstrap and given is None
    properties = read.properties if read is not None and shared else own
    return KafkaTopic(str(options.get("topic", "")), bootstrap, properties)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reasons(
    spec: ProjectSpec, products: Sequence[Product], reads: Sequence[SourceRead]
) -> Iterator[str]:
    """Yield all that stands against real-time mode."""
    for read in reads:
        if read.source.kind != "kafka":
            kind = read.source.kind
            yield f'source "{read.source.name}" is of kind {kind}; real time reads Kafka alone'
    for product in products:
        yield from _reasons_of(product)
    if spec.run.dead_letters.kind != "kafka":
        kind = spec.run.dead_letters.kind
        wanted = "real time needs run.dead_letters: {kafka: {topic: …}}"
        yield f"dead letters go to {kind}; {wanted}"
    if not all(each.source.kind == "kafka" for each in reads):
        return
    found = [each for topics in kafka_topics(spec, products, reads).values() for each in topics]
    if spec.run.dead_letters.kind == "kafka":
        found.append(_topic_of(spec.run.dead_letters, reads))
    if len({(each.bootstrap, each.properties) for each in found}) > 1:
        yield "its topics are in several Kafkas; real time writes to one"
    names = [each.topic for each in found]
    shared = sorted({each for each in names if names.count(each) > 1})
    for topic in shared:
        yield f'topic "{topic}" would be written twice; each needs its own'


def _reasons_of(product: Product) -> Iterator[str]:
    name = product.name
    if product.outbox:
        yield f'product "{name}" has an outbox, which needs batches'
    if product.settle_ms is not None:
        yield f'product "{name}" waits for quiet (emit: settle), which needs batches'
    if product.ready:
        yield f'product "{name}" waits for relations (ready), which needs batches'
    if not product.sinks:
        yield f'product "{name}" has no sink; real time writes to Kafka'
    for sink in product.sinks:
        if sink.kind != "kafka":
            yield f'product "{name}" has a sink of kind {sink.kind}; real time writes to Kafka'
            continue
        other = sorted(set(dict(sink.options)) - _SINK_OPTIONS)
        if other:
            yield f'the kafka sink of "{name}" has {", ".join(other)}, which real time has not'


def slots_needed(*, partitions: int, levels: int, shuffle_partitions: int) -> int:
    """Return how many tasks of a query run at once: all of its stages do.

    Example:
        >>> slots_needed(partitions=5, levels=3, shuffle_partitions=2)
        11
    """
    return partitions + levels * shuffle_partitions


def check_slots(query: str, needed: int, there: int) -> None:
    """Refuse a session with fewer task slots than `needed` by all queries so far.

    Raises:
        RealTimeRefusedError: There are too few.
    """
    if needed > there:
        raise RealTimeRefusedError(
            f'query "{query}" needs {needed} task slots in real-time mode; the session has {there}',
            detail="Each partition of its topics and each shuffle partition of each level takes"
            " one for as long as the query runs.",
            hint=f"Give Spark {needed} cores or more (--master 'local[{needed}]' on one machine),"
            " or set spark.sql.shuffle.partitions lower on a fresh checkpoint.",
        )
