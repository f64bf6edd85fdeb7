"""Asks Spark how all queries of a run stand, with one call into the JVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from joinery.spark.jvm import class_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


_STATES = "dev.joinery.kernel.door.QueryStates"
_LIST = "java.util.ArrayList"
Ask = Callable[[Mapping[str, "StreamingQuery"]], Mapping[str, bool]]
"""Returns the queries that are active, and whether each found nothing new when it last looked."""


class QueryStates:
    """Asks Spark how queries stand.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._known: dict[str, StreamingQuery] = {}
        self._door: Any = None  # found by the first question: before, the kernel may not be loaded
        self._asked: Any = None

    def __call__(self, started: Mapping[str, StreamingQuery]) -> Mapping[str, bool]:
        """Return those that are active; see `Ask`."""
        if self._door is None or self._known != started:
            self._door = class_of(self._spark, _STATES)
            self._known, self._asked = dict(started), class_of(self._spark, _LIST)()
            for each in started.values():
                self._asked.add(each._jsq)
        told = str(self._door.of(self._asked))
        letters = zip(self._known, told, strict=True)
        return {name: each == "a" for name, each in letters if each != "e"}
