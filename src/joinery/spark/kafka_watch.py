"""Looks, while a run goes on, whether topics that it reads were deleted or made anew.

Spark asks for the ends of the topics that are there, so one that is gone looks like one that
is quiet. Here the ends are held against what was read: an end below it cannot be.

Invariant: looking never holds up a batch, and brokers that do not answer are no finding.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.errors import RunError
from joinery.spark.backlog import positions
from joinery.spark.checkpoint import committed_positions
from joinery.spark.kafka_client import KafkaClient
from joinery.spark.kafka_loss import Gap, RecordsLostError, gone, lost_error
from joinery.spark.source import SourceRead
from joinery.spec.kafka import KafkaOptions, kafka_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EACH_S = 5.0
_CLOSING_S = 30.0
log = logging.getLogger(__name__)


class KafkaWatch:
    """Watches the Kafka sources of a run's queries, in a thread of its own.

    Args:
        spark: A session with the Kafka connector, where a source is one of Kafka's.
        reads: By query, what it reads, in the order of its streams.
        checkpoints: By query, where its positions are kept.
    """

    def __init__(
        self,
        spark: SparkSession,
        reads: Mapping[str, Sequence[SourceRead]],
        checkpoints: Mapping[str, Path],
    ) -> None:
        self._spark = spark
        self._checkpoints = checkpoints
        self._sources: Mapping[str, Mapping[int, tuple[str, KafkaOptions]]] = {
            query: {
                place: (read.source.name, kafka_options(read.source))
                for place, read in enumerate(every)
                if read.source.kind == "kafka"
            }
            for query, every in reads.items()
        }
        self._clients: dict[str, KafkaClient] = {}
        self._suspected: dict[tuple[str, str], Sequence[Gap]] = {}
        self._told: set[tuple[str, str]] = set()
        self._found: dict[str, RecordsLostError] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="kafka-watch", daemon=True)
        if any(self._sources.values()):
            self._thread.start()

    def found(self, query: str) -> RecordsLostError | None:
        """Return what a query has lost, where it is to fail then."""
        return self._found.get(query)

    def close(self) -> None:
        """Look no more."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSING_S)

    def _watch(self) -> None:
        while not self._closing.wait(_EACH_S):
            for query in self._sources:
                try:
                    self._look(query)
                except (RunError, OSError) as error:
                    log.debug("the topics of %s were not looked at: %s", query, error)
        for client in self._clients.values():
            client.close()

    def _look(self, query: str) -> None:
        read = committed_positions(self._checkpoints[query])
        for place, (source, options) in self._sources[query].items():
            if place >= len(read):
                continue
            if source not in self._clients:
                self._clients[source] = KafkaClient(self._spark, source, options)
            gaps = gone(self._clients[source], positions(read[place]))
            # Twice the same, since a broker that starts may not know all its topics yet.
            if gaps and self._suspected.get((query, source)) == gaps:
                self._note(query, source, options, gaps)
            self._suspected[query, source] = gaps

    def _note(self, query: str, source: str, options: KafkaOptions, gaps: Sequence[Gap]) -> None:
        error = lost_error(source, gaps)
        if options.fail_on_data_loss:
            self._found[query] = error
        elif (query, source) not in self._told:
            self._told.add((query, source))
            log.warning("%s: %s", error.message, error.detail)
