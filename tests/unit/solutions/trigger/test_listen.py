"""What a listener gives the sinks, and what it says of documents that they do not take."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from joinery.delivery.outlet import SinkResult
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.semantics.document import SentDocument
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import Refusal, StagedBatch, Written
from joinery.solutions.stored.state import Batch, BatchResult, Emitted
from joinery.solutions.trigger.listen import Listener
from joinery.testing.conformance.project import load_text

PRODUCT = build_plan(
    load_text("""
relations:
  user: {key: [id], fields: {id: long}}
products:
  p: {root: user}
""")
).products[0]


class Given:
    """A queue of one batch, and what it sends."""

    def __init__(self, emitted: Emitted) -> None:
        self._emitted = emitted

    def last(self) -> Batch | None:
        return None

    def next(self) -> Batch | None:
        return Batch("queue", 1, 1, 1)

    def wait(self, seconds: float) -> None:
        pass

    def apply(self, changes: Sequence[Change], batch: Batch) -> BatchResult:
        return BatchResult({"p": self._emitted})

    def forget(self, before_us: int) -> None:
        pass

    def close(self) -> None:
        pass


class Picky:
    """An outlet whose sink refuses the first document of each batch."""

    def open(self) -> None:
        pass

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        first = next(read_rows(batch.files))
        refusal = Refusal(first, "document_refused", "Too wide.")
        return [SinkResult("a sink", Written(refused=(refusal,)))]

    def drain(self) -> Sequence[SinkResult]:
        return ()

    def close(self) -> None:
        pass


def test_a_document_that_a_sink_refuses_is_counted_and_stands_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent = {(key,): SentDocument("{}", key) for key in (1, 2)}
    given = Given(Emitted(sent, {(3,): ("overflow", "More.")}))
    listener = Listener([PRODUCT], given, given, {"p": Picky()})

    with caplog.at_level(logging.ERROR):
        told = listener.publish()

    assert told is not None
    assert ({"p": 2}, {"p": 2}) == (told.documents, told.dead)
    assert ["document kept back", "document refused by a sink"] == caplog.messages
    assert '{"id":1}' == vars(caplog.records[1])["key"]
