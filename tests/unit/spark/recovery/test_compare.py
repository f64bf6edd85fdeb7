"""What is made of a measurement."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from joinery.model.batch import BatchProgress
from joinery.spark.recovery.compare import Measured, Sample, all_below, store_requests
from joinery.testing.conformance.project import load_text

VIEWED = """
relations:
  user: {key: [id], fields: {id: long}}
products:
  own: {root: user, solution: {rdbms-trigger: {schema: s, views: {user: people}}}}
  given: {root: user, solution: rdbms-trigger}
run:
  solutions: {rdbms-trigger: {schema: t, views: {user: people}}}
"""


def test_the_first_batch_warms_up() -> None:
    measured = Measured("kv", batches=[(100, 10.0), (100, 1.0), (100, 1.0)])

    assert 100.0 == measured.rate


def test_a_single_batch_counts() -> None:
    assert 50.0 == Measured("kv", batches=[(100, 2.0)]).rate


def test_times_of_batches_are_told_by_their_share() -> None:
    measured = Measured("kv", batches=[(1, float(seconds)) for seconds in range(101)])

    assert (50.0, 99.0) == (measured.seconds(0.5), measured.seconds(0.99))


def test_requests_are_told_a_change() -> None:
    measured = Measured("kv", batches=[(200, 1.0)], store=Counter(requests=10))

    assert 0.05 == measured.a_change("requests")


def test_a_service_that_bills_requests_counts_its_own() -> None:
    batch = BatchProgress(
        query="q",
        batch_id=0,
        relations={},
        documents={},
        counters={"p": {"dynamodb_requests": 3, "dynamodb_queries": 2, "dynamodb_read_units": 9}},
        dead=0,
        seconds=1.0,
        ended_at=0.0,
        store={"requests": 12, "entries_read": 4},
    )

    assert {"requests": 5, "entries_read": 4, "read_units": 9} == store_requests(batch)


def test_a_measurement_alters_no_view_that_others_read() -> None:
    spec = all_below(load_text(VIEWED), Path("measured"), Sample(1, 1))

    assert [{"schema": "s"}, {}] == [dict(each.solution.options) for each in spec.products]
    assert {"rdbms-trigger": {"schema": "t"}} == {
        name: dict(options) for name, options in spec.run.solutions
    }
