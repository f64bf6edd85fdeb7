"""The reference semantics of streams against the hand-written cases, and against replay."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.testing import StreamDriver
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.stream_case import StreamCase
from joinery.testing.conformance.stream_cases import stream_cases
from joinery.testing.conformance.stream_suite import (
    ReferenceStreamRunner,
    check_streams,
)
from joinery.testing.conformance.suite import ConformanceError


@pytest.mark.parametrize("case", stream_cases(), ids=str)
def test_the_reference_does_what_a_case_says(case: StreamCase) -> None:
    check_streams(ReferenceStreamRunner(), [case])


def test_all_cases_hold_in_one_run() -> None:
    check_streams(ReferenceStreamRunner())


@pytest.mark.parametrize("case", stream_cases(), ids=str)
def test_a_batch_that_runs_again_sends_the_same_under_the_same_versions(case: StreamCase) -> None:
    driver = StreamDriver(build_plan(load_text(case.project)).streams[-1])

    for step in case.steps:
        sent = driver.send(*step.changes, after=step.after)
        again = driver.replay()

        assert sent == again
        assert [each.version for each in sent] == [each.version for each in again]


def test_each_sentence_is_told_once() -> None:
    sentences = [each.sentence for each in stream_cases()]

    assert sorted(set(sentences)) == sorted(sentences)


def test_a_case_that_does_not_hold_is_told_with_what_was_sent() -> None:
    case = next(each for each in stream_cases() if each.sentence.startswith("re_emit:"))
    broken = StreamCase(case.sentence, case.project.replace("re_emit, for: 7d", "keep"), case.steps)

    with pytest.raises(ConformanceError, match="1 cases") as caught:
        check_streams(ReferenceStreamRunner(), [broken])

    assert "batch 2 sent []" in caught.value.detail
