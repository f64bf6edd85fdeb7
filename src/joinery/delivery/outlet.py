"""The way of a product's staged batches to its sinks, which wait for their targets.

`DirectOutlet` passes a batch on to its sinks; the outlets of `joinery.delivery.held_outlet` wrap an
outlet and hold documents back. `PatientSink` tries until its target is there.

Invariant: nothing reaches a sink once the batch's lease is lost. Before each attempt after the
first the lease is checked, and the sink has been closed and opened again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

from joinery.errors import JoineryError, RunError
from joinery.model.progress import Waiting
from joinery.model.warning import RunWarning, warn
from joinery.retry import PATIENCE, Patience, Retry
from joinery.sinks.protocol import (
    ListingSink,
    Refusal,
    Sink,
    SinkUnavailableError,
    StagedBatch,
    WrappingSink,
    Written,
    close_failed,
    waits_for_disk,
    whole,
)


class SinkResult(NamedTuple):
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
        tell: Called with what became of it, before it is forgotten here.
        on_error: Called with why it could not be sent.
        ended: True once the run is to end.
        end: Lets the run end after its batch.
        warn: Takes what someone should look at.
    """

    make: BatchMaker
    tell: Callable[[Sequence[SinkResult]], None]
    on_error: Callable[[Exception], None]
    ended: Callable[[], bool] = lambda: False
    end: Callable[[], None] = lambda: None
    warn: Callable[[RunWarning], None] = warn


class Outlet(Protocol):
    """The way of one product's documents to its sinks; used by one thread at a time."""

    def open(self) -> None:
        """Open all sinks."""

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Take a batch, also one without documents; tell what became of what was sent."""

    def drain(self) -> Sequence[SinkResult]:
        """Send what may be sent now without waiting longer; called at the end of `--once`."""

    def close(self) -> None:
        """Close all sinks; what is still held is kept for the next run."""


class DirectOutlet:
    """Writes each batch to all sinks, which wait for each other."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    @property
    def waits_for_disk(self) -> bool:
        """Whether all its sinks do."""
        return all(map(waits_for_disk, self._sinks))

    def open(self) -> None:
        """Open all sinks."""
        for sink in self._sinks:
            with _naming(sink, "could not open {}"):
                sink.open()

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        """Write `batch` to each sink in turn."""
        if batch.is_empty:
            return ()
        results: list[SinkResult] = []
        for sink in self._sinks:
            batch.check()
            with _naming(sink, f'could not write documents of "{batch.product}" to {{}}'):
                results.append(SinkResult(sink.target, whole(sink.write(batch))))
        return results

    def drain(self) -> Sequence[SinkResult]:
        """Nothing is held."""
        return ()

    def close(self) -> None:
        """Close all sinks; one that fails holds up neither the others nor the end of the run."""
        for sink in self._sinks:
            try:
                sink.close()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                warn(
                    RunWarning(
                        code="WARN_SINK_CLOSE",
                        about=sink.target,
                        message=f"could not close {sink.target}: {type(error).__name__}: {error}",
                        detail="What it was given it has taken.",
                        hint="See to what it left open.",
                    )
                )


@contextmanager
def _naming(sink: Sink, told: str) -> Iterator[None]:
    """Tell what a sink raises with its target, in the place that `told` leaves for it.

    A sink that ends the process would only end the thread of a batch, which Spark waits for.
    """
    try:
        yield
    except JoineryError:
        raise
    except (Exception, SystemExit) as error:
        raise RunError(f"{told.format(sink.target)}: {type(error).__name__}: {error}") from error


class _Once(threading.local):
    """Whether a thread tries once; each has a value of its own."""

    here = False


class OneAttempt:
    """Says of a thread that it does not wait for a target that is away; other threads go on to."""

    def __init__(self) -> None:
        self._thread = _Once()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Let this thread try each target once."""
        self._thread.here = True
        try:
            yield
        finally:
            self._thread.here = False

    @property
    def is_here(self) -> bool:
        """Whether this thread tries each target once."""
        return self._thread.here


class PatientSink(WrappingSink):
    """Writes to `sink`, and waits as long as its target is not there.

    Args:
        sink: Not yet opened.
        product: Whose documents it takes.
        ended: True once the run is to end; a wait ends then.
        tell: Called with what is waited for, and None once that is over.
        patience: How it waits.
        examine: Called once with the sink, open, before anything is written to it.
    """

    def __init__(
        self,
        sink: Sink,
        product: str,
        *,
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
        examine: Callable[[Sink], None] = lambda sink: None,
        patience: Patience = PATIENCE,
    ) -> None:
        super().__init__(sink)
        self._open, self._examined, self._examine = False, False, examine
        self._retry = Retry(
            "sink",
            {"product": product},
            lambda: sink.target,
            outage=SinkUnavailableError,
            ended=ended,
            tell=tell,
            patience=patience,
        )

    @property
    def waits_for_disk(self) -> bool:
        """Whether the sink does."""
        return waits_for_disk(self._sink)

    def open(self) -> None:
        """Open the sink; one whose target is not there now is opened with the first batch."""
        try:
            self._open_sink()
        except SinkUnavailableError as error:
            close_failed(self._sink)
            self._retry.note(error)

    def write(self, batch: StagedBatch) -> Written:
        """Write `batch`, however long its target takes.

        Raises:
            SinkUnavailableError: The run ended while the target was not there.
        """
        attempt = partial(self._attempt, batch)
        return self._retry.until_done(attempt, f"could not write to {self.target}")

    def listing(self) -> ListingSink | None:
        """Return this sink where the one behind it can list its target's documents."""
        return None if super().listing() is None else self

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the keys that the target holds, however long it takes until it is there.

        Raises:
            SinkUnavailableError: The run ended while the target was not there, or the target
                went away in the middle of its list.
        """
        attempt = partial(self._attempt_list, batch)
        yield from self._retry.until_done(attempt, f"could not list what {self.target} holds")

    def close(self) -> None:
        """Close the sink."""
        self._open = False
        super().close()

    def _open_sink(self) -> None:
        self._sink.open()
        if not self._examined:
            self._examine(self._sink)
            self._examined = True
        self._open = True

    def _attempt(self, batch: StagedBatch) -> Written:
        with self._opened(batch):
            return self._sink.write(batch)

    def _attempt_list(self, batch: StagedBatch) -> Iterator[str]:
        """Return the target's keys once the first of them is here."""
        listing = super().listing()
        with self._opened(batch):
            keys = iter(listing.keys(batch) if listing is not None else ())
            first = next(keys, None)
        return keys if first is None else chain((first,), keys)

    @contextmanager
    def _opened(self, batch: StagedBatch) -> Iterator[None]:
        """Open the sink where it is not, and note when its target is gone."""
        batch.check()
        if not self._open:
            close_failed(self._sink)
            self._open_sink()
        try:
            yield
        except SinkUnavailableError:
            self._open = False
            raise


class SinkDeadLetters:
    """The dead letters that the sinks of one batch give; `file` appears with the first."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, product: str, target: str, refused: Sequence[Refusal]) -> None:
        """Add what `target` refused of `product`."""
        if not refused:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as lines:
            lines.writelines(f"{_line(product, target, each)}\n" for each in refused)


def _line(product: str, target: str, refusal: Refusal) -> str:
    letter = {
        "reason": refusal.reason,
        "detail": refusal.detail,
        "product": product,
        "sink": target,
        "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        "key": refusal.row.key,
        "value": refusal.row.value,
        "version": refusal.row.version,
    }
    return json.dumps(letter, ensure_ascii=False)
