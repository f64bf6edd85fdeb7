"""Where a rebuild stands, and how it takes the place of the checkpoint before.

A rebuild of a query has its checkpoint in `<checkpoint>/_rebuild/<query>`. Once all its
documents were sent it is marked as swapped; then the folders change places, and the one
before is kept in `<checkpoint>/_replaced`.

Invariant: a rebuild that is marked takes its place before the query runs again, whoever
starts it; one that is not marked never does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from joinery.connect.hold import Hold
from joinery.connect.outlet import Delaying, Outlet
from joinery.connect.protocol import Sink
from joinery.connect.rebuild import RebuildOutlet, Swap
from joinery.plan.nodes import Product

_MARK = "joinery-swapped"


@dataclass(frozen=True, slots=True)
class RebuildPlace:
    """The folders of one query's rebuild, below `run.checkpoint`."""

    root: Path
    query: str

    @property
    def checkpoint(self) -> Path:
        """The rebuild's own checkpoint."""
        return self.root / "_rebuild" / self.query

    def mark(self) -> None:
        """Note durably that all documents of the rebuild were sent."""
        with (self.checkpoint / _MARK).open("w", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')}\n")
            file.flush()
            os.fsync(file.fileno())

    def put_in_place(self) -> bool:
        """Let a rebuild that is marked take the query's place; return whether one did."""
        mark = self.checkpoint / _MARK
        if not mark.is_file():
            return False
        standing = self.root / self.query
        if standing.exists():
            replaced = self.root / "_replaced"
            replaced.mkdir(exist_ok=True)
            at = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
            standing.rename(replaced / f"{self.query}-{at}")
        self.checkpoint.rename(standing)
        (standing / _MARK).unlink()
        shutil.rmtree(standing / "joinery-held", ignore_errors=True)
        return True


@dataclass(frozen=True, slots=True)
class RebuildDelay:
    """Holds every product of a query back until the swap.

    Attributes:
        checkpoint: The rebuild's.
        reached: Tells whether a batch ends at or behind the ends of the query's sources.
        swap: The query's.
    """

    checkpoint: Path
    reached: Callable[[int], bool]
    swap: Swap

    def __call__(self, product: Product, sinks: Sequence[Sink], delaying: Delaying) -> Outlet:
        """Return the outlet of one product."""
        hold = Hold(self.checkpoint / "joinery-held" / f"rebuild-{product.name}.sqlite")
        return RebuildOutlet(sinks, hold, self.reached, self.swap)


