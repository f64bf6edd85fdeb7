"""What `--until-closed` ends of topics: with the last batch that reads them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.log import Log
from tests.services.page_counts import sent

import joinery as jn
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
name: web
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
relations:
  views:
    topic: {topic}
    format: json
    append: true
    time: at
    fields: {{page: string, at: timestamp}}
products:
  minutes:
    aggregate: views
    by: [page]
    window: {{tumbling: 1m}}
    values: {{n: count(*)}}
    emit: {{when: closed}}
    sink: {{files: {{path: out}}}}
run: {{max_rows_per_batch: 4}}
"""


def run_once(
    spark: SparkSession, folder: Path, *, until_closed: bool = True
) -> tuple[int, Sequence[tuple[str, int | None]]]:
    """Run once; return how many batches that took, and all that was sent so far."""
    project = jn.load(folder / "joinery.yaml")
    run = jn.run(spark, project, once=True, until_closed=until_closed)
    run.await_termination()
    return run.progress.totals.batches, sorted(sent(folder, "minutes"))


def test_the_last_batch_of_topics_closes_what_is_open_and_one_of_nothing_closes_nothing(
    kafka_spark: SparkSession, kafka: Service, tmp_path: Path
) -> None:
    topic, log = f"ended-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(topic, 2)
    text = PROJECT.format(bootstrap=log.bootstrap, topic=topic)
    plain, ended = tmp_path / "plain", tmp_path / "ended"
    for folder in (plain, ended):
        folder.mkdir()
        (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    views = [{"page": f"p{each % 3}", "at": f"2026-03-01T10:00:{each:02}Z"} for each in range(8)]
    log.put(topic, *views[:5], partition=0)
    log.put(topic, *views[5:], partition=1)

    needed, _ = run_once(kafka_spark, plain, until_closed=False)
    batches, first = run_once(kafka_spark, ended)
    assert batches == needed > 1
    assert first == [("p0", 3), ("p1", 3), ("p2", 2)]

    _, again = run_once(kafka_spark, ended)
    assert again == first

    log.put(topic, {"page": "p3", "at": "2026-03-01T10:05:00Z"}, partition=1)
    batches, last = run_once(kafka_spark, ended)
    assert (batches, last) == (1, [*first, ("p3", 1)])
