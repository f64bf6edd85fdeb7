"""Ends the logs of a query whose run closes what is open then, with the last batch that reads them.

Where Spark does not tell which batch that is, one that reads nothing comes after it: the query is
started again for it, and reads all of its state again.

Invariant: that all logs end with a batch is kept before that batch begins, so it is so whenever it
runs again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from joinery.place.place import Place
from joinery.spark.kernel import Kernel
from joinery.spark.recovery.checkpoint import (
    begin_ended_batch,
    end_with_batch,
    ended_batch,
    last_batch,
    last_ended_batch,
)
from joinery.spark.source.source import BatchLabel, Topic

if TYPE_CHECKING:
    from joinery.spark.real_time.uncommitted import PendingRoots

_ENDING = "joinery.ending"


@dataclass(slots=True)
class LogsEnded:
    """The end of a query's logs, which closes what is open.

    Attributes:
        checkpoint: The query's.
        check: Raises once another run has taken over.
    """

    checkpoint: Place
    check: Callable[[], None]
    _told: bool = False

    def come_with(self, batch_id: int) -> None:
        """Note that a batch, which has not begun, reads all logs to their ends."""
        self.check()
        end_with_batch(self.checkpoint, batch_id)

    def begin_batch(self) -> bool:
        """Have a query that has read its logs run a batch for their end when it starts; once.

        Returns:
            Whether there is one: not where the query has read nothing yet, or the last batch was
            one with which they ended.
        """
        last, committed = last_batch(self.checkpoint)
        if self._told or last in (None, last_ended_batch(self.checkpoint)) or not committed:
            return False
        self._told = True
        begin_ended_batch(self.checkpoint, round(time.time() * 1000), self.check)
        return True


@dataclass(frozen=True, slots=True)
class EndingKernel:
    """A kernel that hears in which batch all logs end.

    Attributes:
        kernel: The kernel.
        checkpoint: The query's, which says so of a batch that was begun before.
        logs: Where they are to end once they are read; None where they are not.
    """

    kernel: Kernel
    checkpoint: Place
    logs: LogsEnded | None

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Return what the kernel gives; no roots are pending where logs end."""
        return self.kernel.chain_to_end(raw, topics)

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> Mapping[str, Any]:
        """Run a batch of a query once, be it the last or not."""
        assert label is not None
        if self.logs is not None and self.kernel.reads_to_end(label.query_id):
            self.logs.come_with(label.number)
        ends = ended_batch(self.checkpoint) == label.number
        batch.sparkSession.sparkContext.setLocalProperty(_ENDING, "true" if ends else "false")
        return self.kernel.stage(batch, folder, label)
