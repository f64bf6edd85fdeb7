"""The task slots of a run in real time: counted once for each query, before one starts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.watermarks import QueryTimes
from joinery.spark.real_time import run
from joinery.spark.real_time.rules import RealTimeRefusedError
from joinery.spark.real_time.run import RealTimeRun
from joinery.spark.source.kafka_client import KafkaUnreachableError
from joinery.spark.source.source import sources_of

PROJECT = """\
name: people
sources: {changes: {kafka: {bootstrap: 'here:9092'}}}
relations: {user: {key: [id], fields: {id: long, name: string}, format: json}}
products:
  profile: {root: user, sink: {kafka: {topic: profiles}}}
  names: {root: user, sink: {kafka: {topic: names}}}
run: {dead_letters: {kafka: {topic: dead}}}
"""
SPARK: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda name: "2"))
KERNEL: Any = SimpleNamespace(
    program=SimpleNamespace(levels=2),
    real_time=lambda: SimpleNamespace(counts=dict, close=lambda: None),
)
QUERY_SLOTS = 3 + 2 * 2


@dataclass
class Brokers:
    """Kafka as a session with some task slots sees it: a topic of three partitions."""

    slots: int = 2 * QUERY_SLOTS
    away: bool = False
    letters_away: bool = False

    def __call__(self, *asked: object) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        """Nothing is open."""

    def partitions(self, pattern: str) -> Sequence[tuple[str, tuple[int, ...]]]:
        if self.away:
            raise KafkaUnreachableError("nobody is there")
        return [("user", (0, 1, 2))]

    def open_letters(self, *asked: object) -> None:
        if self.letters_away:
            raise KafkaUnreachableError("nobody is there")


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    brokers = Brokers()
    monkeypatch.setattr(run, "KafkaClient", brokers)
    monkeypatch.setattr(run, "open_dead_letter_topic", brokers.open_letters)
    monkeypatch.setattr(run, "_slots_there", lambda spark: brokers.slots)
    return brokers


@pytest.fixture
def real_time(tmp_path: Path) -> RealTimeRun:
    """A run of two queries."""
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    spec = load_spec(tmp_path / "joinery.yaml")
    real_time = RealTimeRun(spec, ProgressBoard())
    for each in build_plan(spec).products:
        real_time.add(each.name, [each], sources_of(spec, [each]))
    return real_time


def reserve(real_time: RealTimeRun, folder: Path) -> None:
    queries = ("profile", "names")
    real_time.reserve(SPARK, dict.fromkeys(queries, 2), {each: folder / each for each in queries})


def start(real_time: RealTimeRun, name: str, folder: Path) -> object:
    return real_time.start(
        SPARK,
        name,
        KERNEL,
        checkpoint=folder / name,
        lease=cast("Any", None),
        times=QueryTimes((), checkpoint=folder / name),
        sent=lambda documents: None,
        sender=cast("Any", None),
        memory=cast("Any", None),
        catch_up=lambda: cast("Any", f"{name} started"),
    )


def test_slots_for_one_of_two_queries_are_too_few_though_the_other_rests(
    real_time: RealTimeRun, brokers: Brokers, tmp_path: Path
) -> None:
    brokers.slots = 2 * QUERY_SLOTS - 1

    with pytest.raises(RealTimeRefusedError, match="needs 14 task slots"):
        reserve(real_time, tmp_path)


def test_a_query_that_has_its_slots_is_not_refused_any_more(
    real_time: RealTimeRun, brokers: Brokers, tmp_path: Path
) -> None:
    reserve(real_time, tmp_path)
    brokers.slots = QUERY_SLOTS

    assert "profile started" == start(real_time, "profile", tmp_path)
    assert "names started" == start(real_time, "names", tmp_path)


def test_a_start_that_is_tried_again_is_counted_once(
    real_time: RealTimeRun, brokers: Brokers, tmp_path: Path
) -> None:
    brokers.away = True
    reserve(real_time, tmp_path)
    brokers.away, brokers.letters_away = False, True
    with pytest.raises(KafkaUnreachableError):
        start(real_time, "profile", tmp_path)
    brokers.letters_away = False

    assert "profile started" == start(real_time, "profile", tmp_path)
    assert "names started" == start(real_time, "names", tmp_path)


def committed(checkpoint: Path, partitions: int) -> None:
    offsets = json.dumps({"user": {str(each): 7 for each in range(partitions)}})
    settings = json.dumps({"batchTimestampMs": 1, "conf": {"spark.sql.shuffle.partitions": "2"}})
    for folder, text in (("offsets", f"v1\n{settings}\n{offsets}"), ("commits", "v1\n{}")):
        (checkpoint / folder).mkdir(parents=True)
        (checkpoint / folder / "0").write_text(text, encoding="utf-8")


def test_while_no_broker_answers_the_partitions_count_that_the_checkpoint_has_read(
    real_time: RealTimeRun, brokers: Brokers, tmp_path: Path
) -> None:
    for name in ("profile", "names"):
        committed(tmp_path / name, 3)
    brokers.away, brokers.slots = True, 2 * QUERY_SLOTS - 1

    with pytest.raises(RealTimeRefusedError, match="needs 14 task slots"):
        reserve(real_time, tmp_path)


def test_a_topic_that_grew_meanwhile_is_counted_when_its_query_starts(
    real_time: RealTimeRun, brokers: Brokers, tmp_path: Path
) -> None:
    for name in ("profile", "names"):
        committed(tmp_path / name, 2)
    brokers.away, brokers.slots = True, 2 * QUERY_SLOTS - 1
    reserve(real_time, tmp_path)
    brokers.away = False

    assert "profile started" == start(real_time, "profile", tmp_path)
    with pytest.raises(RealTimeRefusedError, match="needs 14 task slots"):
        start(real_time, "names", tmp_path)
