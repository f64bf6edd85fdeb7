"""Rows with thousands of children, whose lists are kept in pages, killed and gone on with."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.chaos.runs import CHAOS, crash
from tests.chaos.world import emissions
from tests.session_run import run_to_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROJECT = """\
name: large
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  user: {key: [id], fields: {id: long, name: string}}
  post: {key: [id], fields: {id: long, user: long, score: long, text: string}}
  note: {key: [id], fields: {id: long, author: string, score: long, text: string}}
products:
  profile:
    root: user
    fields: [id]
    embed:
      posts: {many: post, on: {user: id}, fields: [id, score, text], order: [-score]}
      notes: {many: note, on: {author: name}, fields: [score, text], as: map}
    sink: {files: {path: out}}
run: {max_rows_per_batch: 4000}
"""
USERS, ROWS, CHANGES = 3, 5_000, 600
Rows = dict[int, dict[str, Any]]


def write(folder: Path, name: str, topic: str, rows: list[dict[str, Any]]) -> None:
    file = folder / "data" / topic / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def row_of(topic: str, key: int, chance: random.Random) -> dict[str, Any]:
    user = min(chance.randrange(USERS * 4), USERS - 1)
    parent = {"user": user} if topic == "post" else {"author": f"u{user}"}
    return {"id": key, **parent, "score": chance.randrange(900), "text": f"text {key} " * 4}


def write_changes(folder: Path) -> dict[str, Rows]:
    """Write many rows, then a file of changes of some of them; return what stands at the end."""
    chance, standing = random.Random(5), dict[str, Rows]()
    write(folder, "000", "user", [{"id": n, "name": f"u{n}"} for n in range(USERS)])
    for topic in ("post", "note"):
        rows = {key: row_of(topic, key, chance) for key in range(ROWS)}
        write(folder, "000", topic, list(rows.values()))
        changes = []
        for key in chance.sample(range(ROWS + 200), CHANGES):
            row = row_of(topic, key, chance)
            gone = chance.random() < 0.3
            changes.append(row | {"__deleted": gone})
            rows.pop(key, None)
            if not gone:
                rows[key] = row
        write(folder, "001", topic, changes)
        standing[topic] = rows
    return standing


def document(user: int, standing: dict[str, Rows]) -> dict[str, Any]:
    posts = [each for each in standing["post"].values() if each["user"] == user]
    notes = [each for each in standing["note"].values() if each["author"] == f"u{user}"]
    posts.sort(key=lambda each: (-each["score"], each["id"]))
    return {
        "id": user,
        "posts": [{name: each[name] for name in ("id", "score", "text")} for each in posts],
        "notes": {
            str(each["id"]): {name: each[name] for name in ("score", "text")} for each in notes
        },
    }


@pytest.mark.parametrize(
    "points", [["before-commit"], pytest.param(["during-stage", "before-commit"], marks=CHAOS)]
)
def test_a_kill_leaves_no_trace_in_a_row_with_thousands_of_children(
    spark: SparkSession, tmp_path: Path, points: list[str]
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    standing = write_changes(tmp_path)

    for batch, point in enumerate(points, 1):
        crash(tmp_path, point, batch)
    run_to_end(spark, tmp_path)

    told = list(emissions(tmp_path))
    assert {n: document(n, standing) for n in range(USERS)} == {
        each["key"]["id"]: each["value"] for each in told
    }
    assert len(document(USERS - 1, standing)["posts"]) > ROWS // 2, "so many that they are in pages"
