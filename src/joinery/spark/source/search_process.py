"""The JVM that finds changes in logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from joinery.spark.source.door_process import DoorProcess
from joinery.spark.source.log_jvm import OUT_OF_MEMORY

_DOOR = "dev.joinery.kernel.door.LogSearch"


class TooManyChangesError(Exception):
    """A search needs more memory than its process may have: some 48 bytes a change."""


def search_process(jars: Sequence[Path] = ()) -> DoorProcess:
    """Return a process that answers the questions of one search; to be closed.

    It raises `FileFeedError` where the logs cannot be read, and `TooManyChangesError`.

    Args:
        jars: What it needs beside Spark's jars and the kernel's.

    Raises:
        RunError: Java is missing.
    """
    return DoorProcess(_DOOR, _failure, jars)


def _failure(told: str) -> Exception:
    from joinery.spark.source.file_request import FileFeedError

    if OUT_OF_MEMORY in told:
        return TooManyChangesError()
    return FileFeedError.of(told, "the logs")
