"""A topic that was created again is found though its offsets go on, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

from joinery.spark.source.source import Positions
from joinery.spark.source.topic_ids import FILE_NAME, TopicIds

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


def test_ids_are_read_once_and_written_where_they_change(tmp_path: Path) -> None:
    ids = TopicIds(tmp_path, lambda: None)
    ids.compare("shop", {"orders": "a"}, READ, goes_on=False)
    (tmp_path / FILE_NAME).unlink()

    same = ids.compare("shop", {"orders": "a"}, READ, goes_on=False)
    written = (tmp_path / FILE_NAME).exists()
    ids.compare("shop", {"orders": "a", "users": "b"}, READ, goes_on=False)

    assert [] == same
    assert not written
    assert {"shop": {"orders": "a", "users": "b"}} == json.loads((tmp_path / FILE_NAME).read_text())
