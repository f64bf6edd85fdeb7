"""Failures of a batch's own work are counted once each, and forgotten once it went through."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.lookups.protocol import LookupUnavailableError
from joinery.solutions.stored.state import StoreError
from joinery.spark.recovery.attempt import Attempts, Failures, cause_of, failed_query


class Captured(Exception):
    """As PySpark tells an exception of the JVM."""

    def __init__(self, desc: str, cause: Exception | None = None) -> None:
        super().__init__(desc)
        self._desc, self._cause = desc, cause


def always() -> bool:
    return True


def test_an_error_of_java_that_says_nothing_is_told_as_what_it_came_as() -> None:
    crashed = Captured(
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
        Captured("java.io.EOFException"),
    )

    assert "Python worker exited unexpectedly" in cause_of(Captured("aborted", crashed))
    assert "java.io.EOFException" == cause_of(Captured("java.io.EOFException"))


def test_a_batch_that_goes_through_leaves_no_trace(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, "orders")
    attempts.failed(7, "no memory")

    with attempts.at_work(7, always):
        pass

    assert attempts.read() is None


def test_a_failure_is_counted_once_when_spark_died_of_it(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, "orders")

    with pytest.raises(ValueError, match="no memory"), attempts.at_work(7, always):
        raise ValueError("no memory")
    attempts.died()

    told = attempts.read()
    assert told is not None
    assert (told.batch_id, told.count) == (7, 1)
    assert "no memory" in told.why


def test_a_batch_that_hangs_when_spark_died_is_counted(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, "orders")

    with attempts.at_work(7, always):
        attempts.died()
        told = attempts.read()

    assert told == Failures(7, 1, "")


def test_nothing_is_counted_when_spark_died_between_two_batches(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, "orders")

    attempts.died()

    assert attempts.read() is None


@pytest.mark.parametrize(
    "why",
    [
        "dev.joinery.kernel.format.RegistryError: could not get schema 7",
        "dev.joinery.kernel.ingress.VaultError: the vault does not answer",
    ],
)
def test_what_decoding_asks_and_is_away_does_not_count(tmp_path: Path, why: str) -> None:
    attempts = Attempts(tmp_path, "orders")

    with pytest.raises(Captured, match="aborted"), attempts.at_work(7, always):
        raise Captured("org.apache.spark.SparkException: Job aborted", Captured(why))

    assert attempts.read() is None


@pytest.mark.parametrize(
    "why",
    [
        "dev.joinery.kernel.format.RegistryError",
        'a note says "the vault does not answer"',
        "java.lang.IllegalStateException: dev.joinery.kernel.format.RegistryError: away",
    ],
)
def test_words_of_a_record_are_no_outage(tmp_path: Path, why: str) -> None:
    attempts = Attempts(tmp_path, "orders")

    with pytest.raises(Captured), attempts.at_work(7, always):
        raise Captured("org.apache.spark.SparkException: Job aborted", ValueError(why))

    told = attempts.read()
    assert told is not None
    assert told.count == 1


def test_a_lookup_whose_store_is_away_does_not_count(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, "orders")

    with pytest.raises(LookupUnavailableError), attempts.at_work(7, always):
        raise LookupUnavailableError("redis shop is not available: waited 60 s")

    assert attempts.read() is None


def test_neither_a_store_that_is_away_nor_a_run_that_ends_counts(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, "orders")

    with pytest.raises(StoreError), attempts.at_work(7, always):
        raise StoreError("the store is away")
    with pytest.raises(ValueError, match="stopped"), attempts.at_work(7, lambda: False):
        raise ValueError("stopped")

    assert attempts.read() is None


FRAMES = """\
Traceback (most recent call last):
  File "serializers.py", line 483, in loads
    return cloudpickle.loads(obj, encoding=encoding)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
WORKER = (
    "org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from"
    " the Python worker: "
)


def in_worker(raised: str) -> Captured:
    """As Spark tells what a Python worker raised, whose lines stand as Python prints them."""
    return Captured(f"{WORKER}{FRAMES}{raised}\n SQLSTATE: 38000")


def test_what_a_worker_of_python_raised_is_told_without_its_frames() -> None:
    told = failed_query("scored", in_worker("ModuleNotFoundError: No module named 'joinery'"))

    assert told.message == "query \"scored\" failed: ModuleNotFoundError: No module named 'joinery'"
    assert "PYSPARK_PYTHON=" in told.hint


@pytest.mark.parametrize(
    ("raised", "named"),
    [
        (
            "psycopg.errors.UniqueViolation: duplicate key value\n"
            "DETAIL:  Key (id)=(1) already exists.",
            "psycopg.errors.UniqueViolation: duplicate key value",
        ),
        (
            "pydantic_core.ValidationError: 1 validation error for Order\n"
            "amount\n  Input should be a valid number",
            "pydantic_core.ValidationError: 1 validation error for Order",
        ),
        (
            "KeyError: 'a'\n\nDuring handling of the above exception, another exception"
            f" occurred:\n\n{FRAMES}ValueError: no such order",
            "ValueError: no such order",
        ),
    ],
)
def test_an_error_of_several_lines_is_named_by_its_first(raised: str, named: str) -> None:
    told = failed_query("scored", in_worker(raised))

    assert told.message == f'query "scored" failed: {named}'
