"""What a query in real-time mode may have, and where its records go.

Real-time mode takes a change at a time: Spark's own Kafka sink writes each document as it
leaves the chain, or the driver of a local session writes those that came together; so nothing that
needs a whole batch can take part.

Invariant: what cannot run is refused before a session starts, with every reason at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

from joinery.clients.kafka import Brokers
from joinery.dead_letters.open import DeadLetterPlaceError, dead_letter_topic
from joinery.errors import SpecError
from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm, Plan, Product, Sink
from joinery.plan.search import SearchForm
from joinery.plan.step import Union
from joinery.plan.stream import Stream, outputs_of
from joinery.project.captured import CAPTURED
from joinery.project.option import property_texts
from joinery.project.product import ProjectSpec
from joinery.project.value import Pairs
from joinery.project.window import Sliding
from joinery.spark.source.source import SourceRead, sources_of

_READ = ("kafka", *CAPTURED)
_BY_DRIVER = frozenset({"opensearch"})
_SINK_OPTIONS = frozenset(
    {"topic", "bootstrap", "properties", "create", "partitions", "replication", "transactions"}
)


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

    @property
    def brokers(self) -> Brokers:
        """Where the topic is."""
        return Brokers(self.bootstrap, dict(self.properties))

    def to_map(self, max_bytes: int) -> dict[str, str | int]:
        """Return the topic as the kernel reads it, with the bytes of the largest record."""
        sink = self.brokers.target(self.topic)
        return {"topic": self.topic, "maxBytes": max_bytes, "sink": sink}


@dataclass(frozen=True, slots=True)
class RealTimeTarget:
    """Where a query's records go: topics of one Kafka.

    Attributes:
        topics: By product, one or more.
        dead_letters: The topic of records that cannot be used.
    """

    topics: Mapping[str, tuple[KafkaTopic, ...]]
    dead_letters: KafkaTopic

    @property
    def places(self) -> tuple[KafkaTopic, ...]:
        """All topics, that of dead letters last."""
        return (*(each for found in self.topics.values() for each in found), self.dead_letters)

    def to_json(self, products: Sequence[str], max_bytes: Mapping[str, int]) -> str:
        """Return the target as the kernel reads it.

        Args:
            products: In the order of the program.
            max_bytes: Of a record, by topic, that of dead letters included.
        """
        written = [
            [one.to_map(max_bytes[one.topic]) for one in self.topics[each]] for each in products
        ]
        letters = self.dead_letters
        return json.dumps(
            {"topics": written, "deadLetters": letters.to_map(max_bytes[letters.topic])}
        )


@dataclass(frozen=True, slots=True)
class DriverTarget:
    """What a query sends is written by the driver, to the sinks of its batches."""


def real_time_target(
    spec: ProjectSpec, query: str, products: Sequence[Product], reads: Sequence[SourceRead]
) -> RealTimeTarget | DriverTarget:
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
    if _is_by_driver(products):
        return DriverTarget()
    return RealTimeTarget(kafka_topics(products), _letters(spec))


def _is_by_driver(products: Sequence[Product]) -> bool:
    """Return whether all sinks of a query are of those that the driver writes to."""
    return all(each.sinks for each in products) and all(
        sink.kind in _BY_DRIVER for each in products for sink in each.sinks
    )


def check_local(query: str, master: str) -> None:
    """Refuse a session whose tasks run on other machines than the driver that is to write.

    Raises:
        RealTimeRefusedError: It is not local.
    """
    if master != "local" and not master.startswith("local["):
        raise RealTimeRefusedError(
            f'query "{query}" cannot run in real-time mode in a session of {master}: the driver'
            " writes to its sinks, and takes documents from tasks of its own process",
            hint="Run it on one machine, with a sink in Kafka, or without real time.",
        )


def refused_queries(spec: ProjectSpec, plan: Plan) -> list[RealTimeRefusedError]:
    """Return why queries of a project cannot run in real-time mode, each at its first product."""
    queries: dict[str, list[Product]] = {}
    for product in outputs_of(plan):
        queries.setdefault(product.query, []).append(product)
    refused = []
    for query, products in queries.items():
        try:
            real_time_target(spec, query, products, sources_of(spec, products))
        except RealTimeRefusedError as error:
            section = "streams" if isinstance(products[0].form, Stream) else "products"
            error.location = spec.locations.locate((section, products[0].name), key=True)
            refused.append(error)
    return refused


def kafka_topics(products: Sequence[Product]) -> Mapping[str, tuple[KafkaTopic, ...]]:
    """Return, by product, the topics that its Kafka sinks write in JSON."""
    return {
        each.name: tuple(_topic(sink) for sink in each.sinks if _is_json(sink)) for each in products
    }


def _is_json(sink: Sink) -> bool:
    return sink.kind == "kafka" and dict(sink.options).get("format", "json") == "json"


def _topic(sink: Sink) -> KafkaTopic:
    options: dict[str, Any] = dict(sink.options)
    properties = property_texts(options.get("properties"))
    return KafkaTopic(str(options["topic"]), str(options["bootstrap"]), tuple(properties.items()))


def _letters(spec: ProjectSpec) -> KafkaTopic:
    brokers, topic = dead_letter_topic(spec)
    return KafkaTopic(topic, brokers.bootstrap, tuple(brokers.properties.items()))


def _reasons(
    spec: ProjectSpec, products: Sequence[Product], reads: Sequence[SourceRead]
) -> Iterator[str]:
    """Yield all that stands against real-time mode."""
    kinds = {each.name: each.kind for each in spec.sources}
    for read in reads:
        kind = kinds.get(read.source.name, read.source.kind)
        if kind not in _READ:
            name = read.source.name
            listed = f"{', '.join(_READ[:-1])} and {_READ[-1]}"
            yield f'source "{name}" is of kind {kind}; real time reads only {listed}'
    databases = {name for name, kind in kinds.items() if kind in CAPTURED}
    for relation in dict.fromkeys(each for one in products for each in one.relations):
        if relation.append and relation.source in databases:
            yield (
                f'relation "{relation.name}" is append, and a database may send its rows again'
                " after a crash of its capture"
            )
    for product in products:
        yield from _reasons_of(product)
    if spec.run.audit is not None:
        yield "run.audit compares what was committed, which real time does once an interval"
    if _is_by_driver(products):
        yield from _driver_against(spec, products)
    else:
        yield from _topics_against(spec, products)


def _driver_against(spec: ProjectSpec, products: Sequence[Product]) -> Iterator[str]:
    """Yield what stands against sinks that the driver writes to."""
    if not isinstance(spec.checkpoint, Path):
        yield "its checkpoint is in a store, and what the driver sends is noted on a disk"
    for each in products:
        if isinstance(each.form, Stream):
            yield f'the events of stream "{each.name}" could not be sent again after a crash'
        if any(dict(sink.options).get("parallel") == "tasks" for sink in each.sinks):
            yield f'product "{each.name}" has parallel: tasks, and in real time the driver writes'


def _topics_against(spec: ProjectSpec, products: Sequence[Product]) -> Iterator[str]:
    """Yield what stands against the topics of a query."""
    for each in products:
        yield from _sinks_against(each)
    found = [each for topics in kafka_topics(products).values() for each in topics]
    try:
        found.append(_letters(spec))
    except DeadLetterPlaceError as error:
        yield f"{error.message}; real time needs run.dead_letters: {{kafka: {{topic: …}}}}"
    if len({each.bootstrap for each in found}) > 1:
        yield "its topics are in several Kafka clusters; real time writes to one"
    elif len({tuple(sorted(each.properties)) for each in found}) > 1:
        named = ", ".join(dict.fromkeys(each.topic for each in found))
        yield f"its topics ({named}) have different properties; real time takes one set of them"
    names = [each.topic for each in found]
    shared = sorted({each for each in names if names.count(each) > 1})
    for topic in shared:
        yield f'topic "{topic}" would be written twice; each needs its own'


def _reasons_of(product: Product) -> Iterator[str]:
    name = product.name
    yield from _form_against(product)
    if product.solution != "spark-state":
        yield f'product "{name}" has the solution {product.solution}, which needs batches'
    if any(each.spools for each in product.sinks):
        yield f'product "{name}" has a spool, which needs batches'
    for each in product.reads:
        yield f'product "{name}" reads product "{each.name}", which needs batches'
    if product.settle_ms is not None:
        yield f'product "{name}" waits for quiet (emit: settle), which needs batches'
    if product.ready:
        yield f'product "{name}" waits for relations (ready), which needs batches'


def _sinks_against(product: Product) -> Iterator[str]:
    """Yield what stands against the sinks of a product whose query writes to topics."""
    name = product.name
    if not product.sinks:
        yield f'product "{name}" has no sink; real time writes to Kafka'
    for sink in product.sinks:
        if sink.kind != "kafka":
            yield (
                f'product "{name}" has a sink of kind {sink.kind}; real time writes to Kafka, or,'
                " where all sinks of a query are of it, to opensearch"
            )
            continue
        other = sorted(set(dict(sink.options)) - _SINK_OPTIONS)
        if other:
            options = ", ".join(other)
            yield f'the kafka sink of "{name}" has {options}, which real time does not support'


def _form_against(product: Product) -> Iterator[str]:
    """Yield what of a product's form needs whole batches."""
    match product.form:
        case DocumentForm():
            if any(each.as_of is not None for each in product.form.root.walk()):
                yield f'product "{product.name}" embeds versions, which real time does not run yet'
            if product.form.waits:
                yield f'product "{product.name}" is sent once it is decided, known by batch'
            if product.form.emit.late != "correct":
                yield f'product "{product.name}" leaves out late rows (emit: late), known by batch'
        case OutboxForm():
            yield f'product "{product.name}" has an outbox, which needs batches'
        case Stream():
            yield from _steps_against(product.form)
        case AggregateForm():
            yield from _groups_against(product.name, product.form)
        case SearchForm():
            if not product.form.retroactive:
                name = product.name
                yield f'product "{name}" keeps no documents (retroactive: false) to send again'
        case PatternForm():
            if product.form.waits:
                yield f'product "{product.name}" is sent once it is decided, known by batch'
            if product.form.emit.late != "correct":
                yield f'product "{product.name}" leaves out late rows (emit: late), known by batch'
        case FoldForm():
            if product.form.waits_by_watermark or product.form.waits_by_clock:
                yield (
                    f'product "{product.name}" waits for missing numbers by time (wait), known by'
                    " batch; real time waits by count, such as 100 events, or not at all (0s)"
                )
        case HistoryForm():
            pass
        case _:
            assert_never(product.form)


def _groups_against(name: str, form: AggregateForm) -> Iterator[str]:
    """Yield what of groups waits for a watermark, which batches alone keep."""
    if isinstance(form.window, Sliding):
        yield f'product "{name}" has sliding windows, which move by batch'
    if form.emit.when == "closed":
        yield f'product "{name}" waits for windows to close (emit: when), known by batch'
    if form.emit.late != "correct":
        yield f'product "{name}" leaves out late rows (emit: late), known by batch'


def _steps_against(stream: Stream) -> Iterator[str]:
    """Yield the steps of a stream that need whole batches, those of united ones included."""
    for step in stream.steps:
        if step.by_batch:
            yield f'stream "{stream.name}" {step.by_batch}'
        if isinstance(step, Union):
            yield from _steps_against(step.other)


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
