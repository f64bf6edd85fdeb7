"""Which run writes a topic, noted where the brokers keep it: as an offset of a consumer group.

The brokers refuse a producer once another of its id has begun, and after they have ended its
transaction themselves. The note tells who is behind that: a run notes itself in a transaction
before it writes anything, and replaces a producer that was refused while the note is its own.

Limits: the brokers forget a note after `offsets.retention.minutes`; a later run makes one again.
Where the user has no right to make any, a producer that is refused ends its run, whoever is behind.

Invariant: what a run writes after its note was replaced is never committed.
"""

from __future__ import annotations

import logging
import uuid

from joinery.clients.kafka import NoAccessError
from joinery.clients.kafka_producer import Note, Producer
from joinery.sinks.protocol import FencedError, StagedBatch

_log = logging.getLogger(__name__)


class RunNote:
    """The note of the runs that write one topic.

    Args:
        topic: Which they write.
        target: It, for messages.
    """

    def __init__(self, topic: str, target: str) -> None:
        self._topic, self._target = topic, target
        self._instance = uuid.uuid4().hex
        self._made_as: tuple[str, int] | None = None
        self.refused: NoAccessError | None = None
        """Why no note can be made, if so."""

    def make(self, producer: Producer, batch: StagedBatch) -> None:
        """Note the batch's run as the one that writes; one that noted itself before only looks.

        Args:
            producer: A fresh one, which those of other runs are refused for.
            batch: Of the run.

        Raises:
            FencedError: Another run has noted itself since.
        """
        self.refused = None
        if self._stands(producer, batch):
            return
        producer.begin()
        try:
            producer.note(self._place(batch), batch.epoch, self._instance)
            batch.check()
        except NoAccessError as error:
            producer.abandon()
            self._go_without(error)
        except BaseException:
            producer.abandon()
            raise
        else:
            producer.finish()
            self._made_as = (batch.query_id, batch.epoch)

    def refuse_other(self, producer: Producer, batch: StagedBatch) -> None:
        """Raise where another run has noted itself since this one did."""
        self._stands(producer, batch)

    def refuse_older(self, producer: Producer, batch: StagedBatch) -> None:
        """Raise where a later run than the batch's has noted itself."""
        noted = producer.noted(self._place(batch))
        if noted is not None and noted > batch.epoch:
            raise self.replaced(batch)

    def replaced(self, batch: StagedBatch) -> FencedError:
        """Return the error that ends a run for another."""
        return FencedError(f'another run of "{batch.query}" is writing to {self._target}')

    def unclear(self) -> FencedError:
        """Return the error of a run whose producer is refused, where nothing was noted."""
        return FencedError(
            f"{self._target} accepts no more writes from this run",
            detail="Another run may have taken over, or the brokers may have aborted a transaction;"
            " the user has no permission to find out which.",
            hint="Allow the user Read on the topic and on the consumer groups joinery-*; a run that"
            " is started again continues where this one stopped.",
        )

    def _stands(self, producer: Producer, batch: StagedBatch) -> bool:
        """Return whether the note is this run's; False also where the brokers forgot it."""
        if self._made_as != (batch.query_id, batch.epoch):
            return False
        number, instance = producer.noted_text(self._place(batch))
        if number is not None and (number, instance) != (batch.epoch, self._instance):
            raise self.replaced(batch)
        return number is not None

    def _place(self, batch: StagedBatch) -> Note:
        return Note(f"{producer_name(batch, self._topic)}-run", self._topic)

    def _go_without(self, error: NoAccessError) -> None:
        facts = {"topic": self._topic, "reason": error.detail}
        _log.warning("no permission to record which run writes", extra=facts)
        self.refused = error


def producer_name(batch: StagedBatch, topic: str) -> str:
    """Return the transactional id of whatever writes a product of a query to a topic."""
    return f"joinery-{batch.query_id}-{batch.product}-{topic}"
