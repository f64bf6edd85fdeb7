"""Stops a query of Spark's, and waits for its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_GOES_ON = "failed to stop within"  # `spark.sql.streaming.stopTimeout`, as Spark says it


def stop_query(active: StreamingQuery) -> None:
    """Stop a query and wait for its end.

    Spark interrupts the query once, which clients of Kafka that wait for their brokers may miss,
    and then ask them for minutes; so it is interrupted until it ends.
    """
    while True:
        try:
            active.stop()
        except Exception as error:
            if _GOES_ON not in str(error):
                raise
        else:
            return
