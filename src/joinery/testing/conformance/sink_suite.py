"""The cases of the sink suite.

Versions are counted from a fixed time; each case has a product, so a target, of its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from decimal import Decimal
from typing import Any

from joinery.delivery.outlet import PatientSink
from joinery.retry import Patience
from joinery.sinks.key import canonical_key
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import FencedError, Promise, StagedBatch, Written, listing_of, notes_of
from joinery.testing.conformance.sink import (
    BrokenError,
    SinkBench,
    SinkCase,
    SinkOutcome,
    SinkTarget,
    at_version,
    deleted,
    document,
)
from joinery.testing.conformance.suite import ConformanceError

_HOSTILE = 'naïve 😀 "quoted" \'single\' back\\slash tab\there line\nbreak \\N \\. },"value": ,'
_MANY = 12_000
_PATIENCE = Patience(first_s=0.05, longest_s=0.5, rest_s=0.5)
_OUTAGE_S = 180.0


def _as_sent(bench: SinkBench) -> None:
    sent = (
        document(1, _HOSTILE, version=1, amount=Decimal("12345678901234567.80")),
        document(2**53 + 1, version=2, tags=[{"name": "é", "weight": 0.1}, None]),
        document(-3, "", version=3, done=None, opened_at=None, tags=None),
    )

    written = bench.write(*sent)

    _refused_nothing(written)
    bench.expect(*sent)


def _listed(bench: SinkBench) -> None:
    quoted = {"owner": '"quoted", ann', "number": 2**53 + 1}
    hostile = StagedRow(json.dumps(quoted), document(1, version=1).value, at_version(1))
    bench.write(document(1, version=1), document(2, version=1), hostile)
    bench.write(deleted(2, version=2), batch_id=1)

    with bench.opened() as sink:
        if (listing := listing_of(sink)) is None:
            return
        told = {canonical_key(key) for key in listing.keys(bench.stage(batch_id=2))}

    expected = {canonical_key(each.key) for each in (document(1, version=1), hostile)}
    if told != expected:
        raise BrokenError(f"the sink lists the keys {sorted(told)}, expected {sorted(expected)}")


def _told_last_batch(bench: SinkBench) -> None:
    with bench.opened() as sink:
        if (notes := notes_of(sink)) is None:
            return
        if (told := notes.last_batch(bench.stage())) is not None:
            raise BrokenError(f"the sink names batch {told} for a checkpoint that wrote nothing")
    for batch_id in (8, 9, 9):
        bench.write(document(1, version=batch_id), deleted(2, version=batch_id), batch_id=batch_id)

    with bench.opened() as sink:
        notes = notes_of(sink)
        assert notes is not None  # as before
        told = notes.last_batch(bench.stage(batch_id=3))
        other = notes.last_batch(replace(bench.stage(batch_id=3), query_id="another"))
        keeps_none = told is None and Promise.FENCE in sink.guarantee.gaps

    if keeps_none:
        return
    if (told, other) != (9, None):
        raise BrokenError(f"the sink names batch {told}, expected 9; for another, {other}")


def _newer_replaces(bench: SinkBench) -> None:
    bench.write(document(1, "first", version=1), document(2, "other", version=1))

    bench.write(document(1, "second", version=2), batch_id=1)

    bench.expect(document(1, "second", version=2), document(2, "other", version=1))


def _empty_batch(bench: SinkBench) -> None:
    bench.write(document(1, version=1))

    bench.write(batch_id=1)

    bench.expect(document(1, version=1))


def _large_batch(bench: SinkBench) -> None:
    bench.write(*(document(each, version=each) for each in range(_MANY)))

    bench.write(*(deleted(each, version=_MANY + each) for each in range(0, _MANY, 2)), batch_id=1)

    bench.expect(*(document(each, version=each) for each in range(1, _MANY, 2)))


def _replay(bench: SinkBench) -> None:
    bench.write(document(3, "gone", version=1))
    rows = (document(1, version=2), document(2, version=2), deleted(3, version=2))
    with bench.opened() as sink:
        sink.write(bench.stage(*rows, batch_id=1))

        again = sink.write(bench.stage(*rows, batch_id=1))

    _refused_nothing(again)
    bench.expect(*rows[:2])


def _replay_by_a_later_run(bench: SinkBench) -> None:
    rows = (document(1, version=2), deleted(2, version=2))
    bench.write(*rows, epoch=1)

    bench.write(*rows, epoch=2)

    bench.expect(rows[0])


def _reopened(bench: SinkBench) -> None:
    sink = bench.target.make(bench.product)
    sink.open()
    sink.write(bench.stage(document(1, version=1)))
    sink.close()
    sink.close()
    sink.open()

    sink.write(bench.stage(document(2, version=1), batch_id=1))

    sink.close()
    bench.expect(document(1, version=1), document(2, version=1))


def _other_order(bench: SinkBench) -> None:
    bench.write(document(2, "old", version=1), document(1, "old", version=1))
    rows = [document(1, "new", version=5), deleted(2, version=6), document(3, "new", version=4)]

    bench.write(*reversed(rows), batch_id=1)

    bench.expect(rows[0], rows[2])


def _older_document(bench: SinkBench) -> None:
    bench.write(document(1, "new", version=9))

    bench.write(document(1, "old", version=8), batch_id=1)

    bench.expect(document(1, "new", version=9))


def _older_tombstone(bench: SinkBench) -> None:
    bench.write(document(1, "new", version=9))

    bench.write(deleted(1, version=8), batch_id=1)

    bench.expect(document(1, "new", version=9))


def _tombstone(bench: SinkBench) -> None:
    bench.write(document(1, version=1), document(2, version=1))

    bench.write(deleted(1, version=2), deleted(7, version=2), batch_id=1)

    bench.expect(document(2, version=1))


def _older_than_its_tombstone(bench: SinkBench) -> None:
    bench.write(document(1, version=1))
    bench.write(deleted(1, version=7), batch_id=1)

    bench.write(document(1, "late", version=6), document(2, version=6), batch_id=2)

    bench.expect(document(2, version=6))


def _above_its_tombstone(bench: SinkBench) -> None:
    bench.write(document(1, "first", version=1))
    bench.write(deleted(1, version=7), batch_id=1)

    bench.write(document(1, "again", version=8), batch_id=2)

    bench.expect(document(1, "again", version=8))


def _forgets_old_deletes_only(bench: SinkBench) -> None:
    bench.write(deleted(1, version=5), deleted(2, version=500))

    bench.write(document(3, version=501), batch_id=1, forget_before=at_version(100))
    bench.write(document(2, "late", version=400), batch_id=2, forget_before=at_version(100))

    bench.expect(document(3, version=501))


def _zombie_that_knows(bench: SinkBench) -> None:
    bench.write(document(1, "kept", version=1))

    _fenced(bench, document(1, "zombie", version=2), document(2, version=2), check=_raises_at(1))

    bench.expect(document(1, "kept", version=1))


def _zombie_that_does_not_know(bench: SinkBench) -> None:
    with bench.opened() as first:
        first.write(bench.stage(document(1, "first run", version=1), epoch=1))
        with bench.opened() as second:
            second.write(bench.stage(document(1, "second run", version=2), batch_id=1, epoch=2))

            try:
                first.write(bench.stage(document(1, "zombie", version=3), batch_id=1, epoch=1))
            except FencedError:
                pass
            else:
                raise BrokenError("the run that was replaced was not refused")

            bench.expect(document(1, "second run", version=2))
            second.write(bench.stage(document(2, "second run", version=4), batch_id=2, epoch=2))
    bench.expect(document(1, "second run", version=2), document(2, "second run", version=4))


def _interrupted(bench: SinkBench) -> None:
    rows = [document(each, version=1) for each in range(_MANY)]
    for at in (2, 3):
        _fenced(bench, *rows, check=_raises_at(at), tolerant=True)

    bench.write(*rows, epoch=2)

    bench.expect(*rows)


def _whole_or_nothing(bench: SinkBench) -> None:
    rows = [document(each, version=1) for each in range(_MANY)]
    for at in range(1, 4 * _MANY):
        if not _fenced(bench, *rows, check=_raises_at(at), tolerant=True):
            break
        if found := len(bench.held()):
            raise BrokenError(f"{found} documents of a batch that was not finished can be seen")
    bench.expect(*rows)


def _oversized(bench: SinkBench) -> None:
    large = document(2, "x" * (20 << 20), version=2)
    bench.write(document(2, "small", version=1))

    written = bench.write(document(1, version=2), large, document(3, version=2), batch_id=1)

    refused = [each.row.key for each in written.refused]
    kept = document(2, "small", version=1) if refused == [large.key] else large
    if refused not in ([], [large.key]):
        raise BrokenError(f"it refused {refused}")
    bench.expect(document(1, version=2), kept, document(3, version=2))


def _refused_alone(bench: SinkBench) -> None:
    assert bench.target.refused is not None  # what the case needs
    refused = bench.target.refused(2, at_version(2))
    bench.write(document(2, "last good", version=1))

    written = bench.write(document(1, version=2), refused, document(3, version=2), batch_id=1)

    if [each.row.key for each in written.refused] != [refused.key]:
        raise BrokenError(f"it refused {[each.row.key for each in written.refused]}")
    if not all(each.reason and each.detail for each in written.refused):
        raise BrokenError("a refusal lacks its reason")
    bench.expect(
        document(1, version=2), document(2, "last good", version=1), document(3, version=2)
    )


def _outage_between_batches(bench: SinkBench) -> None:
    waiting = threading.Event()
    sink = PatientSink(
        bench.target.make(bench.product),
        bench.product,
        tell=lambda told: waiting.set() if told else None,
        patience=_PATIENCE,
    )
    sink.open()
    sink.write(bench.stage(document(1, version=1)))
    _during_outage(bench, sink, bench.stage(document(2, version=2), batch_id=1), waiting)
    bench.expect(document(1, version=1), document(2, version=2))


def _outage_at_the_start(bench: SinkBench) -> None:
    waiting = threading.Event()
    sink = PatientSink(
        bench.target.make(bench.product),
        bench.product,
        tell=lambda told: waiting.set() if told else None,
        patience=_PATIENCE,
    )
    _during_outage(bench, sink, bench.stage(document(1, version=1)), waiting, fresh=True)
    bench.expect(document(1, version=1))


def _ends_in_an_outage(bench: SinkBench) -> None:
    ended, waiting = threading.Event(), threading.Event()
    sink = PatientSink(
        bench.target.make(bench.product),
        bench.product,
        ended=ended.is_set,
        tell=lambda told: waiting.set() if told else None,
        patience=_PATIENCE,
    )
    sink.open()
    writer = _Writer(sink, bench.stage(document(1, version=1)))
    with _outage(bench):
        writer.start()
        if not waiting.wait(_OUTAGE_S):
            raise BrokenError("it did not tell that it waits")
        ended.set()
        writer.join(_OUTAGE_S)
        if writer.is_alive():
            raise BrokenError("it went on waiting when the run was to end")
    sink.close()
    if writer.written is not None:
        raise BrokenError("it says that it has written to a target that is down")


class _Writer(threading.Thread):
    """Writes one batch beside the case."""

    def __init__(self, sink: PatientSink, batch: StagedBatch) -> None:
        super().__init__(daemon=True)
        self._sink, self._batch = sink, batch
        self.written: Written | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self.written = self._sink.write(self._batch)
        except Exception as error:
            self.error = error


def _during_outage(
    bench: SinkBench,
    sink: PatientSink,
    batch: StagedBatch,
    waiting: threading.Event,
    *,
    fresh: bool = False,
) -> None:
    """Write `batch` while the target is down, then let it up, and close the sink."""
    writer = _Writer(sink, batch)
    with _outage(bench):
        if fresh:
            sink.open()
        writer.start()
        if not waiting.wait(_OUTAGE_S):
            raise BrokenError(f"it did not wait: {writer.error or writer.written}")
        if not writer.is_alive():
            raise BrokenError(f"it gave up: {writer.error}")
    writer.join(_OUTAGE_S)
    if writer.is_alive():
        raise BrokenError("it still waits though the target is back")
    sink.close()
    if writer.error is not None:
        raise writer.error


def _outage(bench: SinkBench) -> AbstractContextManager[object]:
    assert bench.target.outage is not None  # what the case needs
    return bench.target.outage()


def _fenced(bench: SinkBench, *rows: StagedRow, tolerant: bool = False, **parts: Any) -> bool:
    """Write `rows`; return whether the write was fenced, which it must be unless `tolerant`."""
    try:
        bench.write(*rows, **parts)
    except FencedError:
        return True
    if not tolerant:
        raise BrokenError("it never checked the lease")
    return False


def _raises_at(call: int) -> Callable[[], None]:
    """Return a check that finds the lease lost at its nth call and ever after."""
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise FencedError("another run has taken over")

    return check


def _refused_nothing(written: Written) -> None:
    if written.refused:
        raise BrokenError(f"it refused {written.refused[0].row.key}: {written.refused[0].detail}")


CASES = (
    SinkCase("a document is held under its key, as it was sent", _as_sent),
    SinkCase("a newer version replaces an older one", _newer_replaces, Promise.NEWEST),
    SinkCase("a batch without documents changes nothing", _empty_batch),
    SinkCase("a batch of thousands is held, and half of it deleted", _large_batch),
    SinkCase("a batch written twice leaves what one writing leaves", _replay, Promise.REPLAY),
    SinkCase(
        "a batch written again by a later run leaves what one writing leaves",
        _replay_by_a_later_run,
        Promise.REPLAY,
    ),
    SinkCase("a sink that was closed can be opened again", _reopened),
    SinkCase("the order of keys within a batch is of no effect", _other_order),
    SinkCase("an older document never replaces a newer one", _older_document, Promise.NEWEST),
    SinkCase("an older delete never removes a newer one", _older_tombstone, Promise.NEWEST),
    SinkCase("a delete removes its document and no other", _tombstone),
    SinkCase(
        "a document older than its delete does not come back",
        _older_than_its_tombstone,
        Promise.DELETES,
    ),
    SinkCase("a document newer than its delete comes back", _above_its_tombstone),
    SinkCase(
        "a delete within its retention is not forgotten",
        _forgets_old_deletes_only,
        Promise.DELETES,
    ),
    SinkCase("a run that has lost its lease makes nothing visible", _zombie_that_knows),
    SinkCase(
        "a run that was replaced, and does not know it, is refused",
        _zombie_that_does_not_know,
        Promise.FENCE,
    ),
    SinkCase("a sink that can list its documents tells each key that stands", _listed),
    SinkCase("a sink that notes batches tells the last of a checkpoint", _told_last_batch),
    SinkCase("a batch interrupted on its way is whole when it ran again", _interrupted),
    SinkCase("a batch is seen whole or not at all", _whole_or_nothing, Promise.ATOMIC),
    SinkCase("a document of twenty megabytes is taken, or refused alone", _oversized),
    SinkCase(
        "a document that the target refuses leaves the others", _refused_alone, needs="refused"
    ),
    SinkCase(
        "an outage between two batches is waited out", _outage_between_batches, needs="outage"
    ),
    SinkCase(
        "a target that is down at the start is waited for", _outage_at_the_start, needs="outage"
    ),
    SinkCase("a run that is to end does not wait on", _ends_in_an_outage, needs="outage"),
)


def examine_sink(
    target: SinkTarget, cases: Iterable[SinkCase] | None = None
) -> tuple[SinkOutcome, ...]:
    """Run the cases on a sink and return what became of each."""
    return tuple(each.run(target) for each in (sink_cases() if cases is None else cases))


def check_sink(target: SinkTarget, cases: Iterable[SinkCase] | None = None) -> None:
    """Run the cases on a sink and raise if one of them does not hold.

    Raises:
        ConformanceError: With every case that does not hold, and why.
    """
    failed = [each for each in examine_sink(target, cases) if each.problem]
    if failed:
        told = "\n".join(f"{each.sentence}: {each.problem}" for each in failed)
        raise ConformanceError(f"{len(failed)} cases do not hold", detail=told)


def sink_cases() -> tuple[SinkCase, ...]:
    """Return all cases of the sink suite."""
    return CASES
