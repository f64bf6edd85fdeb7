"""What a sink takes: the staged documents of one batch, whole, by key, with a version.

Invariant: a batch may be written again after a crash, with the same versions and contents;
writing it twice must leave what writing it once leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from joinery.errors import RunError
from joinery.model.type import Struct


class SinkError(RunError):
    """A sink could not take a batch."""

    code = "RUN_SINK"


class FencedError(RunError):
    """Another run has taken over; this one may write nothing more."""

    code = "RUN_FENCED"


def _always_ours() -> None:
    """The check of a batch that nobody else can take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBatch:
    """The documents of one product that one batch changed, each key once.

    Attributes:
        product: The product's name.
        query: The query that runs it.
        query_id: The identity of the query's checkpoint; a fresh checkpoint has another.
        batch_id: Rises by one; repeats when a batch runs again.
        files: Lines `{"key": {…}, "value": {…} | null, "version": n}`, UTF-8.
        key: The root key's columns and types.
        value: The document's type.
        epoch: Rises with each run of the query; a lower one is a run that was replaced.
        check: Raises `FencedError` once another run has taken over. To be called right
            before what was written becomes visible.
    """

    product: str
    query: str
    query_id: str
    batch_id: int
    files: tuple[Path, ...]
    key: Struct
    value: Struct
    epoch: int = 0
    check: Callable[[], None] = _always_ours


class Sink(Protocol):
    """A place for the documents of one product.

    Opened once, then written a batch at a time from one thread, in the order of their ids;
    closed once, also after an error. What `write` took when it returns is durable.
    """

    def open(self) -> None:
        """Connect, and create what is missing."""

    def write(self, batch: StagedBatch) -> None:
        """Take all documents of `batch`, never replacing a newer version by an older one."""

    def close(self) -> None:
        """Release connections."""


class SinkFactory(Protocol):
    """Makes the sink of one product; the object behind an entry point of `joinery.sinks`."""

    def __call__(self, product: str, options: Mapping[str, object], folder: Path) -> Sink:
        """Return the sink, not yet opened.

        Args:
            product: The product's name.
            options: What the project file gives under the sink's kind.
            folder: Where relative paths begin.

        Raises:
            SpecError: If an option is missing, has another type, or is not known.
        """
