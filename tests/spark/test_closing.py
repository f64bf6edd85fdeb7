"""Windows that `--until-closed` closes: sent once and corrected later, also after a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import joinery as jn
from joinery.errors import JoineryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: web
sources: {log: {files: {path: data}}}
relations:
  view:
    append: true
    fields: {page: string, at: timestamp}
    time: at
products:
  hours:
    aggregate: view
    by: [page]
    window: {tumbling: 1h}
    values: {n: count(*)}
    emit: {when: closed, late: drop}
    sink: {files: {path: out}}
"""


class Project:
    """A project in a folder, whose runs tell what they sent."""

    def __init__(self, spark: SparkSession, folder: Path, text: str = PROJECT) -> None:
        self._spark, self._folder = spark, folder
        self._seen = set[str]()
        self._files = 0
        self.overtaken = 0
        (folder / "joinery.yaml").write_text(text, encoding="utf-8")
        (folder / "data" / "view").mkdir(parents=True)

    def run(
        self, *views: tuple[str, str], until_closed: bool = False
    ) -> list[tuple[str, str, Any]]:
        """Read views (page and hour:minute), and return page, hour and count of what was sent."""
        if views:
            self._files += 1
            lines = [{"page": page, "at": f"2026-03-01T{at}:00Z"} for page, at in views]
            file = self._folder / "data" / "view" / f"{self._files:03}.jsonl"
            told = "".join(f"{json.dumps(each)}\n" for each in lines)
            file.write_text(told, encoding="utf-8")
        project = jn.load(self._folder / "joinery.yaml")
        run = jn.run(self._spark, project, once=True, until_closed=until_closed)
        run.await_termination()
        self.overtaken += run.progress.counters.get("hours", {}).get("overtaken", 0)
        return self._sent()

    def take_back(self) -> None:
        """Leave the checkpoint as a run does that breaks off before its last batch is committed."""
        commits = self._folder / ".joinery" / "checkpoint" / "hours" / "commits"
        newest = max((each for each in commits.iterdir() if each.name.isdigit()), key=_number)
        newest.unlink()
        newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)

    def lines(self) -> list[str]:
        """Return all that stands in the sink."""
        files = sorted((self._folder / "out" / "hours").glob("*.jsonl"))
        return [line for each in files for line in each.read_text(encoding="utf-8").splitlines()]

    def _sent(self) -> list[tuple[str, str, Any]]:
        news = [line for line in self.lines() if line not in self._seen]
        self._seen.update(news)
        told = [json.loads(each) for each in news]
        return sorted(
            (
                each["key"]["page"],
                each["key"]["window_start"][11:16],
                (each["value"] or {}).get("n"),
            )
            for each in told
        )


def _number(file: Path) -> int:
    return int(file.name)


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path) -> Project:
    return Project(spark, tmp_path)


def test_what_is_open_at_the_end_is_sent_once_and_corrected_later(project: Project) -> None:
    assert [("a", "09:00", 1)] == project.run(("a", "09:30"), ("b", "10:10"), ("a", "10:20"))

    assert [("a", "10:00", 1), ("b", "10:00", 1)] == project.run(until_closed=True)
    assert [] == project.run(until_closed=True)
    assert 0 == project.overtaken
    assert [("a", "10:00", 2)] == project.run(("a", "10:40"))
    assert 1 == project.overtaken
    assert [] == project.run(("c", "10:50")), "a group that was not there has not ended"
    assert [("c", "10:00", 1)] == project.run(("a", "11:05"))
    assert 2 == project.overtaken, "11:05 is in no window that was closed"
    assert [("a", "11:00", 1)] == project.run(until_closed=True)


def test_new_rows_are_read_before_the_windows_are_closed(project: Project) -> None:
    sent = project.run(("a", "09:30"), ("a", "10:20"), until_closed=True)

    assert [("a", "09:00", 1), ("a", "10:00", 1)] == sent
    assert [] == project.run(("a", "09:40")), "it is late by its own log"


def test_a_closing_batch_that_was_not_committed_closes_the_same_again(project: Project) -> None:
    project.run(("a", "09:30"), ("b", "09:40"))
    project.run(until_closed=True)
    before = project.lines()
    project.take_back()

    assert [] == project.run()
    assert before == project.lines()
    assert [("a", "09:00", 2)] == project.run(("a", "09:50"))


def test_a_session_that_ended_with_its_run_is_corrected_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path, PROJECT.replace("{tumbling: 1h}", "{session: 30m}"))

    assert [("a", "10:00", 2)] == project.run(("a", "10:00"), ("a", "10:20"), until_closed=True)
    assert [("a", "10:00", 3)] == project.run(("a", "10:40"))
    assert [("a", "11:20", 1)] == project.run(("a", "11:20"), ("c", "12:00"))
    assert 1 == project.overtaken


@pytest.mark.parametrize("window", ["{session: 30m}", "{session: 30m, max: 12h}"])
def test_a_session_that_begins_before_one_that_ended_waits_for_the_watermark(
    spark: SparkSession, tmp_path: Path, window: str
) -> None:
    text = PROJECT.replace("{tumbling: 1h}", window)
    project = Project(
        spark, tmp_path, text.replace("time: at", "time: at\n    watermark: {delay: 1h}")
    )

    assert [("a", "10:00", 2)] == project.run(("a", "10:00"), ("a", "10:20"), until_closed=True)
    assert [("a", "10:00", None)] == project.run(("a", "09:50"))
    assert [("a", "09:50", 3)] == project.run(("c", "12:00"))


def test_a_query_that_has_read_nothing_ends(project: Project) -> None:
    assert [] == project.run(until_closed=True)


def test_only_a_run_that_ends_closes_what_is_open(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")

    with pytest.raises(JoineryError, match="until_closed needs once"):
        jn.run(spark, jn.load(tmp_path / "joinery.yaml"), until_closed=True)
