"""How far a run is said to have come in a source: never further than it has."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from joinery.capture.spool import SpoolFolder
from joinery.errors import SinkUnavailableError
from joinery.model.frontier import SourceFrontier, Sure
from joinery.observe.frontier import Frontier, Position
from joinery.project.kind import SourceSpec
from joinery.spark.batch.frontiers import FollowedSource, Frontiers, SpoolPlaces, Told
from joinery.spark.source.source import SourceRead

CLOCK = count(step=60.0)
READ = SourceRead(SourceSpec("log", "kafka"), {"a": ("one", "two"), "b": ("three",)})


class Given:
    """Places that a test gives, in turn; one that is an error is raised."""

    every_s = 0.0
    sure: Sure = "sound"

    def __init__(self, *places: Told | Exception | None) -> None:
        self._places = iter(places)

    def newest(self) -> Told | None:
        found = next(self._places, None)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        pass


class Slow(Given):
    """Brokers that take a moment, and tell nothing."""

    asked = 0

    def newest(self) -> Told | None:
        self.asked += 1
        threading.Event().wait(0.05)
        return None


def at(**offsets: int) -> Frontier:
    """Return that of a query that reads partition 0 of topics next at some offsets."""
    return Frontier({"log": {topic: {"0": offset} for topic, offset in offsets.items()}}, {})


def told(place: str, **last: int) -> Told:
    return Told(place, 5.0, [Position("log", topic, "0", offset) for topic, offset in last.items()])


def look(source: FollowedSource, frontier: Frontier) -> SourceFrontier:
    source.ask(next(CLOCK))
    return source.look(frontier)


def test_a_place_is_reached_once_all_topics_are_read_up_to_their_ends() -> None:
    source = FollowedSource(READ, Given(told("0/8", a=4, b=1)))

    found = [look(source, each) for each in (at(a=4, b=1), at(a=5, b=1), at(a=5, b=2))]

    assert [("read", ""), ("read", ""), ("sound", "0/8")] == [
        (each.sure, each.place) for each in found
    ]
    assert [None, None, 5.0] == [each.committed_at for each in found]


def test_a_place_stays_until_the_next_one_is_reached() -> None:
    source = FollowedSource(READ, Given(told("0/8", a=1), None, told("0/9", a=2)))

    found = [look(source, at(a=2)).place for _ in range(4)]
    found.append(look(source, at(a=3)).place)

    assert ["0/8", "0/8", "0/8", "0/8", "0/9"] == found


def test_what_was_read_is_told_by_relation_and_of_many_partitions_in_part() -> None:
    offsets = {str(number): 3 for number in range(20)}
    frontier = Frontier({"log": {"a": offsets, "b": {"0": 0, "1": 9}}}, {})

    found = FollowedSource(READ, None).look(frontier)

    assert {"one", "two", "three"} == set(found.read)
    assert ("b/1/8",) == found.read["three"]
    assert [f"a/{number}/2" for number in range(16)] == [*found.read["one"]]
    assert {"one": 4, "two": 4} == found.more
    assert ["three"] == [*found.of(["three"]).read]


def test_brokers_that_are_away_leave_what_is_known() -> None:
    away = SinkUnavailableError("nobody is there")
    source = FollowedSource(READ, Given(told("0/8", a=1), away, told("0/9", a=1)))

    found = [look(source, at(a=2)).place for _ in range(3)]

    assert ["0/8", "0/8", "0/9"] == found


def test_what_takes_long_to_ask_is_asked_less_often() -> None:
    source = FollowedSource(READ, slow := Slow())

    for now in (0.0, 0.1, 0.9, 60.0, 60.1, 120.0):
        source.ask(now)

    assert 3 == slow.asked


@pytest.fixture
def spool(tmp_path: Path) -> SpoolFolder:
    found = SpoolFolder(tmp_path / "spool")
    (found.path / "files" / "public.a").mkdir(parents=True)
    return found


def stand(spool: SpoolFolder, **told: Any) -> None:
    position = {"format": 1, "written_at_ms": 1, "file": 1, "offset": {"ts_usec": 2_500_000}}
    (spool.path / "position.json").write_text(json.dumps({**position, **told}))


def test_a_spool_tells_its_place_with_all_its_files(spool: SpoolFolder) -> None:
    places = SpoolPlaces("db", spool, ["public.a"])
    found = [places.newest()]
    (spool.path / "files" / "public.a" / "1.jsonl").write_text("{}")
    for lsn in (0x10, 0x10, 0x11):
        stand(spool, lsn=lsn)
        found.append(places.newest())

    file = [Position("db", "public.a", "1.jsonl", None)]
    assert [None, Told("0/10", 2.5, file), None, Told("0/11", 2.5, file)] == found


def commit(checkpoint: Path, batch: int, offset: int) -> None:
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    sources = json.dumps([{"name": "log", "kind": "kafka"}])
    (checkpoint / "joinery.sources.json").write_text(sources)
    line = json.dumps({"a": {"0": offset}})
    (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{line}")
    (checkpoint / "commits" / str(batch)).write_text("v1\n{}")


class Hanging(Given):
    """Brokers that do not answer before `answer` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.answer, self.closed = (threading.Event() for _ in range(3))

    def newest(self) -> Told | None:
        self.asked.set()
        self.answer.wait(60)
        return None

    def close(self) -> None:
        self.closed.set()


def test_the_last_batch_of_a_run_is_told_as_it_ends(tmp_path: Path) -> None:
    found: list[Mapping[str, tuple[SourceFrontier, ...]]] = []
    source, hanging = FollowedSource(READ, Given(told("0/8", a=6))), Hanging()
    followed = {"q": [source], "other": [FollowedSource(READ, hanging)]}
    frontiers = Frontiers({"q": tmp_path, "other": tmp_path / "other"}, followed, found.append)
    frontiers.open()
    assert hanging.asked.wait(60)
    commit(tmp_path, 0, 7)

    frontiers.close()

    last = found[-1]["q"][0]
    assert not hanging.closed.is_set(), "brokers that do not answer are not waited for"
    assert {"one": ("a/0/6",), "two": ("a/0/6",)} == last.read
    assert ("sound", "0/8") == (last.sure, last.place)
    hanging.answer.set()
    assert hanging.closed.wait(60)


def test_a_run_goes_on_where_a_place_cannot_be_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places, hanging = Given(*[RuntimeError("a defect")] * 2), Hanging()
    found: list[Mapping[str, tuple[SourceFrontier, ...]]] = []
    followed = {"q": [FollowedSource(READ, each) for each in (places, places, hanging)]}
    frontiers = Frontiers({"q": tmp_path}, followed, found.append)

    frontiers.open()
    assert hanging.asked.wait(60)
    hanging.answer.set()
    frontiers.close()

    assert ["read"] * 3 == [each.sure for each in found[-1]["q"]]
    assert ["how far a query has come is not known"] == caplog.messages
