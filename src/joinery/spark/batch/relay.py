"""The kernel of an outbox: raw records in, the rows that were inserted out, in log order."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from joinery.plan.nodes import Relation
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.kernel import class_of, load_jar, reading_of
from joinery.spark.source.source import BatchLabel, Topic

if TYPE_CHECKING:
    from joinery.spark.uncommitted import PendingRoots

_RELAY = "dev.joinery.kernel.door.Relay"


@dataclass(frozen=True, slots=True)
class Relay:
    """An outbox in a session's JVM.

    Attributes:
        program: Of the product whose root is the outbox.
        relations: The outbox alone.
    """

    session: SparkSession
    program: KernelProgram
    relations: Sequence[Relation]
    _jvm_relay: Any

    def chain(
        self,
        raw: DataFrame,
        topics: Sequence[Collection[Topic]],
        pending: PendingRoots | None = None,
    ) -> DataFrame:
        """Return the rows that were inserted, in no order; to be given to `stage`.

        There are no documents, so none are pending.
        """
        reading = reading_of(self.session, self.program, self.relations, raw, topics)
        return DataFrame(self._jvm_relay.chain(reading), self.session)

    def stage(
        self, batch: DataFrame, folder: Path, label: BatchLabel | None = None
    ) -> dict[str, dict[str, dict[str, int]]]:
        """Run a batch once, in the order of its log; see `Kernel.stage`."""
        counts: dict[str, dict[str, dict[str, int]]] = json.loads(
            self._jvm_relay.stage(batch._jdf, str(folder))
        )
        return counts


def open_relay(session: SparkSession, program: KernelProgram, relation: Relation) -> Relay:
    """Open an outbox in the JVM of `session`.

    Raises:
        SessionError: The session is of Spark Connect.
    """
    load_jar(session)
    jvm_relay = class_of(session, _RELAY).open(program.to_json())
    return Relay(session, program, (relation,), jvm_relay)
