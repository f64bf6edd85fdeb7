"""Prints the events of a frame, a line of JSON each; those of a stream as they come."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_OPTIONS = {"ignoreNullFields": "false", "timeZone": "UTC"}


def show_frame(frame: DataFrame, seconds: float | None) -> None:
    """Print the events of a frame.

    Args:
        frame: Of events; a batch is printed at once.
        seconds: How long a stream is printed; None is until interrupted.
    """
    if not frame.isStreaming:
        _print(frame)
        return
    query = frame.writeStream.outputMode("update").foreachBatch(_print_batch).start()
    try:
        query.awaitTermination(None if seconds is None else max(1, round(seconds)))
    except KeyboardInterrupt:
        pass
    finally:
        query.stop()


def _print_batch(batch: DataFrame, number: int) -> None:
    _print(batch)


def _print(frame: DataFrame) -> None:
    for row in frame.select(F.to_json(F.struct("*"), _OPTIONS)).toLocalIterator():
        print(row[0], flush=True)
