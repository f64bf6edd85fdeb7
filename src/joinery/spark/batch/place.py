"""Where one query's run stands, below `run.checkpoint`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from joinery.delivery.lease import Lease


@dataclass(frozen=True, slots=True)
class Place:
    """The folders and files of one query's run.

    Attributes:
        query: What the run is called in messages.
        checkpoint: Spark's checkpoint.
        staging: Where batches are staged.
        lease_file: Where the lease on the run stands.
    """

    query: str
    checkpoint: Path
    staging: Path
    lease_file: Path

    @classmethod
    def of(cls, root: Path, query: str) -> Self:
        """Return the place of the query itself."""
        return cls(query, root / query, root / "_staging" / query, lease_file(root, query))

    @property
    def lease(self) -> Lease:
        """The lease, not taken."""
        return Lease(self.lease_file, self.query)


def lease_file(root: Path, query: str) -> Path:
    """Return where the lease on a query stands."""
    return root / "_leases" / f"{query}.lease"
