"""Puts a product's outlet behind what delays it: readiness, then quiet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from joinery.delivery.hold import Hold
from joinery.delivery.outlet import Delaying, DirectOutlet, GatedOutlet, Outlet, SettlingOutlet
from joinery.plan.nodes import Product
from joinery.sinks.protocol import Sink
from joinery.spark.batch.ready import Ends


class Delay(Protocol):
    """Makes the outlet of one product."""

    def __call__(self, product: Product, sinks: Sequence[Sink], delaying: Delaying) -> Outlet:
        """Return the way to `sinks`, on which documents may be held back."""


def undelayed(product: Product, sinks: Sequence[Sink], delaying: Delaying) -> Outlet:
    """Return the direct way: each batch sends what it changed."""
    return DirectOutlet(sinks)


@dataclass(frozen=True, slots=True)
class DeclaredDelay:
    """Delays a product as its declaration says.

    Attributes:
        checkpoint: The query's; what is held stands in it.
        ends: What `ready` waits for.
    """

    checkpoint: Path
    ends: Ends

    def __call__(self, product: Product, sinks: Sequence[Sink], delaying: Delaying) -> Outlet:
        """Return the way to `sinks`, behind the product's `emit` and `ready`."""
        outlet: Outlet = DirectOutlet(sinks)
        if product.settle_ms is not None:
            outlet = SettlingOutlet(
                outlet,
                Hold(self.checkpoint / "joinery-held" / f"settle-{product.name}.sqlite"),
                settle_s=product.settle_ms / 1000,
                delaying=delaying,
            )
        if product.ready:
            outlet = GatedOutlet(
                outlet,
                Hold(self.checkpoint / "joinery-held" / f"ready-{product.name}.sqlite"),
                partial(self.ends.reached, product.ready),
            )
        return outlet
