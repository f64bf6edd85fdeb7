"""A run of groups and windows is killed; documents and rows told late come out as if it had not."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.chaos.crash import POINTS
from tests.chaos.runs import CHAOS, crash
from tests.session_run import run_to_end
from tests.time.cases import logs, project_text

import joinery as jn
from joinery.testing.settings.compare import by_reference, late_rows
from joinery.testing.settings.layout import write_files
from joinery.testing.settings.output import newest_documents, rows_reported_late

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PRODUCTS = ("minutes", "told", "visits", "shop_hopping")
ROWS, BATCH = 3_600, 600
IN_EVERY_TEST = "during-stage"
Found = tuple[dict[str, dict[str, str]], list[str]]


@dataclass(frozen=True, slots=True)
class Expected:
    """What the logs come to."""

    documents: dict[str, dict[str, str]]
    late: list[str]


def prepare(folder: Path, seed: int = 7) -> Expected:
    """Write the project and its logs, and return what must come of them."""
    text = project_text(*PRODUCTS).replace(
        "sink: {files: {path: out}}",
        "sink: [{files: {path: out}}, {sqlite: {path: out/documents.db}}]",
    )
    file = folder / "joinery.yaml"
    file.write_text(f"{text}run: {{max_rows_per_batch: {BATCH}}}\n", encoding="utf-8")
    plan, changes = jn.load(file).plan, logs(seed, rows=ROWS)
    relations = {each.name: each for product in plan.products for each in product.relations}
    write_files(folder / "in", ((relations[each.relation], each) for each in changes))
    return Expected(
        {each.name: dict(by_reference(each, changes)) for each in plan.products},
        sorted(row for each in plan.products for row in late_rows(each, changes)),
    )


def assert_as_expected(folder: Path, expected: Expected) -> None:
    """Compare both sinks and the dead letters, and look for versions that fell."""
    assert expected.late
    assert expected.late == sorted(rows_reported_late(folder / ".joinery/dead_letters")["told"])
    for name, documents in expected.documents.items():
        assert documents == newest_documents(folder / "out" / name), name
        versions: dict[str, int] = {}
        for file in sorted((folder / "out" / name).glob("*.jsonl")):
            for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
                key = json.dumps(line["key"])
                assert line["version"] > versions.get(key, 0), f"the version of {key} fell"
                versions[key] = line["version"]
        with closing(sqlite3.connect(folder / "out/documents.db")) as database:
            rows = database.execute(f'SELECT document FROM "{name}" WHERE document IS NOT NULL')
            stored = [json.loads(text) for (text,) in rows]
        assert sorted(map(json.loads, documents.values()), key=str) == sorted(stored, key=str)


@pytest.mark.parametrize(
    "point", [each if each == IN_EVERY_TEST else pytest.param(each, marks=CHAOS) for each in POINTS]
)
def test_a_kill_leaves_no_trace_in_groups(spark: SparkSession, tmp_path: Path, point: str) -> None:
    expected = prepare(tmp_path)

    crash(tmp_path, point, batch=2)
    run_to_end(spark, tmp_path)

    assert_as_expected(tmp_path, expected)


@CHAOS
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_in_each_batch_leaves_no_trace(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    expected, pick = prepare(tmp_path, seed), random.Random(seed)

    for batch in range(5):
        crash(tmp_path, pick.choice([each for each in POINTS if each != "after-commit"]), batch)
    run_to_end(spark, tmp_path)

    assert_as_expected(tmp_path, expected)
