"""Dead letters whose place is waited for, as sinks are: the stream stands still meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from joinery.connect.dead_letters import DeadLetterWriter
from joinery.connect.guarantee import Guarantee
from joinery.connect.patient_sink import PatientSink
from joinery.connect.protocol import StagedBatch, Written
from joinery.model.progress import Waiting
from joinery.model.type import Struct

_NAME = "dead letters"


class PatientLetters:
    """Keeps letters in `writer`, and waits as long as its place is not there.

    Args:
        writer: Where they go.
        ended: True once the run is to end; a wait ends then.
        tell: Told what is waited for, and None once that is over.
    """

    def __init__(
        self,
        writer: DeadLetterWriter,
        *,
        ended: Callable[[], bool],
        tell: Callable[[Waiting | None], None],
    ) -> None:
        self.target = writer.target
        self._sink = PatientSink(_LetterSink(writer), _NAME, ended=ended, tell=tell)

    def put(
        self, parts: Sequence[Path], *, query_id: str, batch_id: int, check: Callable[[], None]
    ) -> None:
        """Keep the letters of one batch, however long that takes."""
        self._sink.write(
            StagedBatch(
                product=_NAME,
                query=_NAME,
                query_id=query_id,
                batch_id=batch_id,
                files=tuple(parts),
                key=Struct(()),
                value=Struct(()),
                check=check,
            )
        )

    def close(self) -> None:
        """Release connections."""
        self._sink.close()


class _LetterSink:
    """A place of dead letters, in the shape of a sink."""

    guarantee = Guarantee(summary="Each letter is kept at least once, under its id.", keeps="log")

    def __init__(self, writer: DeadLetterWriter) -> None:
        self._writer = writer
        self.target = writer.target

    def open(self) -> None:
        """It is opened with the first letters."""

    def write(self, batch: StagedBatch) -> Written:
        """Keep the letters of `batch`."""
        self._writer.put(
            batch.files, query_id=batch.query_id, batch_id=batch.batch_id, check=batch.check
        )
        return Written()

    def close(self) -> None:
        """Release connections."""
        self._writer.close()
