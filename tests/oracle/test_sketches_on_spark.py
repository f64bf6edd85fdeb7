"""Estimates over a thousand groups, also after rows go, within their bounds of DuckDB's answers.

A quantile is a value of some row, so its error is held to that row's, in every group. What is
counted of a log is an estimate, whose error spreads as its deviation says; what is counted where
rows go is exact.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROJECT = """\
name: sketches
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  seen: {append: true, fields: {g: int, v: long}}
  took:
    key: [id]
    fields: {id: long, g: int, ms: double, v: long, gone: boolean}
    where: not gone
products:
  visitors:
    aggregate: seen
    by: [g]
    values: {about: approx_count_distinct(v), rough: "approx_count_distinct(v, 0.05)"}
    group: sketches
    sink: {files: {path: out}}
  times:
    aggregate: took
    by: [g]
    values:
      low: approx_quantile(ms, 0.05)
      middle: approx_quantile(ms, 0.5)
      high: approx_quantile(ms, 0.99)
      rough: approx_quantile(ms, 0.9, 0.05)
      known: approx_count_distinct(v)
    group: sketches
    sink: {files: {path: out}}
"""
GROUPS, TIMES, VISITS, CROWDS = 1_000, 40_000, 120_000, 24
QUANTILES = {"low": (0.05, 0.01), "middle": (0.5, 0.01), "high": (0.99, 0.01), "rough": (0.9, 0.05)}
Row = dict[str, Any]


def put(folder: Path, relation: str, number: int, rows: Iterator[Row]) -> None:
    (folder / "data" / relation).mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "data" / relation / f"{number:04d}.jsonl").write_text(text, encoding="utf-8")


def duration(pick: random.Random) -> float | None:
    """Return a time as services take it, of any scale; some are zero, negative or not known."""
    kind = pick.random()
    if kind < 0.02:
        return pick.choice([None, 0.0, -pick.lognormvariate(0, 4)])
    return pick.lognormvariate(pick.choice([-3, 2, 8]), 1.5)


def timed(pick: random.Random, id: int) -> Row:
    row = {"g": pick.randrange(GROUPS), "ms": duration(pick), "v": pick.randrange(30)}
    return {"id": id, **row, "gone": False}


def asked(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Return what DuckDB finds in the files: of each key, the row of the last one."""
    database, data = duckdb.connect(), folder / "data"
    lines = "format = 'newline_delimited', filename = true, columns"
    database.execute(
        f"create view seen as from read_json('{data}/seen/*', {lines} = {{g: 'int', v: 'bigint'}})"
    )
    columns = "{id: 'bigint', g: 'int', ms: 'double', v: 'bigint', gone: 'boolean'}"
    database.execute(
        f"create view took as select * from read_json('{data}/took/*', {lines} = {columns})"
        " qualify row_number() over (partition by id order by filename desc) = 1 and not gone"
    )
    return database.execute(query).fetchall()


def held(folder: Path, product: str) -> dict[int, Row]:
    """Return the newest value of each group."""
    newest: dict[int, tuple[int, Row | None]] = {}
    for file in sorted((folder / "out" / product).glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            newest[told["key"]["g"]] = told["version"], told["value"]
    return {key: value for key, (_, value) in newest.items() if value is not None}


def run(spark: SparkSession, folder: Path) -> None:
    jn.run(spark, jn.load(folder / "joinery.yaml"), once=True).await_termination()


def check_times(folder: Path) -> None:
    """Hold the quantiles of all groups to those of DuckDB, and their counts of values."""
    exact = ", ".join(f"quantile_disc(ms, {part})" for part, _ in QUANTILES.values())
    found = asked(folder, f"select g, count(distinct v), {exact} from took group by g")
    groups = held(folder, "times")
    assert {each[0] for each in found} == groups.keys()
    for g, known, *quantiles in found:
        assert known == groups[g]["known"]
        for (name, (_, error)), quantile in zip(QUANTILES.items(), quantiles, strict=True):
            about = groups[g][name]
            assert pytest.approx(quantile, rel=error, abs=0) == about, (g, name)


def test_estimates_are_within_their_bounds_of_what_duckdb_finds(
    spark: SparkSession, tmp_path: Path
) -> None:
    pick = random.Random(15)
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    put(tmp_path, "took", 1, (timed(pick, id) for id in range(TIMES)))
    # A crowd has from one to thousands of visitors; each comes two times or so.
    crowds = [round(2 ** (4 + 9.5 * g / CROWDS)) for g in range(CROWDS)]
    visits = ((g, pick.randrange(crowds[g])) for g in pick.choices(range(CROWDS), crowds, k=VISITS))
    put(tmp_path, "seen", 1, ({"g": g, "v": v * 7919} for g, v in visits))
    run(spark, tmp_path)

    check_times(tmp_path)
    for name, deviation in (("about", 0.01), ("rough", 0.05)):
        found = dict(asked(tmp_path, "select g, count(distinct v) from seen group by g"))
        told = {g: value[name] for g, value in held(tmp_path, "visitors").items()}
        assert found.keys() == told.keys()
        errors = [told[g] / count - 1 for g, count in found.items()]
        assert max(map(abs, errors)) <= 4 * deviation
        assert sum(each**2 for each in errors) / len(errors) <= (1.25 * deviation) ** 2

    changed = pick.sample(range(TIMES), TIMES // 2)
    put(tmp_path, "took", 2, ({**timed(pick, id), "gone": id % 2 == 0} for id in changed))
    run(spark, tmp_path)

    check_times(tmp_path)
