"""Events that come again, and events without a key, in a sink that keeps one row a key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.sqlite_file import sqlite_file

import joinery as jn
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import Run, RunOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
KEYED = """\
name: shop
sources: {log: {files: {path: data}}}
run: {max_rows_per_batch: %d}
relations:
  payments: {append: true, key: [id], fields: {id: long, status: string, city: long}}
  cities: {key: [id], fields: {id: long, name: string}}
streams:
  s: {from: payments, steps: [%s], sink: {sqlite: {path: out.db}}}
"""
UNITED = """\
name: shop
sources: {log: {files: {path: data}}}
relations:
  web: {append: true, fields: {page: long}}
  shop: {append: true, fields: {page: long}}
streams:
  from_shop: {from: shop}
  s: {from: web, steps: [{union: from_shop}], sink: {sqlite: {path: out.db}}}
"""
HELD = """\
name: shop
sources: {log: {files: {path: data}}}
run: {max_rows_per_batch: %d}
relations:
  payments: {append: true, key: [id], fields: {id: long, city: long}}
  debits: {append: true, key: [id], format: debezium-json, fields: {id: long, city: long}}
  cities: {key: [id], fields: {id: long, name: string}}
products:
  s:
    root: cities
    embed:
      paid: {many: payments, on: {city: id}, fields: [id], order: [id]}
      owed: {many: debits, on: {city: id}, fields: [id], order: [id]}
    group: shop
    sink: {sqlite: {path: out.db}}
  paid:
    root: payments
    embed: {town: {one: cities, on: {id: city}, fields: [name]}}
    where: "town.name is null or town.name <> 'closed'"
    group: shop
    sink: {files: {path: out}}
