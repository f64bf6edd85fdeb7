"""Which queries of a run stand still because somebody paused them.

Invariant: a batch that has begun is finished; none begins while its query is paused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from joinery.delivery.control import Action, PauseSwitch
from joinery.model.warning import RunWarning
from joinery.spark.batch.query import QueryRun

log = logging.getLogger("joinery.run")


class Pauses:
    """The pauses of one run.

    Args:
        switches: By query, what tells whether it is paused; empty where none can be.
        ends: Whether the run ends once all that is not paused has ended, as `--once` does.
    """

    def __init__(self, switches: Mapping[str, PauseSwitch], *, ends: bool) -> None:
        self._switches = switches
        self._resting: dict[str, Action | None] = {}
        self.ends = ends

    @property
    def resting(self) -> frozenset[str]:
        """The queries that stand still."""
        return frozenset(self._resting)

    def asked(self, query: str) -> Action | None:
        """Return who paused a query; None where it is to run."""
        switch = self._switches.get(query)
        return switch.paused if switch is not None else None

    def heed(self, query: QueryRun) -> None:
        """Let no further batch of a running query begin, if it is paused.

        That stays so until the query rests, also where it is to go on meanwhile: a batch may
        have been refused already.
        """
        if self.asked(query.name) is not None:
            query.pausing.set()

    def rest(self, query: QueryRun) -> None:
        """Note that a query stands still."""
        asked = self.asked(query.name)
        query.pausing.set()
        self._resting[query.name] = asked
        who = {} if asked is None else {"by": asked.by, "asked_at": asked.at, "why": asked.why}
        log.info("paused", extra={"query": query.name, **who})

    def end(self, query: QueryRun) -> None:
        """Note that a query goes on."""
        del self._resting[query.name]
        log.info("resumed", extra={"query": query.name})


def paused_warning(query: QueryRun, asked: Action) -> RunWarning:
    """Return the warning of a query that a run does not start."""
    names = " ".join(each.name for each in query.products)
    return RunWarning(
        code="WARN_PAUSED",
        about=f'query "{query.name}"',
        message=f'query "{query.name}" was paused when the run started, {asked}',
        hint=f"joinery resume {names} continues it.",
    )
