"""Who may write to a store, and which batch comes next; tables that are not ours.

A store is of one checkpoint. Another one takes it over with its first batch, and begins with
empty tables; from then on the checkpoint before is refused.

Invariant: within a checkpoint epochs and batch numbers never fall.
"""

from __future__ import annotations

from joinery.solutions.stored.state import Batch, StoreError, StoreFencedError


def check_claim(batch: Batch, owner: str | None, epoch: int | None, place: str) -> None:
    """Refuse a run that may not write.

    Args:
        batch: What it begins.
        owner: The query id that last claimed the store; None where none did.
        epoch: The epoch that it claimed it with.
        place: The store's name.

    Raises:
        StoreFencedError: A run with a higher epoch has been here.
        StoreError: The store lacks what the checkpoint committed.
    """
    if owner == batch.query_id:
        if epoch is not None and epoch > batch.epoch:
            raise StoreFencedError(
                f"another run keeps its join state in {place}",
                detail=f"Its epoch is {epoch}; the epoch of this run is {batch.epoch}.",
                hint="Stop one of the two; or restore the folder _leases next to the checkpoint.",
            )
    elif batch.number > 0:
        taken = "It belongs to another checkpoint." if owner else "It is empty."
        raise StoreError(
            f"the join state of this checkpoint is not in {place}",
            detail=f"{taken} The checkpoint has batches before {batch.number}.",
            hint="Restore the store, or run with --rebuild.",
        )


def is_last(batch: Batch, number: int, place: str) -> bool:
    """Return whether `batch` is the last one that was acknowledged, of the same query id.

    Raises:
        StoreError: Others have followed it, or some before it are missing.
    """
    batch.check_follows(number, place)
    if number > batch.number:
        raise StoreError(
            f"batch {batch.number} is not the last one in {place}",
            detail=f"The last one there is {number}, so the checkpoint is older.",
            hint="Restore the checkpoint, or run with --rebuild.",
        )
    return number == batch.number


def foreign_table(table: str, detail: str) -> StoreError:
    """Return the error that tells of a table that is not of this product."""
    return StoreError(
        f'table "{table}" does not fit the product',
        detail=detail,
        hint="Name another database in its options, or drop the table and run with --rebuild.",
    )
