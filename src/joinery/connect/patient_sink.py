"""A sink that waits for its target.

Invariant: before each attempt after the first the batch's lease is checked, and the inner
sink has been closed and opened again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from joinery.connect.guarantee import Guarantee
from joinery.connect.protocol import Sink, SinkUnavailableError, StagedBatch, Written
from joinery.connect.retry import PATIENCE, Patience, Retry
from joinery.model.progress import Waiting


class PatientSink:
    """Writes to `sink`, and waits as long as its target is not there.

    Args:
        sink: Not yet opened.
        product: Whose documents it takes.
        ended: True once the run is to end; a wait ends then.
        tell: Told what is waited for, and None once that is over.
        patience: How it waits.
    """

    def __init__(
        self,
        sink: Sink,
        product: str,
        *,
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
        patience: Patience = PATIENCE,
    ) -> None:
        self._sink = sink
        self._open = False
        self._retry = Retry(
            "sink",
            product,
            lambda: sink.target,
            outage=SinkUnavailableError,
            ended=ended,
            tell=tell,
            patience=patience,
        )

    @property
    def wrapped(self) -> Sink:
        """The sink that it waits for."""
        return self._sink

    @property
    def guarantee(self) -> Guarantee:
        """That of the wrapped sink."""
        return self._sink.guarantee

    @property
    def target(self) -> str:
        """That of the wrapped sink."""
        return self._sink.target

    def open(self) -> None:
        """Open the sink; one whose target is not there now is opened with the first batch."""
        try:
            self._sink.open()
            self._open = True
        except SinkUnavailableError as error:
            self._sink.close()
            self._retry.note(error, 1)

    def write(self, batch: StagedBatch) -> Written:
        """Write `batch`, however long its target takes.

        Raises:
            SinkUnavailableError: The run ended while the target was not there.
        """
        attempt = partial(self._attempt, batch)
        return self._retry.until_done(attempt, f"could not write to {self.target}")

    def close(self) -> None:
        """Close the sink."""
        self._open = False
        self._sink.close()

    def _attempt(self, batch: StagedBatch) -> Written:
        batch.check()
        if not self._open:
            self._sink.close()
            self._sink.open()
            self._open = True
        try:
            return self._sink.write(batch)
        except SinkUnavailableError:
            self._open = False
            raise
