"""`joinery pause` and `joinery resume`: what a run does not do for a while, and who said so.

Invariant: a request is in the control log of its query before the command reports it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from joinery.cli.project import DONE
from joinery.delivery.control import Action, ControlLog, Verb
from joinery.delivery.query_paths import QueryPaths
from joinery.errors import RunError, SpecError
from joinery.observe.status import known_products, queries_of, read_status
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.project.quantity import duration_ms

_LOOKED_S = 0.1


class PauseError(SpecError):
    """What is to be paused, or to go on, cannot be."""

    code = "PAUSE"


class PauseTimeoutError(RunError):
    """A run did not do in time what it was asked; it will."""

    code = "PAUSE_TIMEOUT"


def run_pause(file: Path, names: Sequence[str], verb: Verb, *, why: str, timeout: str) -> int:
    """Ask for some products to be paused or to go on, and wait until their run has done it."""
    spec = load_spec(file)
    queries, limit_ms = _queries(spec, names), duration_ms(timeout)
    if limit_ms is None:
        raise PauseError(f'"{timeout}" is no time to wait', hint="Write it as 30s or 5m.")
    root = spec.path_of(spec.run.checkpoint)
    for query, members in queries.items():
        asked = Action.now(verb, why)
        stood = ControlLog(QueryPaths.of(root, query).control_file).ask(asked)
        if stood is not None:
            sys.stdout.write(f"{', '.join(members)}: {_stood(verb, stood, asked)}\n")
    until = time.monotonic() + limit_ms / 1000
    for query, members in queries.items():
        _tell(QueryPaths.of(root, query), members, verb, until)
    return DONE


def _stood(verb: Verb, stood: Action, asked: Action) -> str:
    if verb == "pause":
        return f"was paused before, {stood}"
    return "was not paused" if stood is asked else f"was resumed before, {stood}"


def _queries(spec: ProjectSpec, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the members of the queries that are named, all of whom have to be."""
    known = queries_of(spec)
    for name in names:
        if name not in known:
            hint = f"Known: {', '.join(known_products(spec))}. Another project: --file FILE."
            raise PauseError(f'there is no product or stream "{name}" to run', hint=hint)
    if spec.run.real_time:
        raise PauseError(
            "a run in real-time mode cannot be paused", hint="End it, and start it again."
        )
    found: dict[str, list[str]] = {known[name]: [] for name in names}
    for name, query in known.items():
        if query in found:
            found[query].append(name)
    for query, members in found.items():
        if missing := [each for each in members if each not in names]:
            raise PauseError(
                f'{", ".join(missing)} shares the query "{query}", and is not named',
                detail="The members of a group run together.",
                hint=f"Name them all: {' '.join(members)}.",
            )
    return found


def _tell(paths: QueryPaths, members: Sequence[str], verb: Verb, until: float) -> None:
    """Say, once it is so, that a query stands still or goes on."""
    names, wanted = ", ".join(members), verb == "pause"
    while (holder := paths.lease.holder) is not None and holder.alive:
        told, _ = read_status(paths.status_file)
        if told is not None and told.state == "running" and told.paused == wanted:
            after = f" after batch {told.batch.number}" if told.batch is not None else ""
            sys.stdout.write(f"{names}: {f'paused{after}' if wanted else 'goes on'}\n")
            return
        if time.monotonic() >= until:
            raise PauseTimeoutError(
                f"{names}: requested, and not done yet",
                detail="The batch under way is finished first. A run that was started with"
                " --real-time is never paused.",
                hint=f"See joinery status {' '.join(members)}.",
            )
        time.sleep(_LOOKED_S)
    begins = "begins paused" if wanted else "runs it"
    sys.stdout.write(f"{names}: no run is going on; the next one {begins}\n")
