"""Lets a query go on from a checkpoint that was put back from a backup, as another one.

Targets keep numbers of batches and runs by the checkpoint's identity. What they noted of the newer
copy must not be taken for this one's: a batch of that number would count as written already. So it
gets an identity of its own; versions go on rising, since they are times.

Limits: a target is not given again what it was sent since the backup, unless rows change again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

from joinery.delivery.restored import RestoredError
from joinery.model.warning import RunWarning
from joinery.place.place import Place
from joinery.solutions.spark_state.fingerprint import SPARK_STATE, standing_solution
from joinery.spark.recovery.relocate import replace_file


def go_on_as_another(query: str, checkpoint: Place, check: Callable[[], None]) -> bool:
    """Give the checkpoint of a query an identity of its own; False where there is none.

    Args:
        query: The query's name.
        checkpoint: Its checkpoint, whose lease is held.
        check: Raises once the lease is not held.

    Raises:
        RestoredError: A store keeps its state, and knows it by its identity.
    """
    file = checkpoint / "metadata"
    if not file.is_file():
        return False
    solution = standing_solution(checkpoint)
    if solution not in (None, SPARK_STATE):
        raise RestoredError(
            f'query "{query}" keeps its state by {solution}, which knows the checkpoint it is of',
            hint="Send all documents again: joinery run --rebuild.",
        )
    told = {**json.loads(file.read_text(encoding="utf-8")), "id": str(uuid.uuid4())}
    check()
    replace_file(file, json.dumps(told))
    return True


def restored_warning(query: str) -> RunWarning:
    """Return the warning of a query that goes on from one that was put back."""
    return RunWarning(
        code="WARN_RESTORED",
        about=f'query "{query}"',
        message=f'query "{query}" goes on from a checkpoint that was put back',
        detail="What its sinks were sent since that backup stays until its rows change again.",
        hint="Once it has caught up, joinery diff compares all documents with the database, and"
        " joinery diff --repair corrects them.",
    )
