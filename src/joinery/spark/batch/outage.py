"""Waits for the brokers of a query that are away, and tells an outage from other failures."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from joinery.model.progress import Waiting
from joinery.spark.recovery.attempt import links_of, reasons_of
from joinery.spark.source.kafka_client import KafkaUnreachableError

log = logging.getLogger("joinery.run")
_OUTAGE = re.compile(
    r"org\.apache\.kafka\.common\.errors\.(Timeout|Disconnect|Network|BrokerNotAvailable"
    r"|LeaderNotAvailable|NotLeaderOrFollower|CoordinatorNotAvailable)Exception"
)
_UNREAD = "java.util.concurrent.TimeoutException: Cannot fetch record for offset"
_INTERRUPT = re.compile(r"\b(ClosedByInterrupt|InterruptedIO|Interrupted)Exception\b")
_AGAIN_S = 2.0
_FRUITLESS = 5


@dataclass(slots=True)
class Outage:
    """The outage of one query's sources.

    Attributes:
        query: The query's name.
        target: What is waited for, in words.
        tell: Called with what is waited for, and None once that is over.
        fruitless: How often the query began again since its last batch.
    """

    query: str
    target: str
    tell: Callable[[Waiting | None], None]
    fruitless: int = 0
    _waiting: Waiting | None = None
    _due_at: float = 0.0
    _last_batch: int | None = field(default=None)

    def may_wait(self, failure: Exception, last_batch: int | None) -> bool:
        """Return whether a failure is an outage that is to be waited for; note it.

        Args:
            failure: What ended the query.
            last_batch: The last batch that was through, if there was one.
        """
        if last_batch != self._last_batch:
            self._last_batch, self.fruitless = last_batch, 0
        if not is_outage(failure) or self.fruitless >= _FRUITLESS:
            return False
        if self._waiting is None:
            self.note(failure)
        return True

    def due(self) -> bool:
        """Return whether it is time to look again."""
        return time.monotonic() >= self._due_at

    def seen(self, unreachable: KafkaUnreachableError | None) -> None:
        """Note whether the brokers of a query that still runs answer."""
        if unreachable is not None and self._waiting is None:
            self.note(unreachable)
        elif unreachable is None and self._waiting is not None:
            self._end()

    def note(self, failure: Exception) -> None:
        """Note that the brokers are away, and tell it."""
        known = self._waiting
        reason = next(iter(reasons_of(failure)), str(failure))
        if known is None:
            log.warning("waiting for sources", extra={"query": self.query, "reason": reason})
        self._waiting = Waiting(
            product=self.query,
            target=self.target,
            reason=reason,
            attempts=known.attempts + 1 if known else 1,
            since=known.since if known else time.time(),
            grace_s=0.0,
        )
        self._due_at = time.monotonic() + _AGAIN_S
        self.tell(self._waiting)

    def over(self) -> None:
        """Note that the query began again."""
        self.fruitless += 1
        self._end()

    def _end(self) -> None:
        if self._waiting is not None:
            waited_s = round(time.time() - self._waiting.since, 1)
            log.warning("sources are back", extra={"query": self.query, "waited_s": waited_s})
        self._waiting = None
        self.tell(None)


def outage_of(query: str, wait: Callable[[str, Waiting | None], None]) -> Outage:
    """Return what waits for the sources of a query; `wait` is told of it."""
    target = f"the sources of {query}"
    return Outage(query, target, lambda waiting: wait(target, waiting))


def is_outage(failure: Exception) -> bool:
    """Return whether a query ended because brokers do not answer."""
    if isinstance(failure, KafkaUnreachableError):
        return True
    return any(
        _OUTAGE.fullmatch(kind) is not None or text.startswith(_UNREAD)
        for kind, text in links_of(failure)
    )


def is_interrupt(failure: Exception) -> bool:
    """Return whether a query ended because its stop broke off what it was reading or writing.

    Spark takes such a failure for a stop itself, but only where nothing has wrapped it.
    """
    return any(_INTERRUPT.search(each) for each in reasons_of(failure))
