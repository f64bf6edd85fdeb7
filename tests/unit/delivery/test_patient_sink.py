"""A sink waits for its target, and stops waiting when the run ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from joinery.delivery.outlet import OneAttempt, PatientSink
from joinery.delivery.restored import Begun, RestoredError
from joinery.model.progress import Waiting
from joinery.model.type import LONG, Field, Struct
from joinery.retry import Patience
from joinery.sinks.protocol import (
    FencedError,
    Guarantee,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    Written,
    listing_of,
)

SHAPE = Struct((Field("id", LONG),))
QUICK = Patience(first_s=0.001, longest_s=0.01, failures=3, rest_s=0.02)
DOWN = SinkUnavailableError("could not reach the target", detail="Connection refused.")


@dataclass(slots=True)
class Target:
    """A sink that answers each call with the next of `answers`, and notes the calls."""

    answers: list[Exception | None]
    calls: list[str] = field(default_factory=list)
    guarantee: Guarantee = field(default_factory=lambda: Guarantee(summary="None."))
    target: str = "somewhere"

    def open(self) -> None:
        self._answer("open")

    def write(self, batch: StagedBatch) -> Written:
        self._answer("write")
        return Written(older=len(batch.files))

    def close(self) -> None:
        self.calls.append("close")

    def _answer(self, call: str) -> None:
        self.calls.append(call)
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer


@dataclass(slots=True)
class Listed(Target):
    """One that can tell what it holds."""

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        self._answer("keys")
        yield from ("a", "b")


@dataclass(slots=True)
class Noting(Target):
    """One that was given batch 7."""

    def last_batch(self, batch: StagedBatch) -> int | None:
        self._answer("last_batch")
        return 7


OLDER = Begun("p", "q", 6)


def batch(**parts: Any) -> StagedBatch:
    facts: dict[str, Any] = {
        "product": "p",
        "query": "p",
        "query_id": "q",
        "batch_id": 0,
        "files": (Path(),),
    }
    return StagedBatch(**facts, key=SHAPE, value=SHAPE, **parts)


def test_a_batch_is_written_once_where_nothing_fails() -> None:
    target = Target([])
    sink = PatientSink(target, "p", patience=QUICK)
    sink.open()

    assert Written(older=1) == sink.write(batch())
    assert ["open", "write"] == target.calls


def test_a_failed_write_is_repeated_on_a_fresh_connection() -> None:
    target = Target([None, DOWN, None, None])
    sink = PatientSink(target, "p", patience=QUICK)
    sink.open()

    sink.write(batch())

    assert ["open", "write", "close", "open", "write"] == target.calls


def test_many_failures_open_the_breaker_and_the_batch_is_written_in_the_end() -> None:
    target = Target([DOWN] * 12)
    sink = PatientSink(target, "p", patience=QUICK)
    sink.open()

    sink.write(batch())

    assert ["open", "write"] == target.calls[-2:]


def test_what_is_waited_for_is_told_and_so_is_its_end() -> None:
    told: list[Waiting | None] = []
    sink = PatientSink(Target([None, DOWN]), "p", tell=told.append, patience=QUICK)
    sink.open()

    sink.write(batch())

    assert told[-1] is None
    assert told[0] is not None
    assert "could not reach the target. Connection refused." == told[0].reason
    assert ("p", "somewhere", 1) == (told[0].product, told[0].target, told[0].attempts)


def test_a_target_that_is_down_at_the_start_is_opened_with_the_first_batch() -> None:
    target = Target([DOWN, DOWN])
    sink = PatientSink(target, "p", patience=QUICK)

    sink.open()
    sink.write(batch())

    assert ["open", "close", "close", "open", "close", "open", "write"] == target.calls


def test_an_error_that_waiting_cannot_mend_is_raised_at_once() -> None:
    target = Target([None, SinkError("access denied")])
    sink = PatientSink(target, "p", patience=QUICK)
    sink.open()

    with pytest.raises(SinkError, match="access denied"):
        sink.write(batch())

    assert ["open", "write"] == target.calls


def test_a_thread_that_makes_one_attempt_waits_for_no_target_while_others_do() -> None:
    once = OneAttempt()
    target = Target([None, *[DOWN] * 9])
    sink = PatientSink(target, "p", ended=lambda: once.is_here, patience=QUICK)
    sink.open()

    with once.here(), pytest.raises(SinkUnavailableError, match="could not reach the target"):
        sink.write(batch())
    tried = [*target.calls]
    with once.here():
        other = threading.Thread(target=sink.write, args=(batch(),))
        other.start()
        other.join()

    assert ["open", "write"] == tried
    assert ["open", "write"] == target.calls[-2:]
    assert not once.is_here


def test_a_lost_lease_ends_the_wait_before_the_target_is_opened_again() -> None:
    def lost() -> None:
        if len(target.calls) > 2:
            raise FencedError("taken over")

    target = Target([None, DOWN, DOWN, DOWN])
    sink = PatientSink(target, "p", patience=QUICK)
    sink.open()

    with pytest.raises(FencedError):
        sink.write(batch(check=lost))

    assert ["open", "write", "close", "open"] == target.calls


def test_a_sink_is_examined_once_it_is_open_and_written_only_if_that_finds_nothing() -> None:
    target = Noting([DOWN, None, None, DOWN])
    begun = Begun("p", "q", 7)
    sink = PatientSink(target, "p", examine=lambda each: begun.check(each, batch()), patience=QUICK)
    sink.open()
    sink.write(batch())
    older = PatientSink(Noting([]), "p", examine=lambda each: OLDER.check(each, batch()))

    with pytest.raises(RestoredError) as refused:
        older.open()

    begins = ["open", "close", "close", "open", "last_batch", "write"]
    assert [*begins, "close", "open", "write"] == target.calls
    assert "It ends with batch 6, and somewhere has batch 7." in refused.value.detail


def test_a_run_that_ends_ends_the_wait() -> None:
    ended = threading.Event()
    sink = PatientSink(
        Target([DOWN] * 1000),
        "p",
        ended=ended.is_set,
        tell=lambda waiting: ended.set(),
        patience=Patience(first_s=600.0, longest_s=600.0),
    )
    sink.open()

    with pytest.raises(SinkUnavailableError):
        sink.write(batch())


def test_a_target_that_is_down_is_waited_for_before_it_is_listed() -> None:
    target = Listed([DOWN, DOWN, None, DOWN, None, None])
    sink = PatientSink(target, "p", patience=QUICK)
    sink.open()
    listing = listing_of(sink)
    assert listing is not None

    listed = list(listing.keys(batch()))

    assert ["a", "b"] == listed
    again = ["close", "open"]
    assert ["open", "close", *again, *again, "keys", *again, "keys"] == target.calls


def test_a_target_that_cannot_list_is_not_listed() -> None:
    assert listing_of(PatientSink(Target([]), "p")) is None
