"""What real-time mode sent after its last commit is sent again, whatever was done meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from joinery.spark.real_time import uncommitted
from joinery.spark.real_time.rules import KafkaTopic
from joinery.spark.real_time.uncommitted import RealTimeMark, last_commit

TOPICS = {"profile": (KafkaTopic("profiles", "here:9092"),)}
Sent = list[tuple[float, dict[str, Any]]]


def test_a_checkpoint_without_commits_has_none(tmp_path: Path) -> None:
    assert (-1, 0.0) == last_commit(tmp_path)


def test_the_newest_commit_is_the_one_of_the_highest_number(tmp_path: Path) -> None:
    for name in ("9", "10", ".10.crc", "10.tmp"):
        (tmp_path / "commits").mkdir(exist_ok=True)
        (tmp_path / "commits" / name).touch()
    os.utime(tmp_path / "commits" / "10", (1000, 2000))

    assert (10, 2000.0) == last_commit(tmp_path)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What a topic was given, with when; a list to be filled."""
    records: Sent = []

    def newest(spark: object, topics: object, since: float) -> Iterator[dict[str, Any]]:
        yield from (root for at, root in records if at >= since)

    monkeypatch.setattr(uncommitted, "_newest", newest)
    return records


def commit(checkpoint: Path, number: int, at: float) -> None:
    (checkpoint / "commits").mkdir(exist_ok=True)
    (checkpoint / "commits" / str(number)).touch()
    os.utime(checkpoint / "commits" / str(number), (at, at))


def root(key: str, version: int = 5) -> dict[str, Any]:
    return {"product": "profile", "key": key, "version": version}


def pending(mark: RealTimeMark) -> tuple[int, list[dict[str, Any]]] | None:
    """Return the batch that tells roots, and what it tells."""
    found = mark.pending(cast("Any", None), TOPICS)
    if found is None:
        return None
    lines = found.roots.read_text(encoding="utf-8").splitlines()
    return found.batch, [json.loads(each) for each in lines]


def test_what_was_sent_since_the_last_commit_of_real_time_is_sent_again(
    tmp_path: Path, sent: Sent
) -> None:
    mark = RealTimeMark(tmp_path)
    commit(tmp_path, 0, at=1_000)
    mark.begin()
    commit(tmp_path, 1, at=10_000)
    mark.follow()
    sent += [(9_000, root('{"id":1}')), (10_400, root('{"id":2}'))]

    found = pending(RealTimeMark(tmp_path))

    assert (2, [root('{"id":2}')]) == found


def test_a_mark_that_no_commit_was_noted_in_is_about_what_came_after_the_last_one(
    tmp_path: Path, sent: Sent
) -> None:
    """As an earlier version left it: the topics hold all that real time has sent."""
    (tmp_path / "real_time.json").write_text('{"since": 1000.0}', encoding="utf-8")
    commit(tmp_path, 7, at=10_000)
    sent += [(9_000, root('{"id":1}')), (10_400, root('{"id":2}'))]

    found = pending(RealTimeMark(tmp_path))

    assert (8, [root('{"id":2}')]) == found
    assert found == pending(RealTimeMark(tmp_path))
    RealTimeMark(tmp_path).renumber()
    commit(tmp_path, 8, at=20_000)
    assert (9, [root('{"id":2}')]) == pending(RealTimeMark(tmp_path))


def test_a_batch_that_is_added_to_the_checkpoint_later_hides_nothing(
    tmp_path: Path, sent: Sent
) -> None:
    """So does `joinery rescale`; a copy of a checkpoint may have new times, too."""
    mark = RealTimeMark(tmp_path)
    mark.begin()
    commit(tmp_path, 0, at=10_000)
    mark.follow()
    sent.append((10_400, root('{"id":2}')))
    RealTimeMark(tmp_path).renumber()
    commit(tmp_path, 1, at=20_000)

    found = pending(RealTimeMark(tmp_path))

    assert (2, [root('{"id":2}')]) == found


def test_roots_that_were_found_and_not_sent_yet_wait_behind_a_batch_that_is_added(
    tmp_path: Path, sent: Sent
) -> None:
    mark = RealTimeMark(tmp_path)
    mark.begin()
    commit(tmp_path, 0, at=10_000)
    mark.follow()
    sent.append((10_400, root('{"id":2}')))
    assert pending(RealTimeMark(tmp_path))
    RealTimeMark(tmp_path).renumber()
    commit(tmp_path, 1, at=20_000)

    found = pending(RealTimeMark(tmp_path))

    assert (2, [root('{"id":2}')]) == found


def test_roots_are_told_until_their_batch_is_committed(tmp_path: Path, sent: Sent) -> None:
    mark = RealTimeMark(tmp_path)
    commit(tmp_path, 0, at=10_000)
    mark.begin()
    sent.append((4e9, root('{"id":2}')))

    assert pending(RealTimeMark(tmp_path)) == pending(RealTimeMark(tmp_path)) is not None
    commit(tmp_path, 1, at=20_000)
    RealTimeMark(tmp_path).renumber()

    assert pending(RealTimeMark(tmp_path)) is None
    assert pending(RealTimeMark(tmp_path)) is None


def test_once_nothing_is_found_the_topics_are_not_read_any_more(tmp_path: Path, sent: Sent) -> None:
    """What batches send from then on is committed; nobody has to understand it."""
    RealTimeMark(tmp_path).begin()
    assert pending(RealTimeMark(tmp_path)) is None
    sent.append((4e9, root("of batches")))

    assert pending(RealTimeMark(tmp_path)) is None


def note(checkpoint: Path, interval: int, text: str) -> None:
    (checkpoint / f"real_time.sent.{interval}").write_text(text, encoding="utf-8")


def test_what_the_driver_sent_in_an_interval_without_a_commit_is_sent_again(
    tmp_path: Path, sent: Sent
) -> None:
    """Each root once at its highest version; of a line that is broken off nothing was sent."""
    mark = RealTimeMark(tmp_path)
    commit(tmp_path, 4, at=1_000)
    mark.begin()
    lines = [json.dumps(root('{"id":2}', version)) for version in (7, 8)]
    note(tmp_path, 4, json.dumps(root('{"id":1}')) + "\n")
    note(tmp_path, 5, "\n".join([*lines, '{"product": "pro']))

    found = pending(RealTimeMark(tmp_path))

    assert (5, [root('{"id":2}', 8)]) == found
    assert found == pending(RealTimeMark(tmp_path))
    commit(tmp_path, 5, at=2_000)
    assert pending(RealTimeMark(tmp_path)) is None
    assert not [*tmp_path.glob("real_time*")]


def test_what_the_driver_sent_waits_behind_a_batch_that_is_added(
    tmp_path: Path, sent: Sent
) -> None:
    mark = RealTimeMark(tmp_path)
    commit(tmp_path, 4, at=1_000)
    mark.begin()
    note(tmp_path, 5, json.dumps(root('{"id":2}')))
    RealTimeMark(tmp_path).renumber()
    commit(tmp_path, 5, at=2_000)

    assert (6, [root('{"id":2}')]) == pending(RealTimeMark(tmp_path))
