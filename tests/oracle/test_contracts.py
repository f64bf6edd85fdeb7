"""Documents of random projects are as their contracts promise, above all in what is never null."""

from __future__ import annotations

import pytest
from tests.conformance.contract_samples import samples_of
from tests.oracle.compare import chosen_seeds
from tests.oracle.forms import FORMS
from tests.oracle.stream_shape import make_stream_trial

from joinery.testing.conformance import ReferenceRunner, ReferenceStreamRunner

SEEDS = chosen_seeds(4)


@pytest.mark.parametrize("form", FORMS)
def test_documents_of_each_form_fit_their_contracts(form: str) -> None:
    _, make = FORMS[form]
    trial = make(SEEDS)

    samples = list(samples_of(trial.project, ReferenceRunner().run(trial.project, trial.batches)))

    assert samples
    assert [] == [each for sample in samples for each in sample.problems()]


def test_events_of_streams_fit_their_contracts() -> None:
    trial = make_stream_trial(SEEDS)
    runner = ReferenceStreamRunner()

    samples = list(samples_of(trial.project, runner.run(trial.project, trial.batches)))

    assert samples
    assert [] == [each for sample in samples for each in sample.problems()]
