"""The conformance suite on the reference solution."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.conformance.reference_cases import CASES

from joinery.model.change import Change
from joinery.project.product import ProjectSpec
from joinery.testing import conformance
from joinery.testing.conformance import Case, ReferenceRunner, Sent


class Forgetful:
    """A solution that never sends a tombstone."""

    def run(self, project: ProjectSpec, batches: Sequence[Sequence[Change]]) -> list[Sent]:
        sent = ReferenceRunner().run(project, batches)
        return [
            Sent(
                {p: [x for x in lines if '"value":null' not in x] for p, lines in s.lines.items()},
                s.dead,
            )
            for s in sent
        ]


@pytest.fixture(scope="module")
def problems() -> dict[str, str]:
    outcomes = conformance.examine(ReferenceRunner(), CASES)
    return {each.case.sentence: each.problem for each in outcomes}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reference_holds(case: Case, problems: dict[str, str]) -> None:
    assert problems[case.sentence] == ""


def test_every_case_is_another_sentence() -> None:
    sentences = [case.sentence for case in CASES]

    assert sorted(set(sentences)) == sorted(sentences)


def test_a_solution_that_forgets_tombstones_does_not_pass() -> None:
    with pytest.raises(conformance.ConformanceError) as refused:
        conformance.check(Forgetful())

    assert "a root that went is one tombstone: batch 2 sent {}" in refused.value.detail
