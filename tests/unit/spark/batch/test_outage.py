"""Only an outage is waited for, and not forever without a batch between."""

from __future__ import annotations

import pytest

from joinery.model.progress import Waiting
from joinery.spark.batch.outage import Outage, is_interrupt, is_outage
from joinery.spark.recovery.attempt import reasons_of
from joinery.spark.source.kafka_client import KafkaUnreachableError, lost_midway


class Captured(Exception):
    """As PySpark tells an exception of the JVM."""

    def __init__(self, desc: str, cause: Exception | None = None) -> None:
        super().__init__(desc)
        self._desc, self._cause = desc, cause


AWAY = Captured("org.apache.kafka.common.errors.TimeoutException: Timed out waiting")


@pytest.mark.parametrize(
    ("failure", "outage"),
    [
        (AWAY, True),
        (KafkaUnreachableError("nobody is there"), True),
        (
            Captured("java.util.concurrent.TimeoutException: Cannot fetch record for offset"),
            True,
        ),
        (Captured("[STREAM_FAILED] Query ended", Captured(str(AWAY))), True),
        (RuntimeError(str(AWAY)), False),
        (Captured(f"java.lang.IllegalStateException: no column {AWAY}"), False),
        (Captured("org.apache.kafka.common.errors.SaslAuthenticationException: no"), False),
        (RuntimeError("java.lang.OutOfMemoryError"), False),
    ],
)
def test_brokers_that_do_not_answer_are_an_outage(failure: Exception, outage: bool) -> None:
    assert outage == is_outage(failure)


def test_the_innermost_reason_comes_first() -> None:
    failure = Captured("[STREAM_FAILED] Query ended", Captured("java.io.IOException:\n  no"))

    assert ["java.io.IOException: no", "[STREAM_FAILED] Query ended"] == [*reasons_of(failure)]


def test_an_outage_is_told_until_it_is_over() -> None:
    told: list[Waiting | None] = []
    outage = Outage("profile", "kafka", told.append)

    assert outage.may_wait(AWAY, last_batch=3)
    outage.note(KafkaUnreachableError("away", detail="still"))
    outage.over()

    first, second, last = told
    assert first is not None
    assert second is not None
    assert (1, str(AWAY)) == (first.attempts, first.reason)
    assert (2, "away: still", first.since) == (second.attempts, second.reason, second.since)
    assert last is None


def test_a_query_that_makes_no_batch_between_outages_is_given_up() -> None:
    outage = Outage("profile", "kafka", lambda waiting: None)

    for _ in range(5):
        assert outage.may_wait(AWAY, last_batch=3)
        outage.over()

    assert not outage.may_wait(AWAY, last_batch=3)
    assert outage.may_wait(AWAY, last_batch=4)


def test_what_spark_finds_lost_is_told_in_one_line() -> None:
    told = lost_midway(
        [
            "java.io.IOException: no",
            "KafkaIllegalStateException: [KAFKA_DATA_LOSS.PARTITIONS_DELETED] Some data may have"
            " been lost because … set the source option failOnDataLoss to false. Reason:"
            " Partitions t-0 have been deleted. SQLSTATE: 22000",
        ]
    )

    assert told is not None
    assert "Partitions t-0 have been deleted." == told.detail


def test_brokers_that_go_while_the_query_is_idle_are_told_once_and_so_is_their_return(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[Waiting | None] = []
    outage = Outage("profile", "kafka", told.append)
    away = KafkaUnreachableError("away", detail="still")

    with caplog.at_level("WARNING", "joinery.run"):
        for unreachable in (None, away, away, None, None):
            outage.seen(unreachable)

    first, last = told
    assert first is not None
    assert ("away: still", 0.0) == (first.reason, first.grace_s)
    assert last is None
    logged = [each.getMessage() for each in caplog.records if each.name == "joinery.run"]
    assert ["waiting for sources", "sources are back"] == logged


def test_an_outage_that_was_seen_goes_on_when_it_ends_the_query() -> None:
    told: list[Waiting | None] = []
    outage = Outage("profile", "kafka", told.append)

    outage.seen(KafkaUnreachableError("away"))
    assert outage.may_wait(AWAY, last_batch=3)
    outage.over()

    first, last = told
    assert first is not None
    assert last is None


def test_a_file_that_a_stop_closed_is_no_failure() -> None:
    closed = Captured("java.nio.channels.ClosedByInterruptException")

    assert is_interrupt(Captured("could not write the labels", closed))
    assert not is_interrupt(Exception("could not write the labels: disk full"))
