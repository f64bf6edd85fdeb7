"""Whose join state a store holds, so that two projects do not take each other's.

Stores keep queries apart by name. A checkpoint that is new empties what stands under its
query's name; the mark tells whether that is its own.

Invariant: what another project has marked is never written.
"""

from __future__ import annotations

from dataclasses import dataclass

from joinery.solutions.stored.state import StoreError


class OwnedError(StoreError):
    """A store holds the join state of another project's query of the same name."""

    code = "STORE_OWNED"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who wants to keep join state.

    Attributes:
        project: Its name and where its checkpoints are; empty for who takes only what nobody
            has marked.
        query_id: Of the checkpoint; None while that is new.
    """

    project: str = ""
    query_id: str | None = None

    def check(self, project: str | None, query_id: str | None, *, place: str, hint: str) -> None:
        """Refuse what another project has marked.

        A project that was moved with its checkpoint is known by the checkpoint.

        Args:
            project: The mark; empty where there is none.
            query_id: Of the checkpoint that last wrote.
            place: What is marked, for the message.
            hint: How to name another place.

        Raises:
            OwnedError: It is another's.
        """
        moved = self.query_id is not None and self.query_id == query_id
        if not project or project == self.project or moved:
            return
        raise OwnedError(
            f"{place} holds the join state of another project",
            detail=f"It belongs to {project}.",
            hint=f"{hint}; if that project is gone, remove its state there.",
        )


NOBODY = Owner()
