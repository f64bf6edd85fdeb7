"""What is made of a measurement."""

from __future__ import annotations

from collections import Counter

from joinery.spark.compare import Measured


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
