"""A rebuild: a query read anew on a checkpoint of its own, then put in place of the one before.

A rebuild has its checkpoint in `<checkpoint>/_rebuild/<query>`. Once all its documents were
sent it is marked as swapped; then the folders change places, and the one before is kept in
`<checkpoint>/_replaced`.

Invariant: a rebuild that is marked takes its place before the query runs again, whoever
starts it; one that is not marked never does.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from joinery.delivery.hold import Hold
from joinery.delivery.outlet import Delaying, Outlet
from joinery.delivery.rebuild import RebuildOutlet, Swap
from joinery.errors import StateMismatchError
from joinery.files import write_whole
from joinery.plan.nodes import Product
from joinery.sinks.protocol import Sink
from joinery.solutions.spark_state.fingerprint import claim_checkpoint
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.batch.delay import Delay
from joinery.spark.batch.place import Place
from joinery.spark.batch.ready import Ends
from joinery.spark.batch.spooling import forget_spools
from joinery.spark.recovery.checkpoint import claim_sources
from joinery.spark.source.source import SourceRead

_MARK = "joinery-swapped"


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """The undertaking of `joinery run --rebuild`.

    Attributes:
        root: `run.checkpoint`.
    """

    root: Path

    def place(self, query: str) -> Place:
        """Return where the rebuild of a query stands."""
        return rebuild_place(self.root, query)

    def claim(
        self, query: str, program: KernelProgram, solution: str, reads: Sequence[SourceRead]
    ) -> None:
        """Go on with a rebuild of this plan, or begin anew."""
        checkpoint = self.place(query).checkpoint
        if (checkpoint / _MARK).exists():
            shutil.rmtree(checkpoint)
        try:
            _claim(checkpoint, query, program, solution, reads)
        except StateMismatchError:
            shutil.rmtree(checkpoint)
            _claim(checkpoint, query, program, solution, reads)
        # All of it is sent again at the swap; before that nothing may go out.
        forget_spools(checkpoint)

    def waits(self, products: Sequence[Product]) -> bool:
        """Return whether the ends of the sources are to be taken: always."""
        return True

    def delay(self, query: str, products: Sequence[Product], ends: Ends) -> Delay:
        """Return what holds every product back until the swap."""
        relations = {each.name for one in products for each in one.relations}
        return RebuildDelay(self.root, query, ends, frozenset(relations), len(products))


def _claim(
    checkpoint: Path,
    query: str,
    program: KernelProgram,
    solution: str,
    reads: Sequence[SourceRead],
) -> None:
    claim_checkpoint(checkpoint, query, program, solution)
    claim_sources(checkpoint, query, reads)


class RebuildDelay:
    """Holds every product of one query back until all its sources are read to their ends."""

    def __init__(
        self, root: Path, query: str, ends: Ends, relations: frozenset[str], products: int
    ) -> None:
        self._standing = Place.of(root, query)
        self._place = rebuild_place(root, query)
        self._reached = partial(ends.reached, relations)
        self._products = products
        self._swap: Swap | None = None

    def __call__(self, product: Product, sinks: Sequence[Sink], delaying: Delaying) -> Outlet:
        """Return the outlet of one product."""
        if self._swap is None:
            self._swap = Swap(
                self._standing.lease,
                self._products,
                ended=delaying.ended,
                on_done=partial(self._done, delaying),
            )
        hold = Hold(self._place.checkpoint / "joinery-held" / f"rebuild-{product.name}.sqlite")
        return RebuildOutlet(sinks, hold, self._reached, self._swap, delaying.warn)

    def _done(self, delaying: Delaying) -> None:
        mark_done(self._place.checkpoint)
        delaying.end()


def rebuild_place(root: Path, query: str) -> Place:
    """Return where the rebuild of a query stands."""
    return Place(
        query=f"rebuild of {query}",
        checkpoint=root / "_rebuild" / query,
        staging=root / "_staging" / f"{query}.rebuild",
        lease_file=root / "_leases" / f"{query}.rebuild.lease",
    )


def mark_done(checkpoint: Path) -> None:
    """Note durably that a checkpoint is to take the place of its query's."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    write_whole(checkpoint / _MARK, f"{now}\n", synced=True)


def put_in_place(root: Path, query: str) -> bool:
    """Let a rebuild that is marked take the query's place; return whether one did.

    The lease of the query is to be held.
    """
    rebuilt, standing = rebuild_place(root, query).checkpoint, Place.of(root, query).checkpoint
    if not (rebuilt / _MARK).is_file():
        return False
    if standing.exists():
        replaced = root / "_replaced"
        replaced.mkdir(exist_ok=True)
        at = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        standing.rename(replaced / f"{query}-{at}")
    rebuilt.rename(standing)
    for held in (standing / "joinery-held").glob("rebuild-*"):
        held.unlink()
    (standing / _MARK).unlink()
    return True
