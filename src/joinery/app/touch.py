"""Documents sent again though nothing changed, as after somebody altered them in a sink.

They are those that the state of the run has after its last batch, so no database is needed. The run
sends them between two batches, to all sinks of the product; where none goes on it is done here.

Invariant: nothing that a later batch sends is replaced: a document goes out under the version that
follows the highest under which a sink holds it, and only if that is below those of later batches.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice

from joinery.app.project import ProjectLike, project_of
from joinery.app.repair import KEPT, Repair
from joinery.app.state import query_of, refuse_untold
from joinery.app.state_documents import key_prefix
from joinery.delivery.action_log import ActionLog
from joinery.delivery.query_paths import QueryPaths
from joinery.delivery.repair import Outcome, Wanted
from joinery.errors import RunError, SinkError, SpecError
from joinery.observe.outline import known_products
from joinery.observe.read_status import read_status
from joinery.place.place import Place
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.project.quantity import given_duration_ms
from joinery.sinks.line import StagedRow, parse_line
from joinery.sinks.reader import DocumentReader, Held, make_reader
from joinery.text.figure import counted_text

_AT_ONCE = 5000
_SKEW_US = 60_000_000
_SHOWN = 80


class TouchError(SpecError):
    """Documents cannot be sent again, or none is meant."""

    code = "TOUCH"


class TouchLateError(RunError):
    """The run has not sent documents again in the time that it was given; it still will."""

    code = "TOUCH_LATE"


@dataclass(frozen=True, slots=True)
class Touched:
    """What became of documents that were to be sent again.

    Attributes:
        found: How many the state of the run has.
        sent: How many were sent again, to all sinks of the product.
        notes: What became of the others, each in words.
    """

    product: str
    found: int
    sent: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        sent = counted_text(self.sent, "document")
        rest = "" if self.sent == self.found else f" of {self.found:,}"
        return f"{self.product}: {sent}{rest} sent again"


def touch(project: ProjectLike, product: str, key: object = (), *, wait: str = "1m") -> Touched:
    """Send documents again, under higher versions, as the state of the run has them.

    Args:
        project: The project, its file, or a folder of them; or an app.
        product: One whose state is in Spark's state store.
        key: Only documents whose keys begin with these values: one, or several in order; a text
            is taken as `joinery touch` takes it. All without any.
        wait: How long the run is given for each five thousand of them.

    Raises:
        ProjectErrors: The file has problems.
        WhyError: There is no such product, or what is asked does not fit it.
        TouchError: It has no such document, or cannot be sent again.
        TouchLateError: The run has not answered in time; it will.
        SinkError: A sink cannot be read or written.
        StateReadError: There is no such state, or it is that of another plan.
        RunError: Java is missing.
    """
    from joinery.spark.recovery.state_reader import StateReader

    spec = project_of(project).spec
    limit_ms = given_duration_ms(wait, TouchError)
    query = query_of(spec, _known(spec, product))
    plan = next(each for each in query if each.name == product)
    refuse_untold(plan, "joinery touch")
    _refuse(spec, plan)
    prefix = key_prefix(plan, key)
    found, outcomes = 0, list[Outcome]()
    checkpoint = QueryPaths.of(spec.checkpoint, plan.query).checkpoint
    with ExitStack() as opened:
        readers = _readers(spec, plan)
        for each in readers.values():
            opened.callback(each.close)
        state = opened.enter_context(StateReader(spec, query))
        rows = _rows(state.lines(product, prefix))
        until_us = _below_later(checkpoint, state.batch)
        while some := list(islice(rows, _AT_ONCE)):
            if not found:
                told = "" if not prefix else f"key {','.join(prefix.values())[:_SHOWN]}"
                ActionLog(spec.checkpoint).note("touch", (product,), told)
            found += len(some)
            outcomes += _send(spec, plan, some, readers, until_us=until_us, wait_s=limit_ms / 1000)
    if not found:
        raise TouchError(
            f'product "{product}" has no document to send again'
            + (" with such a key, or one that begins with it" if prefix else ""),
            detail=f"The state after batch {state.batch} of its run has none.",
            hint="joinery why KEY --product P says why; joinery diff --repair removes what should"
            " not be in a sink.",
        )
    return Touched(product, found, sum(each.sent for each in outcomes), tuple(_notes(outcomes)))


def _known(spec: ProjectSpec, product: str) -> str:
    products = [each.name for each in spec.products]
    if product not in products:
        known = ", ".join(each for each in known_products(spec) if each in products)
        raise TouchError(f'there is no product "{product}"', hint=f"Known: {known}.")
    return product


def _refuse(spec: ProjectSpec, product: Product) -> None:
    """Refuse a product of which it is not known what was sent, or that may hold it back."""
    if product.settle_ms or product.ready:
        held = "settle" if product.settle_ms else "ready"
        raise TouchError(
            f'product "{product.name}" holds documents back ("{held}"), so not all that its state'
            " has may be sent",
            hint="Repair it with joinery diff --repair.",
        )
    told, _ = read_status(QueryPaths.of(spec.checkpoint, product.query).status_file)
    if spec.run.real_time or (told is not None and told.live):
        raise TouchError(
            f'product "{product.name}" is kept in real-time mode, which tells only at its commits'
            " what it has sent"
        )


def _readers(spec: ProjectSpec, product: Product) -> dict[int, DocumentReader]:
    """Return what reads those sinks of a product back that can be, by their place among all."""
    found: dict[int, DocumentReader] = {}
    why = "it has no sink"
    for place, sink in enumerate(product.sinks):
        try:
            found[place] = make_reader(
                sink.kind,
                dict(sink.options),
                product=product.name,
                folder=spec.path_of("."),
                key=product.key,
                value=product.output,
            )
        except SinkError as error:
            why = error.message
    if not found:
        raise TouchError(f'product "{product.name}" cannot be sent again: {why}')
    return found


def _rows(lines: Iterable[bytes]) -> Iterator[StagedRow]:
    """Yield documents as they were sent, without those that are dead letters."""
    for line in (one for many in lines for one in many.decode().splitlines()):
        told = json.loads(line)
        if not told.get("refused"):
            versioned = line if "version" in told else f'{line.rstrip()[:-1]},"version":0}}'
            yield parse_line(versioned)


def _below_later(checkpoint: Place, batch: int) -> int:
    """Return a time, in microseconds since 1970, before which no batch after one was planned."""
    from joinery.spark.source.source import batch_time_us

    with suppress(FileNotFoundError):
        return batch_time_us(checkpoint, batch + 1)
    # One that is being planned now is written down soon.
    return max(batch_time_us(checkpoint, batch) + 2000, time.time_ns() // 1000 - _SKEW_US)


def _send(
    spec: ProjectSpec,
    product: Product,
    rows: Sequence[StagedRow],
    readers: Mapping[int, DocumentReader],
    *,
    until_us: int,
    wait_s: float,
) -> list[Outcome]:
    """Have documents sent again, each above the highest version under which a sink holds it."""
    keys = [each.key for each in rows]
    held = {place: reader.read(keys) for place, reader in readers.items()}
    asked: dict[int, list[Wanted]] = {}
    for row in rows:
        place = max(held, key=lambda each: _version(held[each].get(row.key)))
        found = held[place].get(row.key)
        asked.setdefault(place, []).append(
            Wanted(
                row.key,
                row.value,
                None if found is None else found.value,
                None if found is None else found.version,
                until_us,
            )
        )
    return [
        _answered(product, wanted, Repair(spec, product, place, wait_s).send(wanted))
        for place, wanted in asked.items()
    ]


def _answered(product: Product, wanted: Sequence[Wanted], outcome: Outcome | None) -> Outcome:
    if outcome is None:
        raise TouchLateError(
            f'{counted_text(len(wanted), "document")} of product "{product.name}" could not be sent'
            " again in time",
            detail=f"{KEPT}. The documents after these were not requested.",
            hint=f"joinery status {product.name} says what the run waits for; touch them again"
            " once it has caught up, or with a longer --timeout.",
        )
    return outcome


def _version(held: Held | None) -> int:
    return -1 if held is None else held.version


def _notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield what became of what was not sent again."""
    for name, why in (
        ("stale", "the run has sent them since, or a sink has them under a version above its own"),
        ("moved", "a sink holds another document by now; touch them again"),
        ("ahead", "a sink has them under a version of a time to come; delete them there first"),
        ("refused", "the sink refused them: see joinery dlq"),
    ):
        if count := sum(getattr(each, name) for each in outcomes):
            yield f"{count:,} not sent again: {why}"
    yield from dict.fromkeys(f"not sent: {each.failed}" for each in outcomes if each.failed)
