"""What becomes of changes that cannot be used where DataFrames are given and taken.

A batch fails at the first, as PySpark's own readers do in their strictest mode. A stream goes
on, warns, and tells their number as the observed metric `joinery` of its progress.
"""

from __future__ import annotations

from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame

from joinery.model.warning import RunWarning, Warnings
from joinery.spark.kernel import Kernel


def usable(door: Any, kernel: Kernel, name: str, *, streaming: bool, json: bool) -> DataFrame:
    """Return what leaves a door of frames, without the changes that cannot be used.

    Args:
        door: As `Kernel.frames` gives it, with all frames.
        kernel: That of the door.
        name: Of the product or stream.
        streaming: Whether the frames are.
        json: True for documents as text.
    """
    session = kernel.session
    if not streaming:
        return DataFrame(door.documents(json), session)
    start: Any = ensure_callback_server_started  # PySpark leaves it untyped
    start(session.sparkContext._gateway)
    return DataFrame(door.counted(json, _Watch(name)), session)


class _Watch:
    """Warns once of changes that a stream of documents left out; called from the JVM."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._warnings = Warnings()

    def accept(self, count: int) -> None:
        """Take how many changes a batch left out."""
        self._warnings.add(
            RunWarning(
                code="WARN_CHANGES_LEFT_OUT",
                about=self._name,
                message=f'"{self._name}" leaves out changes that cannot be used,'
                f" {count} of them in one batch",
                detail="Each batch tells its own: lastProgress.observedMetrics.",
                hint="documents(…, dead_letters=True) gives a row for each, with its reason.",
            )
        )

    class Java:
        """What the JVM takes this for."""

        implements = ("java.util.function.LongConsumer",)
