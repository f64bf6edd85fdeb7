"""No row of a log disappears: after each batch, windows and counters add up to the rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.time.cases import HEAD, logs

import joinery as jn
from joinery.model.batch import BatchProgress
from joinery.testing.settings.layout import write_files
from joinery.testing.settings.output import newest_documents, rows_reported_late

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WINDOWS = {"minutes": "{tumbling: 1m}", "visits": "{session: 3s}"}
LATE = ("correct", "dead_letter", "drop")
UNCOUNTED = ("event_without_time", "too_late")


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_and_counters_add_up_to_the_rows_after_each_batch(
    spark: SparkSession, tmp_path: Path, window: str
) -> None:
    products = "".join(
        f"  {late}: {{aggregate: view, by: [page], window: {WINDOWS[window]}, group: time,"
        f" values: {{n: count(*)}}, emit: {{late: {late}, allowed: 2s}},"
        " sink: {files: {path: out}}}\n"
        for late in LATE
    )
    file = tmp_path / "joinery.yaml"
    file.write_text(f"{HEAD}products:\n{products}run: {{max_rows_per_batch: 700}}\n")
    project = jn.load(file)
    relation = project.plan.products[0].relations[0]
    changes = [each for each in logs(3, rows=9_000) if each.relation == "view"]
    write_files(tmp_path / "in", ((relation, each) for each in changes))
    read, counted, sums = [0], {late: Counter[str]() for late in LATE}, list[list[int]]()

    def note(batch: BatchProgress) -> None:
        read[0] += batch.relations["view"]["read"]
        told = rows_reported_late(tmp_path / ".joinery/dead_letters")
        for late in LATE:
            counted[late].update(batch.counters.get(late, {}))
            assert late != "dead_letter" or len(told[late]) == counted[late]["late"]
            left_out = counted[late]["late"] if late != "correct" else 0
            uncounted = sum(counted[late][each] for each in UNCOUNTED)
            rows = sum(
                json.loads(each)["n"] for each in newest_documents(tmp_path / "out" / late).values()
            )
            sums.append([read[0], rows + left_out + uncounted])

    jn.run(spark, project, once=True, on_batch=note).await_termination(600)

    assert len(changes) == read[0]
    assert len(sums) >= 3 * len(changes) // 700
    assert [] == [each for each in sums if each[0] != each[1]]
    assert all(counted[late]["late"] for late in LATE)
    assert all(counted[late]["event_without_time"] for late in LATE)
