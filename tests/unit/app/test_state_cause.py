"""Whose fault a difference is, by what the state of a run has."""

from __future__ import annotations

import pytest

from joinery.app.state_cause import judged
from joinery.audit.verdict import Cause, Difference

RIGHT, WRONG, OTHER = '{"n":1.0}', '{"n":2}', '{"n":3}'


@pytest.mark.parametrize(
    ("held", "by_logs", "state", "cause"),
    [
        (WRONG, "sink", RIGHT, "sink"),
        (WRONG, "sink", WRONG, "joinery"),
        (WRONG, "sink", OTHER, "sink"),
        (None, "sink", RIGHT, "sink"),
        (None, "sink", None, "joinery"),
        (WRONG, "unknown", '{"n": 1}', "sink"),
        (WRONG, "unknown", WRONG, "unknown"),
        (None, "unknown", None, "unknown"),
    ],
)
def test_a_state_proves_causes(
    held: str | None, by_logs: Cause, state: str | None, cause: Cause
) -> None:
    [found] = judged([Difference("{}", RIGHT, held, 1, by_logs, "so")], lambda _: state)
    assert cause == found.cause
    assert ("so" == found.why) == (by_logs == cause)


@pytest.mark.parametrize("cause", ["input", "joinery"])
def test_what_the_logs_prove_is_not_looked_up(cause: Cause) -> None:
    wrong = Difference("{}", RIGHT, WRONG, 1, cause)

    def document(key: str) -> str | None:
        raise AssertionError(key)

    assert [wrong] == judged([wrong], document)


def test_few_of_many_are_looked_up() -> None:
    wrong = [Difference(f'{{"id":{n}}}', RIGHT, WRONG, 1, "sink") for n in range(600)]
    found = judged(wrong, lambda _: WRONG)
    assert ["joinery"] * 500 + ["sink"] * 100 == [each.cause for each in found]
