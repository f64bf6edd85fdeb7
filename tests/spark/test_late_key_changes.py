"""A late record that changes the key of a row is as if not in the log, both halves of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: accounts
sources: {log: {files: {path: data}}}
relations:
  account:
    key: [email]
    format: debezium-json
    fields: {id: long, email: string, owner: long, at: timestamp}
    time: at
  person: {key: [id], fields: {id: long, at: timestamp}, time: at}
products:
  hours:
    aggregate: account
    window: {tumbling: 1h}
    values: {n: count(*), emails: "collect(email, 9)"}
    emit: {late: drop}
    sink: {files: {path: out}}
    group: g
  people:
    root: person
    embed:
      accounts: {many: account, on: {owner: id}, within: [-1d, 1d], fields: [email]}
    emit: {late: drop}
    sink: {files: {path: out}}
    group: g
"""
TEN = 1_772_359_200_000_000  # 2026-03-01T10:00:00Z
MINUTE = 60_000_000


def account(number: int, email: str, minute: int) -> dict[str, Any]:
    return {"id": number, "email": email, "owner": 1, "at": TEN + minute * MINUTE}


def event(op: str, after: dict[str, Any], before: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"key": {"id": after["id"]}, "value": {"before": before, "after": after, "op": op}}


EVENTS = (
    event("c", account(1, "a@x", 5)),
    event("c", account(2, "c@x", 120)),
    event("u", account(1, "b@x", 5), account(1, "a@x", 5)),
    event("u", account(2, "d@x", 121), account(2, "c@x", 120)),
)


def write(folder: Path, topic: str, number: int, lines: Sequence[dict[str, Any]]) -> None:
    file = folder / "data" / topic / f"{number}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8")


def newest(folder: Path, product: str) -> list[dict[str, Any]]:
    """Return the values that stand in the sink, in the order of their keys."""
    files = sorted((folder / "out" / product).glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.open(encoding="utf-8")]
    values = {json.dumps(e["key"]): e["value"] for e in sorted(lines, key=lambda e: e["version"])}
    return [value for _, value in sorted(values.items()) if value is not None]


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_late_change_of_a_key_leaves_the_row_where_it_was(
    spark: SparkSession, tmp_path: Path, at_once: int
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    made, counted = jn.load(tmp_path / "joinery.yaml"), Counter[tuple[str, str]]()
    write(tmp_path, "person", 0, [{"id": 1, "at": TEN}])

    for start in range(0, len(EVENTS), at_once):
        write(tmp_path, "account", start, EVENTS[start : start + at_once])
        run = jn.run(spark, made, once=True)
        run.await_termination(300)
        for product in ("hours", "people"):
            late = run.progress.counters.get(product, {}).get("late", 0)
            counted[product, "late"] += late

    assert [(1, ["a@x"]), (1, ["d@x"])] == [
        (each["n"], each["emails"]) for each in newest(tmp_path, "hours")
    ]
    (person,) = newest(tmp_path, "people")
    assert ["a@x", "d@x"] == sorted(each["email"] for each in person["accounts"])
    assert {("hours", "late"): 1, ("people", "late"): 1} == counted
