"""`joinery wait`: return once a product shows what was written to the logs."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from joinery.capture.place_log import spool_log
from joinery.cli.ending import DONE
from joinery.cli.project import analyser
from joinery.observe.wait import wait_for
from joinery.plan.build import build_plan
from joinery.project.load import load_spec


def run_wait(file: Path, product: str, positions: Sequence[str], timeout: str) -> int:
    """Wait until a product or stream has come to all positions, and say so."""
    spec, begun = load_spec(file), time.monotonic()
    with analyser() as spark:
        plan = build_plan(spec, spark)
    wait_for(
        spec,
        [*plan.products, *plan.streams],
        product,
        positions,
        timeout=timeout,
        captured=spool_log,
    )
    passed = time.monotonic() - begun
    sys.stdout.write(f"{product} shows all up to {', '.join(positions)} (after {passed:.1f} s)\n")
    return DONE
