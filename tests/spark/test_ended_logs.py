"""What `--until-closed` ends: what waits then, nothing that comes later."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.session_run import going, until

import joinery as jn
from joinery.errors import JoineryError
from joinery.spark.kernel import Kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
FOLD = """\
name: bank
sources: {log: {files: {path: data}}}
relations:
  event:
    append: true
    fields: {account: long, number: long, type: string, amount: long, at: timestamp}
    time: at
products:
  p:
    fold: event
    by: [account]
    sequence: number
    state: {total: "long = 0"}
    when: {Added: {total: total + event.amount}}
    wait: 1h
    sink: {files: {path: out}}
"""
BY_CLOCK = FOLD.replace("    time: at\n", "")
PATTERN = """\
name: plant
sources: {log: {files: {path: data}}}
relations:
  event:
    append: true
    key: [id]
    fields: {id: long, machine: long, celsius: long, at: timestamp}
    time: at
products:
  p:
    pattern: event
    by: [machine]
    define: {H: celsius > 80, C: celsius < 75}
    match: MATCH
    within: 6s
    fields: {celsius: H.celsius}
    emit: {when: closed}
    sink: {files: {path: out}}
"""
INTERVAL = """\
name: calls
sources: {log: {files: {path: data}}}
relations:
  event: {key: [id], fields: {id: long, caller: long, at: timestamp}, time: at}
products:
  p:
    root: event
    fields: [id, at]
    embed: {after: {many: event, on: [caller], within: [1s, 1h], fields: [id]}}
    emit: {when: closed}
    sink: {files: {path: out}}
"""


class Project:
    """A project in a folder, whose runs tell what they sent."""

    def __init__(self, spark: SparkSession, folder: Path, text: str) -> None:
        self._spark, self._folder = spark, folder
        self._files = self._lines = 0
        self.counters: Counter[str] = Counter()
        (folder / "joinery.yaml").write_text(text, encoding="utf-8")
        (folder / "data" / "event").mkdir(parents=True)

    def run(self, *events: Mapping[str, Any], until_closed: bool = False) -> list[Any]:
        """Read events in a batch; return key and value of what was sent, in the sink's order."""
        if events:
            self._files += 1
            told = "".join(f"{json.dumps(each)}\n" for each in events)
            file = self._folder / "data" / "event" / f"{self._files:03}.jsonl"
            file.write_text(told, encoding="utf-8")
        project = jn.load(self._folder / "joinery.yaml")
        run = jn.run(self._spark, project, once=True, until_closed=until_closed)
        run.await_termination()
        self.counters.update(run.progress.counters.get("p", {}))
        files = sorted((self._folder / "out" / "p").glob("*.jsonl"))
        lines = [json.loads(line) for each in files for line in each.open(encoding="utf-8")]
        news, self._lines = lines[self._lines :], len(lines)
        return [(each["key"], each["value"]) for each in news]


def added(number: int, amount: int, *, account: int = 1, hour: int = 0) -> Mapping[str, Any]:
    at = f"2026-03-01T{hour:02}:00:00Z"
    return {"account": account, "number": number, "type": "Added", "amount": amount, "at": at}


def total(amount: int, account: int = 1) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return {"account": account}, {"account": account, "total": amount}


def reading(number: int, celsius: int, at: str, *, machine: int = 1) -> Mapping[str, Any]:
    time = f"2026-03-01T10:{at}Z"
    return {"id": number, "machine": machine, "celsius": celsius, "at": time}


def hot(number: int, celsius: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    key = {"machine": 1, "start": {"id": number}}
    return key, {**key, "celsius": celsius}


def test_an_event_of_the_time_of_one_whose_wait_was_ended_waits_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, FOLD)

    assert [total(40)] == project.run(added(1, 10), added(3, 30), until_closed=True)
    assert [] == project.run(added(5, 50))
    assert [total(130)] == project.run(added(4, 40))
    assert 1 == project.counters["sequence_gaps"]


