"""What a request to send documents again sends, and what it leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from joinery.delivery.control import Action, ControlLog
from joinery.delivery.repair import Outcome, RepairLog, RepairSwitch, Request, Wanted, serve
from joinery.model.type import LONG, Field, Struct
from joinery.place.remote_path import RemotePath
from joinery.place.s3 import S3Options
from joinery.project.kinds import SINKS
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import StagedBatch
from joinery.sinks.reader import Held, make_reader

NOW_US = 1_700_000_000_000_000
JUDGED_US = NOW_US - 3_600_000_000
OLD = JUDGED_US - 5_000_000
WEEK_US = 7 * 24 * 3_600_000_000
SHAPE = Struct((Field("id", LONG),))


def batch(number: int, file: Path) -> StagedBatch:
    return StagedBatch(
        product="item",
        query="item",
        query_id="q",
        batch_id=number,
        files=(file,),
        key=SHAPE,
        value=SHAPE,
    )


def wanted(key: str, value: str | None, held: str | None, version: int | None) -> Wanted:
    return Wanted(key, value, held, version, JUDGED_US)


class Target:
    """A sink's documents."""

    target = "a target"

    def __init__(self, held: Mapping[str, Held]) -> None:
        self._held = held

    def keys(self) -> Iterator[str]:
        yield from self._held

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        return {each: self._held[each] for each in keys if each in self._held}

    def close(self) -> None:
        pass


def served(
    *wanted: Wanted, held: Mapping[str, Held], remembered_us: int = WEEK_US
) -> tuple[Outcome, list[StagedRow]]:
    sent: list[StagedRow] = []

    def send(request: Request, rows: Sequence[StagedRow]) -> int:
        sent.extend(rows)
        return 0

    request = Request("1", "item", 0, wanted)
    target = Target(held)
    return serve(request, target, send, remembered_us=remembered_us, now_us=NOW_US), sent


def test_documents_are_sent_under_the_version_that_follows_the_wrong_one() -> None:
    outcome, sent = served(
        wanted("a", "right", "wrong", OLD),
        wanted("b", None, "extra", OLD),
        held={"a": Held("wrong", OLD), "b": Held("extra", OLD)},
    )

    assert [StagedRow("a", "right", OLD + 1), StagedRow("b", None, OLD + 1)] == sent
    assert Outcome(sent=2) == outcome


def test_a_missing_document_is_sent_below_all_that_batches_sent_since_its_verdict() -> None:
    _, [sent] = served(wanted("a", "right", None, None), held={})

    assert JUDGED_US - 1000 == sent.version


def test_a_verdict_of_a_clock_that_is_ahead_is_sent_below_all_that_a_later_batch_gives() -> None:
    _, [sent] = served(Wanted("a", "right", None, None, NOW_US + 5_000_000), held={})

    assert NOW_US - 1000 == sent.version


def test_a_version_is_below_the_millisecond_of_its_verdict() -> None:
    _, [sent] = served(Wanted("a", "right", None, None, JUDGED_US + 999), held={})

    assert JUDGED_US - 1000 == sent.version


@pytest.mark.parametrize("sink", ["sqlite", "files"])
def test_a_document_that_was_deleted_since_its_verdict_stays_deleted(
    sink: str, tmp_path: Path
) -> None:
    told = tmp_path / "lines.jsonl"
    _, [sent] = served(wanted('{"id":1}', '{"id":1}', None, None), held={})
    options = {"path": str(tmp_path / "out")}
    made = SINKS.make(sink, options, "item", tmp_path)
    made.open()
    for number, row in enumerate([StagedRow('{"id":1}', None, NOW_US - 60_000_000), sent]):
        told.write_text(row.line(), encoding="utf-8")
        made.write(batch(number, told))
    made.close()

    reader = make_reader(sink, options, product="item", folder=tmp_path, key=SHAPE, value=SHAPE)

    assert ([], {}) == ([*reader.keys()], reader.read(['{"id":1}']))
    reader.close()


def test_what_has_a_version_from_after_its_verdict_is_left() -> None:
    held = {"a": Held("wrong", JUDGED_US)}
    outcome, sent = served(wanted("a", "right", "wrong", JUDGED_US), held=held)

    assert (Outcome(stale=1), []) == (outcome, sent)


def test_a_verdict_from_before_the_deletes_that_sinks_remember_is_left() -> None:
    outcome, sent = served(
        wanted("a", "right", None, None), held={}, remembered_us=NOW_US - JUDGED_US - 1
    )

    assert (Outcome(stale=1), []) == (outcome, sent)


def test_what_a_batch_has_sent_meanwhile_stays() -> None:
    outcome, sent = served(
        wanted("a", "right", "wrong", OLD),
        wanted("b", "right", "wrong", OLD),
        wanted("c", "right", None, None),
        held={"a": Held("newer", OLD + 5), "c": Held("newer", OLD + 5)},
    )

    assert (Outcome(moved=3), []) == (outcome, sent)


def test_a_version_of_a_time_to_come_is_left() -> None:
    ahead = NOW_US * 2
    outcome, sent = served(wanted("a", "right", "wrong", ahead), held={"a": Held("wrong", ahead)})

    assert (Outcome(ahead=1), []) == (outcome, sent)


def test_a_request_is_pending_until_it_is_answered_and_kept_for_ever(tmp_path: Path) -> None:
    log = RepairLog(tmp_path / "item.repair")
    id = log.ask("item", 0, [wanted("a", "right", "wrong", 7)], Action.now("repair"))
    [pending] = log.pending()

    log.answer(id, Outcome(sent=1))

    assert (id, "item", (wanted("a", "right", "wrong", 7),)) == (
        pending.id,
        pending.product,
        pending.wanted,
    )
    assert ([], Outcome(sent=1)) == (log.pending(), log.outcome(id))
    assert 2 == len([*(tmp_path / "item.repair").iterdir()])


def test_of_a_request_that_keeps_no_time_of_its_verdict_all_is_left(tmp_path: Path) -> None:
    log = RepairLog(tmp_path)
    id = log.ask("item", 0, [wanted("a", "right", None, None)], Action.now("repair"))
    file = tmp_path / f"{id}.json"
    request = json.loads(file.read_text())
    del request["documents"][0]["judged_us"]
    file.write_text(json.dumps(request))

    [pending] = log.pending()

    assert (Outcome(stale=1), []) == served(*pending.wanted, held={}, remembered_us=2 * NOW_US)


def test_a_run_looks_for_requests_twice_a_second(tmp_path: Path) -> None:
    log, now = RepairLog(tmp_path), [0.0]
    switch = RepairSwitch(log, lambda: now[0])
    log.ask("item", 0, [], Action.now("repair"))
    seen = [len(switch.pending()), len(switch.pending())]
    now[0] = 0.6

    assert [1, 0, 1] == [*seen, len(switch.pending())]


def test_in_an_object_store_a_run_looks_less_often() -> None:
    place = RemotePath.of("s3a://bucket/q.repair", S3Options())

    assert 5.0 == RepairLog(place).look_every_s == ControlLog(place).look_every_s
