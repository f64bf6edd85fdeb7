"""A rebuild reads everything anew beside what is there, then takes its place whole."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.customers import documents
from tests.sqlite_file import sqlite_file

import joinery as jn
from joinery.errors import StateMismatchError
from joinery.sinks.protocol import make_sink
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.batch.setup import spool_places
from joinery.spark.recovery.replacement import mark_done

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string, city: string}}
products:
  profile:
    root: customer
    fields: [FIELDS]
    sink:
      - files: {path: out}
      - sqlite: {path: shop.db}
run: {max_rows_per_batch: 2}
"""

SPOOLED = "    sink: {sqlite: {path: shop.db, spool: true}}\nrun:"


def change(folder: Path, name: str, *rows: dict[str, object]) -> None:
    part = folder / "data/customer" / f".{name}"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    part.rename(part.with_name(f"{name}.jsonl"))


def project_of(folder: Path, fields: str) -> Any:
    (folder / "joinery.yaml").write_text(PROJECT.replace("FIELDS", fields))
    return jn.load(folder / "joinery.yaml")


def spooled_project(folder: Path) -> Any:
    """Return a project whose only sink has a spool."""
    text = re.sub("(?s)    sink:.*?run:", SPOOLED, PROJECT.replace("FIELDS", "id, name"))
    (folder / "joinery.yaml").write_text(text)
    return jn.load(folder / "joinery.yaml")


def table(folder: Path) -> dict[int, tuple[dict[str, Any], int]]:
    with sqlite_file(folder / "shop.db") as database:
        rows = database.execute("SELECT id, document, version FROM profile").fetchall()
    return {key: (json.loads(text), version) for key, text, version in rows}


def files(folder: Path) -> list[set[int]]:
    """Return the keys in each file, in their order."""
    return [
        {json.loads(line)["key"]["id"] for line in file.read_text().splitlines()}
        for file in sorted((folder / "out/profile").glob("*.jsonl"))
    ]


def run(spark: SparkSession, project: Any, *, rebuild: bool = False) -> Run:
    started = Run(project.spec, project.plan, RunOptions(once=True, rebuild=rebuild))
    started.prepare()
    started.start(spark)
    started.await_termination()
    return started


def test_a_changed_plan_takes_the_place_of_the_one_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    old = project_of(tmp_path, "id, name")
    rows = [{"id": n, "name": f"n{n}", "city": f"c{n}"} for n in range(5)]
    change(tmp_path, "1", *rows)
    run(spark, old)
    before = table(tmp_path)
    (tmp_path / "data/customer/1.jsonl").unlink()
    change(tmp_path, "2", *rows[1:])  # the log no longer knows the first
    new = project_of(tmp_path, "id, name, city")
    with pytest.raises(StateMismatchError, match="another plan") as refused:
        run(spark, new)

    run(spark, new, rebuild=True)
    change(tmp_path, "3", {"id": 1, "name": "n1", "city": "moved"})
    run(spark, new)

    assert "joinery run --rebuild" in refused.value.hint
    expected = {n: {"id": n, "name": f"n{n}", "city": f"c{n}"} for n in range(2, 5)}
    expected[1] = {"id": 1, "name": "n1", "city": "moved"}
    after = table(tmp_path)
    assert {key: document for key, (document, _) in after.items()} == expected
    assert all(version > before[key][1] for key, (_, version) in after.items())
    assert documents(tmp_path) == expected | {0: None}
    checkpoint = tmp_path / ".joinery/checkpoint"
    assert not (checkpoint / "_rebuild/profile").exists()
    assert len(list((checkpoint / "_replaced").glob("profile-*"))) == 1


