"""The ways of one query's documents to their sinks: waiting, spooled, written by tasks, timed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from joinery.delivery.lease import Lease
from joinery.delivery.outlet import Delaying, OneAttempt, Outlet, PatientSink
from joinery.delivery.spool import SpoolingSink, SpoolPlace
from joinery.delivery.task_sink import SMALL_BYTES, SinkMaker, Tasks, TaskWrittenSink
from joinery.delivery.timed import SinkTimes, TimedSink
from joinery.plan.product import Product
from joinery.sinks.protocol import Sink, StagedBatch
from joinery.spark.batch.letters import QueryLetters
from joinery.spark.batch.progress import ProgressBoard

if TYPE_CHECKING:
    from joinery.spark.batch.mode import OutletMaker


@dataclass(frozen=True, slots=True)
class ProductSinks:
    """A product and where its documents go.

    Attributes:
        product: The product.
        sinks: Its sinks, not yet opened.
        spools: The spool of each sink, None for one without; empty where none has.
        makers: What tasks make each sink from, None for one that the driver writes to; empty
            where it writes to all.
    """

    product: Product
    sinks: tuple[Sink, ...]
    spools: tuple[SpoolPlace | None, ...] = ()
    makers: tuple[SinkMaker | None, ...] = ()


class QuerySinks:
    """Makes the outlets of one query's products, and keeps what they have in common.

    Args:
        make_outlet: Makes an outlet, which may wait before it sends.
        tasks: Write to the sinks that tasks may write to.
        board: Notified of what is waited for.
        lease: Whose loss stops the tasks.
        batch_of: Makes a batch of a product's files.
        letters: Keep what sinks refuse between two batches.
        ended: Whether the query is to end.
        one_attempt: While it is here, a sink that is away is not waited for.
        end: Ends the query.
        on_error: Called with why what was sent between two batches could not be sent.
        examine: Called with each sink of a product once, before anything is written to it.

    Attributes:
        times: How long each sink took.
    """

    def __init__(
        self,
        *,
        make_outlet: OutletMaker,
        tasks: Tasks,
        board: ProgressBoard,
        lease: Lease,
        batch_of: Callable[..., StagedBatch],
        letters: QueryLetters,
        ended: Callable[[], bool],
        one_attempt: OneAttempt,
        end: Callable[[], None],
        on_error: Callable[[Exception], None],
        examine: Callable[[ProductSinks, Sink], None],
    ) -> None:
        self.times = SinkTimes()
        self._make_outlet, self._tasks, self._board, self._lease = make_outlet, tasks, board, lease
        self._batch_of, self._letters, self._ended = batch_of, letters, ended
        self._one_attempt, self._end, self._on_error = one_attempt, end, on_error
        self._examine = examine
        self._spools: list[SpoolingSink] = []

    def outlet(self, member: ProductSinks) -> Outlet:
        """Return the way to sinks that wait for their targets until the run ends."""
        delaying = Delaying(
            make=partial(self._batch_of, member.product.name),
            tell=partial(self._letters.keep_refused, member.product.name),
            on_error=self._on_error,
            ended=self._ended,
            end=self._end,
            warn=self._board.warn,
        )
        none = (None,) * len(member.sinks)
        sinks = [
            TimedSink(self._patient(member, sink, place, delaying), self.times)
            for sink, place in zip(self._writers(member), member.spools or none, strict=True)
        ]
        return self._make_outlet(member.product, sinks, delaying)

    def _writers(self, member: ProductSinks) -> Iterator[Sink]:
        """Yield the sinks of a product, those that tasks write to as such."""
        for sink, maker in zip_longest(member.sinks, member.makers):
            if maker is None:
                yield sink
            else:
                asked = maker.options.get("parallel") == "tasks"
                yield TaskWrittenSink(
                    sink,
                    maker,
                    self._tasks,
                    lambda: self._lease.watch,
                    small_bytes=-1 if asked else SMALL_BYTES,
                )

    def _patient(
        self, member: ProductSinks, sink: Sink, place: SpoolPlace | None, delaying: Delaying
    ) -> Sink:
        """Return a sink that waits for its target, behind its spool where it has one."""
        product, tell = member.product.name, partial(self._board.wait, sink.target)
        examine = partial(self._examine, member)
        if place is None:
            return PatientSink(sink, product, ended=self._waits_no_more, tell=tell, examine=examine)
        closing = threading.Event()
        patient = PatientSink(
            sink,
            product,
            ended=lambda: closing.is_set() or self._ended(),
            tell=tell,
            examine=examine,
        )
        spool = SpoolingSink(
            patient,
            product,
            place,
            delaying,
            closing=closing,
            tell=partial(self._board.wait, f"spool of {sink.target}"),
        )
        self._spools.append(spool)
        return spool

    def _waits_no_more(self) -> bool:
        return self._one_attempt.is_here or self._ended()

    def drain_spools(self) -> None:
        """Wait until all spools are empty.

        Raises:
            SinkUnavailableError: The query is to end, and one is not.
        """
        for spool in self._spools:
            spool.drain()
