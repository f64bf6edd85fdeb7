"""A topic that was created again is found though its offsets go on, and nothing else is."""

from __future__ import annotations

from pathlib import Path

from joinery.spark.source.source import Positions
from joinery.spark.source.topic_ids import TopicIds

READ = {"orders": {"0": 7, "1": 0, "10": 3}, "users": {"0": 2}}


def replaced(
    folder: Path, found: dict[str, str], read: Positions = READ, *, goes_on: bool = False
) -> list[tuple[str, int, int]]:
    gaps = TopicIds(folder, lambda: None).compare("shop", found, read, goes_on=goes_on)
    assert all(each.found is None for each in gaps)
    return [(each.topic, each.partition, each.wanted) for each in gaps]


def test_a_topic_that_was_read_and_has_another_id_is_told_again_and_again(tmp_path: Path) -> None:
    first = replaced(tmp_path, {"orders": "a", "users": "b"})
    later = [replaced(tmp_path, {"orders": "c", "users": "b", "new": "d"}) for _ in range(2)]

    assert [] == first
    assert [[("orders", 0, 7), ("orders", 10, 3)]] * 2 == later


def test_a_source_that_goes_on_is_told_once(tmp_path: Path) -> None:
    replaced(tmp_path, {"orders": "a"})

    told = [len(replaced(tmp_path, {"orders": "b"}, goes_on=True)) for _ in range(2)]

    assert [2, 0] == told


def test_a_topic_of_which_nothing_was_read_may_be_created_again(tmp_path: Path) -> None:
    nothing: Positions = {"orders": {"0": 0}}

    assert [] == replaced(tmp_path, {"orders": "a"}, nothing)
    assert [] == replaced(tmp_path, {"orders": "b"}, nothing)
    assert [] == replaced(tmp_path, {"orders": "b"})


def test_sources_have_topics_of_their_own(tmp_path: Path) -> None:
    ids = TopicIds(tmp_path, lambda: None)
    ids.compare("shop", {"orders": "a"}, READ, goes_on=False)

    assert [] == ids.compare("old", {"orders": "b"}, READ, goes_on=False)
    assert 2 == len(ids.compare("shop", {"orders": "b"}, READ, goes_on=False))
