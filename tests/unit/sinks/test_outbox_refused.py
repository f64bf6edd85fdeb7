"""What a batch could not send is known when it runs again."""

from __future__ import annotations

from pathlib import Path

from joinery.sinks.line import StagedRow
from joinery.sinks.outbox_refused import RefusedEvents
from joinery.sinks.protocol import Refusal

LARGE = Refusal(
    StagedRow('{"partition":0,"offset":7}', '{"id":"é\\n","cost":12.50}', 101),
    "document_too_large",
    'The event is larger than topic "order" takes.',
)
UNPLACED = Refusal(StagedRow('{"partition":0,"offset":8}', None, -1), "unroutable", "é\u2028")


def test_refused_events_are_read_as_they_were_kept(tmp_path: Path) -> None:
    RefusedEvents(tmp_path / "query").keep(3, [LARGE, UNPLACED])

    assert (LARGE, UNPLACED) == RefusedEvents(tmp_path / "query").of(3)


def test_another_batch_has_none_of_them(tmp_path: Path) -> None:
    refused = RefusedEvents(tmp_path)
    refused.keep(3, [LARGE])

    assert () == refused.of(4)


def test_a_later_attempt_replaces_what_an_earlier_one_kept(tmp_path: Path) -> None:
    refused = RefusedEvents(tmp_path)
    refused.keep(3, [LARGE, UNPLACED])
    refused.keep(3, [UNPLACED])

    assert (UNPLACED,) == refused.of(3)


def test_an_attempt_that_refused_nothing_leaves_nothing(tmp_path: Path) -> None:
    refused = RefusedEvents(tmp_path)
    refused.keep(3, [LARGE])
    refused.keep(3, [])

    assert () == refused.of(3)
    assert [] == list(tmp_path.iterdir())


def test_nothing_is_written_where_nothing_was_ever_refused(tmp_path: Path) -> None:
    refused = RefusedEvents(tmp_path / "query")
    refused.keep(3, [])

    assert () == refused.of(3)
    assert [] == list(tmp_path.iterdir())
