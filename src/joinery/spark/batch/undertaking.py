"""What a run undertakes with its queries: to keep their documents current, or to rebuild them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from joinery.plan.nodes import Product
from joinery.solutions.spark_state.fingerprint import claim_checkpoint, relocate
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.batch.delay import DeclaredDelay, Delay
from joinery.spark.batch.place import Place
from joinery.spark.batch.ready import Ends
from joinery.spark.recovery.checkpoint import claim_sources
from joinery.spark.recovery.rebuild import put_in_place
from joinery.spark.source.source import SourceRead


class Undertaking(Protocol):
    """Decides where queries stand, which checkpoint they may use, and when they send."""

    def place(self, query: str) -> Place:
        """Return where the run of a query stands."""

    def claim(
        self, query: str, program: KernelProgram, solution: str, reads: Sequence[SourceRead]
    ) -> None:
        """Make the checkpoint of a query one for `program` and its sources; its lease is held.

        Raises:
            StateMismatchError: It holds state that another program or another solution wrote,
                or positions of other sources.
        """

    def waits(self, products: Sequence[Product]) -> bool:
        """Return whether products wait for the ends of their sources."""

    def delay(self, query: str, products: Sequence[Product], ends: Ends) -> Delay:
        """Return what makes the outlets of a query's products."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """The undertaking of `joinery run`.

    Attributes:
        root: `run.checkpoint`.
    """

    root: Path

    def place(self, query: str) -> Place:
        """Return the query's own place."""
        return Place.of(self.root, query)

    def claim(
        self, query: str, program: KernelProgram, solution: str, reads: Sequence[SourceRead]
    ) -> None:
        """Put a finished rebuild in place, then go on where the checkpoint stands."""
        put_in_place(self.root, query)
        checkpoint = self.place(query).checkpoint
        claim_checkpoint(checkpoint, query, program, solution)
        claim_sources(checkpoint, query, reads)
        relocate(checkpoint)

    def waits(self, products: Sequence[Product]) -> bool:
        """Return whether a product has `ready`."""
        return any(each.ready for each in products)

    def delay(self, query: str, products: Sequence[Product], ends: Ends) -> Delay:
        """Return what the products declare."""
        return DeclaredDelay(self.place(query).checkpoint, ends)
