"""What a user declares of streams, as values: where events come from, and what is done with them.

Invariant: two streams that declare the same are equal, from YAML or from Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from joinery.project.kind import SINK_LIST, SinkSpec
from joinery.project.mark import Path
from joinery.project.part import (
    Part,
    key,
    part,
    read_part,
    referred,
)
from joinery.project.quantity import duration_ms
from joinery.project.reader import Reader
from joinery.project.step import STEP_LIST, StepSpec
from joinery.project.tree import Entry, MapTree, Scalar, Tree
from joinery.project.value import (
    DURATION,
    GROUP,
    OTHER,
    TEXT,
    At,
    one_of,
)


@part
class WatermarkSpec(Part):
    """How far a relation's times may be behind one another; None sets no bound."""

    delay_ms: int = key(
        DURATION, "How far behind the newest time a row may still arrive.", default=0
    )
    idle_ms: int | None = key(
        DURATION,
        "Without a row for this long, the relation is not waited for; by default never.",
        default=None,
    )
    ahead_ms: int | None = key(
        DURATION,
        "A time further ahead of the log's own, which files do not have, does not move the"
        " watermark; by default all do.",
        default=None,
    )

    @classmethod
    def check(cls, reader: Reader, parts: Mapping[str, Tree], what: str) -> None:
        """Refuse to wait for nothing."""
        idle = parts.get("idle")
        if isinstance(idle, Scalar) and duration_ms(idle.text) == 0:
            message = f'"idle" of {what} needs a duration above 0s'
            hint = "Without it, a partition is always waited for."
            reader.refuse("SPEC_VALUE", message, idle.mark.value, hint=hint)


@part
class ClocksSpec(Part):
    """The clocks of a device and of what received its events: columns with times."""

    event: str = key(TEXT, "The column with the time of the event, by the device's clock.")
    sent: str = key(
        TEXT, "The column with the time at which the event was sent, by the same clock."
    )
    received: str = key(
        TEXT,
        "The column with the time at which it was received, by a clock you trust; or `$log`, the"
        " time of its record in Kafka.",
    )
    tolerance_ms: int = key(
        DURATION,
        "How much the two clocks may differ before the event's time is corrected.",
        default=300_000,
    )
    max_ms: int = key(
        DURATION,
        "How much they may differ before they are not believed (`suspect`).",
        default=30 * 86_400_000,
    )
    suspect: Literal["received", "dead_letter"] = key(
        one_of(("received", "dead_letter")),
        "What happens to an event whose clocks are not believed: it gets the time at which it was"
        " received, or becomes a dead letter.",
        default="received",
    )


def _read_new_name(at: At, tree: Tree) -> str:
    name = at.reader.text(tree, at.part)
    at.reader.output_name(name or "column", "a column", tree.mark.value)
    return name


@part
class StreamSpec(Part):
    """Events, what happens to them in order, and where they go.

    Attributes:
        origin: A relation with `append: true`, or another stream that this one goes on from.
        correction: The name of a boolean column that tells a correction from a first event.
    """

    name: str
    origin: str = key(
        OTHER,
        "A relation with `append: true`, or another stream.",
        name="from",
        hint="Write from: RELATION, one with append: true.",
    )
    steps: tuple[StepSpec, ...] = key(
        STEP_LIST,
        "What is done with an event, in order.",
        default=(),
    )
    sinks: tuple[SinkSpec, ...] = key(
        SINK_LIST, "Where events are written.", name="sink", default=()
    )
    group: str | None = key(
        GROUP,
        "Streams of one group share a query: they read their sources once.",
        default=None,
    )
    correction: str | None = key(
        replace(TEXT, read=_read_new_name),
        "The name of a boolean column that is true for a correction.",
        default=None,
    )

    @property
    def reads(self) -> frozenset[str]:
        """The names of all relations and streams that it reads."""
        return frozenset(name for each in (self, *self.steps) for name in referred(each))


def read_stream(reader: Reader, entry: Entry, path: Path) -> StreamSpec:
    """Return the stream that an entry of `streams` declares."""
    what, tree = f'stream "{entry.name}"', entry.value
    reader.folder_name(entry.name, "a stream", entry.place)
    if not isinstance(tree, MapTree):
        reader.shape(tree, what, "a map")
        return StreamSpec(entry.name, "")
    return read_part(reader, tree, what, StreamSpec, path, place=entry.place, name=entry.name)
