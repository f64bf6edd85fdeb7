"""Where a query has its files, below the checkpoint folder of its project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from joinery.delivery.lease import Lease
from joinery.place.place import Place, local

STAGING = "_staging"
SWAPPED = "joinery-swapped"
"""Marks a checkpoint that is to take the place of its query's: all of it is sent."""


@dataclass(frozen=True, slots=True)
class QueryPaths:
    """The folders and files of one query's run, below `run.checkpoint`.

    Attributes:
        query: What the run is called in messages.
        checkpoint: Spark's checkpoint.
        staging: Where batches are staged.
        lease_file: Where the lease on the run is kept.
        status_file: Shows operators how far the run has come.
        control_file: What operators asked of the run.
        other_lease_file: Where the lease on its rebuild is kept; of a rebuild, that on the run.
    """

    query: str
    checkpoint: Place
    staging: Place
    lease_file: Place
    status_file: Place
    control_file: Place
    other_lease_file: Place

    @property
    def repair_folder(self) -> Place:
        """The documents that the run was asked to send again, and what became of them."""
        return self.control_file.with_suffix(".repair")

    def on_disk(self, what: str) -> Path:
        """Return the checkpoint for `what`, which needs it on a disk.

        Raises:
            LocalOnlyError: It is in an object store or HDFS.
        """
        return local(self.checkpoint, what)

    @classmethod
    def of(cls, root: Place, query: str) -> Self:
        """Return the paths of the query itself."""
        lease_file, rebuilt = _lease_files(root, query)
        status_file = root / "_status" / f"{query}.json"
        control_file = root / "_control" / f"{query}.jsonl"
        staging = root / STAGING / query
        return cls(query, root / query, staging, lease_file, status_file, control_file, rebuilt)

    @property
    def lease(self) -> Lease:
        """The lease, not taken."""
        return Lease(self.lease_file, self.query, beside=self.other_lease_file)


def rebuild_paths(root: Place, query: str) -> QueryPaths:
    """Return the paths of the rebuild of a query."""
    standing, lease_file = _lease_files(root, query)
    return QueryPaths(
        query=f"rebuild of {query}",
        checkpoint=root / "_rebuild" / query,
        staging=root / STAGING / f"{query}.rebuild",
        lease_file=lease_file,
        status_file=root / "_status" / f"{query}.rebuild.json",
        control_file=root / "_control" / f"{query}.rebuild.jsonl",
        other_lease_file=standing,
    )


def _lease_files(root: Place, query: str) -> tuple[Place, Place]:
    """Return where the leases on the run of a query and on its rebuild are kept."""
    leases = root / "_leases"
    return leases / f"{query}.lease", leases / f"{query}.rebuild.lease"
