"""How a query of Spark's is stopped: again where it did not notice."""

from __future__ import annotations

from typing import Any, cast

import pytest

from joinery.spark.batch.stopping import stop_query


class Query:
    """One that notices the interrupt that comes after some others."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1
        if self.failures:
            raise self.failures.pop(0)


def late() -> Exception:
    return RuntimeError(
        "Stream Execution thread for stream p failed to stop within 5000 milliseconds"
    )


def test_a_query_that_does_not_end_in_time_is_interrupted_again() -> None:
    query = Query(late(), late())

    stop_query(cast(Any, query))

    assert 3 == query.stops


def test_what_else_fails_is_raised() -> None:
    query = Query(late(), ConnectionError("Spark is gone"))

    with pytest.raises(ConnectionError):
        stop_query(cast(Any, query))

    assert 2 == query.stops
