"""Runs `joinery run` and kills the whole process group, JVM included, at a named point.

usage: crash.py POINT BATCH [arguments of `joinery run`]
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from joinery.dead_letters.folder import DeadLetterFolder
from joinery.sinks import batch_folder
from joinery.sinks.files import FilesSink
from joinery.sinks.sqlite import SqliteSink
from joinery.spark.batch.query import QueryRun

CHECKPOINTS = Path(".joinery/checkpoint")
CHECKPOINT = CHECKPOINTS / "profile"
POINTS = (
    "before-stage",
    "during-stage",
    "after-stage",
    "files-before",
    "files-during",
    "files-after",
    "sqlite-before",
    "sqlite-during",
    "sqlite-after",
    "letters-before",
    "letters-after",
    "before-commit",
    "after-commit",
)
STORE_POINTS = ("store-marked", "store-written", "store-acknowledged")


class Killer:
    """Kills when the point is reached in the batch that was asked for."""

    def __init__(self, point: str, batch: int) -> None:
        self.point, self.batch, self.current = point, batch, -1

    def reach(self, point: str) -> None:
        """Die here, if this is the point."""
        if point == self.point and self.current == self.batch:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    def around(self, owner: type, name: str, label: str) -> None:
        """Make a method of ours a place with a point before and after."""
        method: Callable[..., Any] = getattr(owner, name)

        def reached(*arguments: Any, **options: Any) -> Any:
            self.reach(f"{label}-before")
            result = method(*arguments, **options)
            self.reach(f"{label}-after")
            return result

        setattr(owner, name, reached)

    def after(self, owner: type | ModuleType, name: str, point: str) -> None:
        """Make the end of a method or function of ours a point."""
        method: Callable[..., Any] = getattr(owner, name)

        def reached(*arguments: Any, **options: Any) -> Any:
            result = method(*arguments, **options)
            self.reach(point)
            return result

        setattr(owner, name, reached)

    def batches(self) -> None:
        """Follow which batch runs, and the points around its stage and its commit."""
        run_batch = QueryRun.run_batch

        def followed(query: QueryRun, kernel: Any, frame: Any, batch_id: int) -> None:
            self.current = batch_id
            self.reach("before-stage")
            staged: Any = _Staged(kernel, self)
            run_batch(query, staged, frame, batch_id)
            self.reach("before-commit")

        # A method is put in the place of another, which a type checker does not allow.
        QueryRun.run_batch = followed  # type: ignore[method-assign, assignment]

    def store(self) -> None:
        """Make calls of a store without transactions points."""
        from joinery.solutions.key_value.state import KeyValueJoinState

        self.after(KeyValueJoinState, "mark", "store-marked")
        self.after(KeyValueJoinState, "write", "store-written")
        self.after(KeyValueJoinState, "acknowledge", "store-acknowledged")

    def watch(self, point: str, seen: Callable[[], bool]) -> None:
        """Die as soon as something is seen from outside."""

        def look() -> None:
            while not seen():
                time.sleep(0.0005)
            os.killpg(os.getpgid(0), signal.SIGKILL)

        if point == self.point:
            threading.Thread(target=look, daemon=True).start()


class _Staged:
    """The kernel, with a point after it has staged a batch."""

    def __init__(self, kernel: Any, killer: Killer) -> None:
        self._kernel, self._killer = kernel, killer

    def stage(self, frame: Any, folder: Path, label: Any = None) -> Any:
        summary = self._kernel.stage(frame, folder, label)
        self._killer.reach("after-stage")
        return summary


def main(arguments: list[str]) -> None:
    """Set the trap, then be `joinery run`."""
    point, batch, *rest = arguments
    known = (*POINTS, *STORE_POINTS)
    assert point in known, f"{point} is none of {known}"
    killer = Killer(point, int(batch))
    killer.batches()
    killer.around(FilesSink, "write", "files")
    killer.after(batch_folder, "join_synced", "files-during")
    killer.around(SqliteSink, "write", "sqlite")
    killer.after(SqliteSink, "_apply", "sqlite-during")
    killer.around(DeadLetterFolder, "put", "letters")
    if point in STORE_POINTS:
        killer.store()
    state = f"*/state/*/*/{killer.batch + 1}[._]*"
    killer.watch("during-stage", lambda: any(CHECKPOINTS.glob(state)))
    killer.watch("after-commit", lambda: any(CHECKPOINTS.glob(f"*/commits/{batch}")))
    sys.argv = ["joinery", "run", *rest]
    from joinery.cli.main import main as joinery

    joinery()


if __name__ == "__main__":
    main(sys.argv[1:])