def test_a_rebuild_that_broke_off_before_its_last_commit_loses_no_document(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = project_of(tmp_path, "id, name")
    change(tmp_path, "1", *({"id": n, "name": f"n{n}"} for n in range(5)))
    run(spark, project)
    run(spark, project, rebuild=True)
    commits = tmp_path / ".joinery/checkpoint/_rebuild/profile/commits"
    last = max(int(each.name) for each in commits.iterdir() if each.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)

    run(spark, project)

    expected = {n: {"id": n, "name": f"n{n}"} for n in range(5)}
    assert last > 0
    assert set(range(5)) == files(tmp_path)[-1]
    assert expected == {key: document for key, (document, _) in table(tmp_path).items()}


def test_a_sink_with_a_spool_is_swept_of_documents_that_vanished(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = spooled_project(tmp_path)
    change(tmp_path, "1", *({"id": n, "name": f"n{n}"} for n in range(5)))
    run(spark, project)
    assert set(table(tmp_path)) == {0, 1, 2, 3, 4}
    (tmp_path / "data/customer/1.jsonl").unlink()
    change(tmp_path, "2", *({"id": n, "name": f"n{n}"} for n in range(1, 5)))

    run(spark, project, rebuild=True)
    run(spark, project)

    assert set(table(tmp_path)) == {1, 2, 3, 4}


def test_what_a_rebuild_left_in_its_spool_does_not_go_out_before_the_swap(tmp_path: Path) -> None:
    project = spooled_project(tmp_path)
    options = RunOptions(once=True, rebuild=True)
    sink = make_sink("sqlite", "profile", {"path": "shop.db"}, tmp_path)
    checkpoint = tmp_path / ".joinery/checkpoint/_rebuild/profile"
    (place,) = spool_places("profile", (sink,), project.plan.products[0].sinks, checkpoint)
    assert place is not None
    left = place.folder / "000000000001"
    left.mkdir(parents=True)
    (left / "batch.json").write_text('{"query_id": "q", "batch_id": 1}')
    (left / "part-00000.jsonl").write_text(
        '{"key":{"id":9},"value":{"id":9,"name":"unswapped"},"version":1}\n'
    )
    rebuild = Run(project.spec, project.plan, options)

    rebuild.prepare()
    rebuild.abandon()

    assert not left.exists()
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        table(tmp_path)


def test_a_rebuild_that_is_finished_takes_its_place_before_another_begins(tmp_path: Path) -> None:
    project = project_of(tmp_path, "id, name")
    root = tmp_path / ".joinery/checkpoint"
    finished = root / "_rebuild/profile"
    finished.mkdir(parents=True)
    (finished / "metadata").write_text("of the one that is finished")
    mark_done(finished)
    another = Run(project.spec, project.plan, RunOptions(once=True, rebuild=True))

    another.prepare()
    another.abandon()

    assert "of the one that is finished" == (root / "profile/metadata").read_text()
    assert not (finished / "metadata").exists()


def test_a_run_that_is_going_on_gives_way_to_a_rebuild(spark: SparkSession, tmp_path: Path) -> None:
    project = project_of(tmp_path, "id, name")
    change(tmp_path, "1", {"id": 1, "name": "Ada"})
    going_on = jn.run(spark.newSession(), project)

    assert jn.run(spark, project, rebuild=True).await_termination(300)

    assert going_on.await_termination(300)
    assert going_on.replaced == ("profile",)
    assert documents(tmp_path) == {1: {"id": 1, "name": "Ada"}}


def test_a_rebuild_warns_of_a_sink_that_cannot_tell_what_vanished(
    spark: SparkSession, tmp_path: Path
) -> None:
    project_of(tmp_path, "id, name")
    file = tmp_path / "joinery.yaml"
    file.write_text(file.read_text().replace("files: {path: out}", "console: {}"))
    project = jn.load(file)
    change(tmp_path, "1", {"id": 1, "name": "Ada"})

    rebuilt = run(spark, project, rebuild=True)

    (told,) = rebuilt.progress.warnings
    assert "WARN_NOT_SWEPT" == told.code
    assert 'product "profile": console' in told.message
