"""What stands between a product's staged batches and its sinks: when documents go out.

`DirectOutlet` passes a batch on; `joinery.connect.gate` and `joinery.connect.settle` wrap an
outlet and hold documents back.

Invariant: nothing reaches a sink once the batch's lease is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from joinery.connect.protocol import Sink, StagedBatch, Written
from joinery.errors import JoineryError, RunError
from joinery.model.warning import RunWarning, warn


class Outcome(NamedTuple):
    """What one sink made of some documents."""

    target: str
    written: Written


class BatchMaker(Protocol):
    """Makes a batch of one product in this run, for documents that a hold gives."""

    def __call__(self, *, query_id: str, batch_id: int, files: tuple[Path, ...]) -> StagedBatch:
        """Return the batch."""


@dataclass(frozen=True, slots=True)
class Delaying:
    """What an outlet needs that sends between batches.

    Attributes:
        make: Makes a batch of what is sent.
        tell: Told what became of it, before it is forgotten here.
        on_error: Told why it could not be sent.
        ended: True once the run is to end.
        end: Lets the run end after its batch.
        warn: Takes what someone should look at.
    """

    make: BatchMaker
    tell: Callable[[Sequence[Outcome]], None]
    on_error: Callable[[Exception], None]
    ended: Callable[[], bool] = lambda: False
    end: Callable[[], None] = lambda: None
    warn: Callable[[RunWarning], None] = warn


class Outlet(Protocol):
    """The way of one product's documents to its sinks; used by one thread at a time."""

    def open(self) -> None:
        """Open all sinks."""

    def write(self, batch: StagedBatch) -> Sequence[Outcome]:
        """Take a batch, also one without documents; tell what became of what was sent."""

    def drain(self) -> Sequence[Outcome]:
        """Send what may be sent now without waiting longer; called at the end of `--once`."""

    def close(self) -> None:
        """Close all sinks; what is still held is kept for the next run."""


class DirectOutlet:
    """Writes each batch to all sinks, which wait for each other."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    def open(self) -> None:
        """Open all sinks."""
        for sink in self._sinks:
            sink.open()

    def write(self, batch: StagedBatch) -> Sequence[Outcome]:
        """Write `batch` to each sink in turn."""
        if not batch.files:
            return ()
        return [Outcome(sink.target, _write(sink, batch)) for sink in self._sinks]

    def drain(self) -> Sequence[Outcome]:
        """Nothing is held."""
        return ()

    def close(self) -> None:
        """Close all sinks."""
        for sink in self._sinks:
            sink.close()


def _write(sink: Sink, batch: StagedBatch) -> Written:
    """Write a batch; what the sink raises is told with its product."""
    batch.check()
    try:
        return sink.write(batch)
    except JoineryError:
        raise
    except Exception as error:
        kind = type(sink).__name__
        raise RunError(
            f'could not write documents of "{batch.product}" to its sink ({kind}): {error}'
        ) from error
