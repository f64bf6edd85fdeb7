"""Products paused and resumed: their queries are asked, and looked at until they have done it.

Invariant: a request is in the control log of its query before `ask` returns.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from joinery.delivery.control import Action, ControlLog, Verb
from joinery.delivery.query_paths import QueryPaths
from joinery.errors import RunError, SpecError
from joinery.observe.outline import known_products, queries_of
from joinery.observe.read_status import read_status
from joinery.project.product import ProjectSpec

_LOOKED_S = 0.1


class PauseError(SpecError):
    """What is to be paused, or to go on, cannot be."""

    code = "PAUSE"


class PauseTimeoutError(RunError):
    """A run did not do in time what it was asked; it will."""

    code = "PAUSE_TIMEOUT"


@dataclass(frozen=True, slots=True)
class Request:
    """What one query was asked.

    Attributes:
        paths: Where the query has its files.
        members: Its products and streams, which are paused together.
        asked: What was asked.
        stood: Who asked for the same before; None where the request is new.
    """

    paths: QueryPaths
    members: tuple[str, ...]
    asked: Action
    stood: Action | None

    @property
    def before(self) -> str:
        """What somebody did before, in words; empty where the request is new."""
        if self.stood is None:
            return ""
        if self.asked.verb == "pause":
            return f"was paused before, {self.stood}"
        return "was not paused" if self.stood is self.asked else f"was resumed before, {self.stood}"


def ask(spec: ProjectSpec, names: Sequence[str], action: Action) -> list[Request]:
    """Ask the queries of some products to pause or to go on.

    Args:
        spec: The project.
        names: Products and streams; of a query all that it has.
        action: Its verb is `pause` or `resume`.

    Raises:
        PauseError: One is not there, is only a part of its query, or cannot be paused.
    """
    root = spec.checkpoint
    return [
        _asked(QueryPaths.of(root, query), members, action)
        for query, members in members_of(spec, names, action.verb).items()
    ]


def members_of(spec: ProjectSpec, names: Sequence[str], verb: Verb) -> dict[str, tuple[str, ...]]:
    """Return the members of the queries that are named; see `ask`."""
    known = queries_of(spec)
    for name in names:
        if name not in known:
            hint = f"Known: {', '.join(known_products(spec))}. Another project: --file FILE."
            unknown = f'there is no product or stream "{name}" to run'
            raise PauseError(spec.why_no_query(name) or unknown, hint=hint)
    if spec.run.real_time and verb == "pause":
        raise PauseError(
            "a run in real-time mode cannot be paused", hint="End it, and start it again."
        )
    found = {known[name]: sharing(spec, known[name]) for name in names}
    for query, members in found.items():
        if missing := [each for each in members if each not in names]:
            raise PauseError(
                f'{", ".join(missing)} shares query "{query}", but is not named',
                detail="The members of a group run together.",
                hint=f"Name them all: {' '.join(members)}.",
            )
    return found


def sharing(spec: ProjectSpec, query: str) -> tuple[str, ...]:
    """Return the products and streams of a query."""
    return tuple(name for name, each in queries_of(spec).items() if each == query)


def outcome(request: Request, until: float) -> str:
    """Wait until a query stands still or goes on, and return that in words.

    Args:
        request: What it was asked.
        until: When to give up, by the monotonic clock.

    Raises:
        PauseTimeoutError: It has not done it by then; it will.
    """
    names, wanted = ", ".join(request.members), request.asked.verb == "pause"
    while (holder := request.paths.lease.holder) is not None and holder.alive:
        told, _ = read_status(request.paths.status_file)
        if told is not None and told.state == "running" and told.paused == wanted:
            after = f" after batch {told.batch.number}" if told.batch is not None else ""
            return f"{names}: {f'paused{after}' if wanted else 'running again'}"
        if time.monotonic() >= until:
            raise PauseTimeoutError(
                f"{names}: requested, but not done yet",
                detail="The current batch is finished first. A run that was started with"
                " --real-time is never paused; the next one starts paused.",
                hint=f"See joinery status {' '.join(request.members)}.",
            )
        time.sleep(_LOOKED_S)
    begins = "starts paused" if wanted else "runs it"
    return f"{names}: no run is active; the next one {begins}"


def _asked(paths: QueryPaths, members: tuple[str, ...], action: Action) -> Request:
    return Request(paths, members, action, ControlLog(paths.control_file).ask(action))
