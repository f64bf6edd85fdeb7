"""Puts a product's outlet behind what delays it: readiness, then quiet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from joinery.connect.gate import GatedOutlet
from joinery.connect.hold import Hold
from joinery.connect.outlet import Delaying, Outlet
from joinery.connect.settle import SettlingOutlet
from joinery.plan.nodes import Product
from joinery.spark.ready import Ends


class Delay(Protocol):
    """Wraps the outlet of one product."""

    def __call__(self, product: Product, outlet: Outlet, delaying: Delaying) -> Outlet:
        """Return `outlet`, or one that holds documents back before it."""


def undelayed(product: Product, outlet: Outlet, delaying: Delaying) -> Outlet:
    """Return `outlet`: each batch sends what it changed."""
    return outlet


@dataclass(frozen=True, slots=True)
class DeclaredDelay:
    """Delays a product as its declaration says.

    Attributes:
        checkpoint: The query's; what is held stands in it.
        ends: What `ready` waits for.
    """

    checkpoint: Path
    ends: Ends

    def __call__(self, product: Product, outlet: Outlet, delaying: Delaying) -> Outlet:
        """Return `outlet` behind the product's `emit` and `ready`."""
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
