"""`joinery pause` and `joinery resume`: what a run does not do for a while, and who said so."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from joinery.cli.ending import DONE
from joinery.delivery.control import Action, Verb
from joinery.operate.pause import PauseError, ask, outcome
from joinery.project.load import load_spec
from joinery.project.quantity import given_duration_ms


def run_pause(file: Path, names: Sequence[str], verb: Verb, *, why: str, timeout: str) -> int:
    """Ask for some products to be paused or to go on, and wait until their run has done it."""
    spec, limit_ms = load_spec(file), given_duration_ms(timeout, PauseError)
    requests = ask(spec, names, Action.now(verb, why))
    for request in requests:
        if request.before:
            sys.stdout.write(f"{', '.join(request.members)}: {request.before}\n")
    until = time.monotonic() + limit_ms / 1000
    for request in requests:
        sys.stdout.write(f"{outcome(request, until)}\n")
    return DONE
