"""What is away is waited for: a breaker spares it, and the end of a run ends the wait."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from joinery.errors import SinkUnavailableError
from joinery.model.progress import Waiting
from joinery.retry import CircuitBreaker, Patience, Retry

QUICK = Patience(first_s=0.001, longest_s=0.01, failures=3, rest_s=0.02)
DOWN = SinkUnavailableError("could not reach the target", detail="Connection refused.")


def failing(times: int) -> Callable[[], str]:
    """Return an attempt that fails so many times."""
    answers = iter([DOWN] * times)

    def attempt() -> str:
        if (failure := next(answers, None)) is not None:
            raise failure
        return "done"

    return attempt


def retry(
    patience: Patience = QUICK,
    ended: Callable[[], bool] = lambda: False,
    tell: Callable[[Waiting | None], None] = lambda waiting: None,
) -> Retry:
    return Retry(
        "sink",
        {"product": "p"},
        lambda: "redis",
        outage=SinkUnavailableError,
        ended=ended,
        tell=tell,
        patience=patience,
    )


def test_a_breaker_opens_after_failures_in_a_row() -> None:
    breaker = CircuitBreaker(failures=2, rest_s=5)
    breaker.failed(0)
    breaker.succeeded()
    breaker.failed(1)

    opened = breaker.failed(2)

    assert opened
    assert (5.0, 1.0) == (breaker.wait_s(2), breaker.wait_s(6))


def test_after_a_rest_one_request_tries() -> None:
    breaker = CircuitBreaker(failures=1, rest_s=5)
    breaker.failed(0)

    waits = [breaker.wait_s(6), breaker.wait_s(6), breaker.wait_s(7)]

    assert [0.0, 5.0, 4.0] == waits


def test_a_success_closes_the_breaker() -> None:
    breaker = CircuitBreaker(failures=1, rest_s=5)
    breaker.failed(0)
    breaker.succeeded()

    assert 0.0 == breaker.wait_s(1)


def test_the_bound_of_a_wait_doubles_up_to_the_longest() -> None:
    patience = Patience(first_s=1.0, longest_s=3.0)

    longest = [max(patience.wait_s(failed) for _ in range(200)) for failed in (1, 2, 5, 5000)]

    assert [True] * 4 == [
        bound / 2 < found <= bound for found, bound in zip(longest, (1, 2, 3, 3), strict=True)
    ]


def test_every_failed_attempt_is_told_and_so_is_the_end() -> None:
    told: list[Waiting | None] = []

    done = retry(tell=told.append).until_done(failing(4), "could not write")

    assert "done" == done
    assert [1, 2, 3, 4, None] == [each and each.attempts for each in told]


def test_an_outage_is_three_lines_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "joinery.retry"):
        retry().until_done(failing(5), "could not write")

    lines = ["waiting for a sink", "a sink is left alone", "a sink is back"]
    assert lines == [each.getMessage() for each in caplog.records]


def test_a_run_that_ends_while_the_breaker_rests_says_what_was_waited_for() -> None:
    told: list[Waiting | None] = []
    patience = Patience(first_s=0.0, failures=1, rest_s=600.0)
    resting = retry(patience, ended=lambda: len(told) == 2, tell=told.append)
    resting.note(DOWN)

    with pytest.raises(SinkUnavailableError, match="could not write to redis") as ended:
        resting.until_done(failing(9), "could not write to redis")

    assert "could not reach the target. Connection refused." == ended.value.detail


def test_a_pause_that_the_end_of_the_run_cuts_short_raises() -> None:
    with pytest.raises(SinkUnavailableError, match="did not ask redis") as ended:
        retry(ended=lambda: True).pause(600.0, "did not ask redis")

    assert "The run is ending." == ended.value.detail
