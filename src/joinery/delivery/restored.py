"""Tells a checkpoint that is older than what was sent from it, as after a backup was put back.

Spark logs a batch in the checkpoint before it runs, and targets note the number of a batch with
its documents, so a target that knows of a later batch than the checkpoint has begun was written
from a newer copy of it. What that copy sent may differ from all that this one will ever send: a
document that changed and changed back, or came and went, is not sent again.

Limits: a target that is away when a run starts is asked before it is first written. The next start
then takes the number of that first batch for one of its own. In real time a target notes the last
commit, and is not known to have been sent more since.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from joinery.errors import FencedError, RunError
from joinery.place.place import Place, numbers_in
from joinery.sinks.protocol import Sink, StagedBatch, notes_of


class RestoredError(RunError):
    """A checkpoint is older than what its sinks were sent from it."""

    code = "RUN_RESTORED"


@dataclass(frozen=True, slots=True)
class Begun:
    """How far a checkpoint has come.

    Attributes:
        query: The query's name.
        id: The checkpoint's identity.
        batch: The last batch that it has begun; -1 where it has begun none.
    """

    query: str
    id: str
    batch: int

    @classmethod
    def of(cls, query: str, checkpoint: Place) -> Self | None:
        """Return how far a checkpoint has come; None where there is none."""
        identity = checkpoint / "metadata"
        if not identity.is_file():
            return None
        told = json.loads(identity.read_text(encoding="utf-8"))
        batch = max(numbers_in(checkpoint / "offsets"), default=-1)
        return cls(query, str(told["id"]), batch)

    def check(self, sink: Sink, batch: StagedBatch) -> None:
        """See that a target knows of no later batch.

        Args:
            sink: It, open.
            batch: Names the product and the checkpoint.

        Raises:
            RestoredError: It does.
            SinkUnavailableError: It cannot be reached now.
        """
        notes = notes_of(sink)
        noted = None if notes is None else notes.last_batch(batch)
        if noted is not None and noted > self.batch:
            ours = f"ends with batch {self.batch}" if self.batch >= 0 else "has begun no batch"
            raise RestoredError(
                f'the checkpoint of query "{self.query}" is older than what was sent from it',
                detail=f"It {ours}, and {sink.target} has batch {noted}. Was it put back from a"
                " backup? Documents sent since then may stay wrong. Nothing was sent.",
                hint=_HINT,
            )


_HINT = (
    "Put the newest checkpoint back; or send all documents again: joinery run --rebuild; or, where"
    " the logs no longer have all that needs, joinery run --restored, then joinery diff."
)


def unknown_run(query: str, error: FencedError) -> RestoredError:
    """Return the error of a run that a target refuses for a later one, and holds its lease yet."""
    return RestoredError(
        f'the checkpoint of query "{query}" does not know the run that wrote last: {error.message}',
        detail="It was put back from a backup, or a copy of it is running elsewhere.",
        hint=f"If a copy is running, stop one of the two. Else: {_HINT[0].lower()}{_HINT[1:]}",
    )