def test_it_waits_no_longer_than_any_other(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(spark, tmp_path, FOLD)
    project.run(added(1, 10), added(3, 30), until_closed=True)
    project.run(added(5, 50))

    sent = project.run(added(1, 7, account=2, hour=2))

    assert [total(90), total(7, account=2)] == sorted(sent, key=lambda each: each[0]["account"])
    assert 2 == project.counters["sequence_gaps"]


def test_a_gap_in_a_log_without_time_is_given_up_by_the_clock_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, BY_CLOCK.replace("1h", "2s"))
    out = tmp_path / "out" / "p"
    first = time.time()
    assert [total(10)] == project.run(added(1, 10), added(3, 30))

    with going(spark, tmp_path) as run:
        until(lambda: any('"total":40' in each.read_text() for each in out.glob("*.jsonl")), run)

    assert time.time() - first > 2
    assert [total(40)] == project.run()
    assert [total(60)] == project.run(added(2, 20))
    assert 0 == project.counters["sequence_gaps"]  # counted by the run that gave it up


def test_the_end_of_the_logs_ends_what_waits_by_the_clock(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, BY_CLOCK)

    assert [total(10)] == project.run(added(1, 10), added(3, 30))
    assert [] == project.run()
    assert [total(40)] == project.run(until_closed=True)
    assert [] == project.run(added(5, 50))


def test_a_second_end_of_the_logs_ends_what_came_since(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(spark, tmp_path, FOLD)
    project.run(added(1, 10), added(3, 30), until_closed=True)

    assert [total(90)] == project.run(added(5, 50), until_closed=True)
    assert [] == project.run(until_closed=True)


def test_a_match_that_begins_when_an_ended_one_did_waits_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, PATTERN.replace("MATCH", "H not C"))

    assert [hot(1, 90)] == project.run(reading(1, 90, "00:00"), until_closed=True)
    assert [] == project.run(until_closed=True)
    assert [] == project.run(reading(2, 95, "00:00"))
    assert [(hot(1, 90)[0], None)] == project.run(reading(3, 20, "00:03"))
    assert [] == project.run(reading(4, 20, "01:00"))


def test_a_match_is_sent_by_its_time_that_came_after_the_end_of_the_logs(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, PATTERN.replace("MATCH", "H -> C"))

    assert [] == project.run(reading(1, 90, "00:00"), until_closed=True)
    assert [] == project.run(reading(2, 20, "00:05"))
    assert [hot(1, 90)] == project.run(reading(3, 20, "01:00", machine=2))


def call(number: int, hour: int, *, caller: int) -> Mapping[str, Any]:
    return {"id": number, "caller": caller, "at": f"2026-03-01T{hour:02}:00:00Z"}


def no_call_after(number: int, hour: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    at = f"2026-03-01T{hour:02}:00:00Z"
    return {"id": number}, {"id": number, "at": at, "after": []}


def test_a_root_comes_back_to_the_time_at_which_its_wait_was_ended_and_waits_no_more(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, INTERVAL)

    ended = project.run(call(1, 12, caller=1), until_closed=True)
    over = project.run(call(1, 9, caller=1), call(2, 10, caller=2), call(3, 12, caller=3))
    back = project.run(call(1, 12, caller=1), call(3, 9, caller=3))
    again = project.run(call(3, 12, caller=3))

    assert [no_call_after(1, 12)] == ended
    assert [no_call_after(1, 9), no_call_after(2, 10)] == over
    assert [no_call_after(1, 12), no_call_after(3, 9)] == back
    assert [({"id": 3}, None)] == again


def test_a_root_comes_back_to_a_time_that_an_end_before_the_last_had_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, INTERVAL)

    first = project.run(call(1, 12, caller=1), until_closed=True)
    second = project.run(call(1, 14, caller=1), until_closed=True)
    back = project.run(call(1, 12, caller=1))
    again = project.run(call(1, 14, caller=1))

    assert [no_call_after(1, 12)] == first
    assert [no_call_after(1, 14)] == second
    assert [no_call_after(1, 12)] == back
    assert [no_call_after(1, 14)] == again


def test_no_document_waits_for_a_task_that_was_not_told_how_far_its_log_has_come(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks take how many there are from the settings that they are told."""
    stage = Kernel.stage

    def with_fewer(kernel: Kernel, batch: DataFrame, *args: Any) -> Mapping[str, Any]:
        context = batch.sparkSession.sparkContext
        told = "spark.sql.streaming.internal.stateStore.partitions"
        context.setLocalProperty(told, "1")
        context.setLocalProperty("spark.sql.shuffle.partitions", "1")
        return stage(kernel, batch, *args)

    project = Project(spark, tmp_path, INTERVAL)
    monkeypatch.setattr(Kernel, "stage", with_fewer)

    with pytest.raises(JoineryError, match="was told to 1 tasks of a level that has"):
        project.run(*(call(each, each, caller=each) for each in range(20)))
