"""The JVM that finds changes in logs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from joinery.spark.source.door_process import DoorProcess
from joinery.spark.source.log_jvm import OUT_OF_MEMORY

_DOOR = "dev.joinery.kernel.door.LogSearch"


class TooManyChangesError(Exception):
    """A search needs more memory than its process may have: some 48 bytes a change."""


class SearchProcess(DoorProcess):
    """A process that answers questions of one search; closed once.

    Args:
        jars: What it needs beside Spark's jars and the kernel's.

    Raises:
        RunError: Java is missing.
    """

    def __init__(self, jars: Sequence[Path] = ()) -> None:
        super().__init__(_DOOR, jars)
        self._jars = frozenset(jars)

    def has(self, jars: Collection[Path]) -> bool:
        """Say whether it was given some jars."""
        return self._jars.issuperset(jars)

    def failure(self, told: str) -> Exception:
        """Return that the logs cannot be read, or need more memory than it has."""
        from joinery.spark.source.file_request import FileFeedError

        if OUT_OF_MEMORY in told:
            return TooManyChangesError()
        return FileFeedError.of(told, "the logs")
