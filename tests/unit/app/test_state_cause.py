"""Whose fault a difference is, by what the state of a run has."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from joinery.app.state_cause import Documents, judged
from joinery.audit.verdict import Cause, Difference

KEY = '{"id":1}'
RIGHT, WRONG, OTHER = '{"n":1.0}', '{"n":2}', '{"n":3}'


def told(document: str | None) -> Documents:
    return {KEY: document}


@pytest.mark.parametrize(
    ("held", "by_logs", "state", "logs", "cause"),
    [
        (WRONG, "sink", RIGHT, RIGHT, "sink"),
        (WRONG, "sink", WRONG, RIGHT, "joinery"),
        (WRONG, "sink", '{"n": 2.0}', RIGHT, "joinery"),
        (WRONG, "sink", OTHER, RIGHT, "sink"),
        (None, "sink", RIGHT, RIGHT, "sink"),
        (None, "sink", None, RIGHT, "joinery"),
        (WRONG, "input", WRONG, RIGHT, "input"),
    ],
)
def test_a_state_proves_what_logs_do_not(
    held: str | None, by_logs: Cause, state: str | None, logs: str, cause: Cause
) -> None:
    [found] = judged(
        [Difference(KEY, RIGHT, held, 1, by_logs, "so")], told(state), lambda keys: told(logs)
    )
    assert cause == found.cause
    assert ("so" == found.why) == (by_logs == cause)


def test_a_document_that_is_again_what_it_was_is_nobodys_fault() -> None:
    wrong = Difference(KEY, RIGHT, WRONG, 1, "sink", "so")
    assert [wrong] == judged([wrong], told(WRONG), lambda keys: told(WRONG))


def test_logs_that_do_not_tell_blame_nobody() -> None:
    wrong = Difference(KEY, RIGHT, WRONG, 1, "sink", "so")
    assert [wrong] == judged([wrong], told(WRONG), lambda keys: {})


def test_a_state_that_is_right_is_told_where_the_cause_is_not_known() -> None:
    [found] = judged([Difference(KEY, RIGHT, WRONG, 1, "unknown", "so")], told(RIGHT), unread)
    assert "unknown" == found.cause
    assert (
        "so; the state of its run has it right: it was not sent, or the sink was altered"
        == found.why
    )


def test_what_was_not_looked_up_stays_as_it_is() -> None:
    wrong = [Difference(KEY, RIGHT, WRONG, 1, cause) for cause in ("sink", "unknown", "joinery")]
    assert wrong == judged(wrong, {}, unread)


def unread(keys: Sequence[str]) -> Documents:
    raise AssertionError(keys)