"""
LOOKUP = "{lookup: cities, on: {id: city}, fields: [name]}"


def write(folder: Path, file: str, rows: Iterable[Mapping[str, Any]]) -> None:
    target = folder / "data" / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def run(spark: SparkSession, folder: Path, text: str) -> Run:
    file = folder / "joinery.yaml"
    file.write_text(text, encoding="utf-8")
    made = jn.load(file)
    started = Run(made.spec, made.plan, RunOptions(once=True))
    started.prepare()
    started.start(spark)
    started.await_termination()
    return started


def stored(folder: Path, columns: str) -> list[tuple[Any, ...]]:
    with sqlite_file(folder / "out.db") as database:
        return list(database.execute(f"select {columns} from s order by 1"))


def payments(status: str) -> list[dict[str, Any]]:
    return [{"id": each, "status": status, "city": (each + len(status)) % 3} for each in range(60)]


@pytest.mark.parametrize("rows", [1_000_000, 70], ids=["one_batch", "many_batches"])
@pytest.mark.parametrize("steps", ["", LOOKUP], ids=["no_lookup", "lookup"])
def test_the_last_of_an_event_is_what_the_sink_keeps(
    spark: SparkSession, tmp_path: Path, steps: str, rows: int
) -> None:
    write(tmp_path, "cities/a.jsonl", [{"id": each, "name": f"c{each}"} for each in range(3)])
    write(tmp_path, "payments/a.jsonl", [*payments("NEW"), *payments("SENT")])
    write(tmp_path, "payments/b.jsonl", [*payments("LATE"), *payments("PAID!")])

    ended = run(spark, tmp_path, KEYED % (rows, steps))

    found = stored(tmp_path, "id, document ->> 'status', document ->> 'city'")
    assert [(each, "PAID!", (each + 5) % 3) for each in range(60)] == found
    if rows > 1000:
        assert 60 == ended.progress.totals.documents


def test_united_events_without_a_key_are_all_kept(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "web/0001.jsonl", [{"page": each} for each in range(5)])
    write(tmp_path, "shop/0001.jsonl", [{"page": each} for each in range(5, 10)])

    run(spark, tmp_path, UNITED)

    expected = [(f"shop/0001.jsonl/{each + 1}", each + 5) for each in range(5)]
    expected += [(f"web/0001.jsonl/{each + 1}", each) for each in range(5)]
    assert expected == stored(tmp_path, "place, document ->> 'page'")


def last_of(folder: Path) -> dict[Any, Any]:
    """Return the documents in a folder of files, by id; none was sent unchanged."""
    sent: dict[Any, list[Any]] = {}
    for row in read_rows(sorted(folder.glob("*.jsonl"))):
        document = json.loads(row.value) if row.value else None
        sent.setdefault(row.key_values()["id"], []).append(document)
    assert all(each != then for told in sent.values() for each, then in pairwise(told))
    return {key: told[-1] for key, told in sent.items() if told[-1] is not None}


@pytest.mark.parametrize("rows", [1_000_000, 4], ids=["one_batch", "many_batches"])
def test_documents_hold_a_row_that_comes_again_once_and_ignore_its_deletes(
    spark: SparkSession, tmp_path: Path, rows: int
) -> None:
    rent = {"id": 7, "city": 1}
    write(tmp_path, "cities/a.jsonl", [{"id": each, "name": f"c{each}"} for each in range(2)])
    write(tmp_path, "cities/b.jsonl", [{"id": 0, "name": "new"}, {"id": 1, "name": "closed"}])
    paid = [{"id": each, "city": (each % 2 if each < 4 else None)} for each in range(5)]
    write(tmp_path, "payments/a.jsonl", [*paid, *paid])
    write(tmp_path, "payments/b.jsonl", paid)
    write(
        tmp_path,
        "debits/a.jsonl",
        [
            {"op": "c", "before": None, "after": rent},
            {"op": "u", "before": rent, "after": {"id": 7, "city": 0}},
            {"op": "d", "before": rent, "after": None},
        ],
    )

    ended = run(spark, tmp_path, HELD % rows)

    shown = [(each, json.loads(text)) for each, text in stored(tmp_path, "id, document")]
    assert [
        (0, {"id": 0, "name": "new", "paid": [{"id": 0}, {"id": 2}], "owed": []}),
        (1, {"id": 1, "name": "closed", "paid": [{"id": 1}, {"id": 3}], "owed": [{"id": 7}]}),
    ] == shown
    assert {
        0: {"id": 0, "city": 0, "town": {"name": "new"}},
        2: {"id": 2, "city": 0, "town": {"name": "new"}},
        4: {"id": 4, "city": None, "town": None},
    } == last_of(tmp_path / "out" / "paid")
    counts = ended.progress.relations["debits"]
    assert (1, 1) == (counts["ignored_updates"], counts["ignored_deletes"])


READ = """\
name: shop
sources: {log: {files: {path: data}}}
run: {max_document_bytes: 1000}
relations:
  payments: {append: true, key: [id], fields: {id: long, city: long}}
  cities: {key: [id], fields: {id: long, name: string}}
products:
  paid:
    root: payments
    fields: [id, {name: town.name}]
    embed: {town: {one: cities, on: {id: city}, fields: [name], hidden: true}}
    where: town.name <> 'closed'
    group: shop
  s:
    aggregate: paid
    by: [name]
    values: {n: count(*)}
    group: shop
    sink: {sqlite: {path: out.db}}
"""


def test_a_document_that_is_held_back_stands_for_its_readers_as_it_was(
    spark: SparkSession, tmp_path: Path
) -> None:
    names = {"a": ["old", "new"], "b": ["x" * 2000, "new"], "c": ["x" * 2000, "closed"]}
    write(tmp_path, "payments/a.jsonl", [{"id": each, "city": each % 2} for each in range(5)])
    found = []
    for file, (first, second) in names.items():
        cities = [{"id": 0, "name": first}, {"id": 1, "name": second}]
        write(tmp_path, f"cities/{file}.jsonl", cities)
        run(spark, tmp_path, READ)
        found.append(stored(tmp_path, "name, document ->> 'n'"))
    write(tmp_path, "cities/d.jsonl", [{"id": 0, "name": "last"}])

    run(spark, tmp_path, READ)

    assert [[("new", 2), ("old", 3)], [("new", 2), ("old", 3)], [("old", 3)]] == found
    assert [("last", 3)] == stored(tmp_path, "name, document ->> 'n'")
