"""Right documents asked for in place of wrong ones: of the run, or done where none goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from joinery.audit.error import DiffFailedError
from joinery.audit.verdict import Difference
from joinery.delivery.control import Action
from joinery.delivery.lease_file import LeaseHeldError
from joinery.delivery.query_paths import QueryPaths
from joinery.delivery.repair import Outcome, RepairLog, Wanted
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec

KEPT = (
    "The request is kept, and served once the current batch is done and all sinks of the product"
    " are there"
)
_LOOK_S = 0.1


class Repair:
    """Asks for the documents of one product in one sink.

    Args:
        spec: The project.
        product: Whose documents.
        sink: The place of the sink among those of the product.
        wait_s: How long a run is given.
    """

    def __init__(self, spec: ProjectSpec, product: Product, sink: int, wait_s: float) -> None:
        self._spec, self._product, self._sink = spec, product, sink
        self._paths = QueryPaths.of(spec.checkpoint, product.query)
        self._wait_s = wait_s

    def ask(self, wrong: Sequence[Difference]) -> Outcome:
        """Return what became of wrong documents that are to be sent again as they should be.

        Raises:
            DiffFailedError: The run has not answered in time; it will.
            SinkError: The sink cannot be written.
        """
        outcome = self.send(
            [
                Wanted(each.key, each.expected, each.held, each.version, each.judged_us)
                for each in wrong
            ]
        )
        if outcome is None:
            raise DiffFailedError(
                f'{len(wrong):,} documents of query "{self._product.query}" were not sent again'
                " in time",
                detail=f"{KEPT}.",
                hint="Compare again later.",
            )
        return outcome

    def send(self, wanted: Sequence[Wanted]) -> Outcome | None:
        """Return what became of documents that are to be sent again.

        Returns:
            None where the run has not answered in time; it will.

        Raises:
            SinkError: The sink cannot be written.
        """
        log = RepairLog(self._paths.repair_folder)
        id = log.ask(self._product.name, self._sink, wanted, Action.now("repair"))
        until = time.monotonic() + self._wait_s
        while (outcome := log.outcome(id)) is None:
            late = time.monotonic() >= until
            holder = self._paths.lease.holder
            if holder is None or not holder.alive:
                self._alone()
                late = late and log.outcome(id) is None
            if late:
                return None
            time.sleep(_LOOK_S)
        return outcome

    def _alone(self) -> None:
        from joinery.spark.batch.repair_alone import repair_alone

        with suppress(LeaseHeldError):  # A run has begun, and answers.
            repair_alone(self._spec, self._product.query)


def notes_of(outcome: Outcome) -> Iterator[str]:
    """Yield what of a repair was not done, and why."""
    if outcome.moved:
        yield f"{outcome.moved:,} not sent again: the sink holds another document by now"
    if outcome.ahead:
        yield (
            f"{outcome.ahead:,} not sent again: the sink has them under a version of a time to"
            " come; delete them there, then repair"
        )
    if outcome.stale:
        yield (
            f"{outcome.stale:,} not sent again: newer ones may have been sent since they were"
            " compared; compare again"
        )
    if outcome.refused:
        yield f"{outcome.refused:,} refused by the sink: see joinery dlq"
    if outcome.failed:
        yield f"nothing was sent again: {outcome.failed}"


def lasting(wrong: Sequence[Difference]) -> Iterator[str]:
    """Yield what a repair of documents does not fix."""
    lacking = sum(each.cause == "input" for each in wrong)
    if lacking:
        yield (
            f"{lacking:,} will be wrong again after their next change, because the logs lack rows;"
            " to get them into the logs, update these rows in the database without changing them"
        )
