"""Windows are forgotten by the watermark: rows for them are too late, and the state stays flat."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.churn.measure import state_of

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROJECT = """\
name: web
sources: {{log: {{files: {{path: data}}}}}}
relations:
  views:
    append: true
    time: at
    watermark: {{delay: 20s}}
    fields: {{id: long, page: string, at: timestamp}}
products:
  parts:
    aggregate: views
    by: [page]
    window: {window}
    values: {{n: count(*), ids: sum(id), most: max(id)}}
    emit: {{late: {late}, allowed: 1d, retention: 5m}}
    sink: {{files: {{path: out}}}}
"""
HOPPING = "{hopping: 2m, every: 1m}"
DELAY_S, RETENTION_S, STEP_S = 20, 300, 60

View = Mapping[str, Any]
Parts = dict[tuple[str, int], tuple[int, int, int]]


def log_of(pick: random.Random, files: int, *, lines: int) -> list[list[View]]:
    """Return the views of each file: five minutes go by in each; some are far behind."""
    views = list[list[View]]()
    for number in range(files):
        file = list[View]()
        for line in range(lines):
            now = 1_700_000_000 + 300 * number + 300 * line // lines
            behind = 0 if pick.random() < 0.9 else pick.randrange(900)
            page = f"p{pick.randrange(5)}"
            file.append({"id": number * lines + line, "page": page, "at": now - behind})
        views.append(file)
    return views


def counted(log: Sequence[View], size_s: int) -> tuple[Parts, int]:
    """Return what the windows of one partition hold, and how many views came too late."""
    parts, too_late = Parts(), 0
    newest: int | None = None
    for view in log:
        limit = None if newest is None else newest - DELAY_S - RETENTION_S
        open_parts = [
            each for each in starts(view["at"], size_s) if limit is None or each + size_s > limit
        ]
        too_late += not open_parts
        for start in open_parts:
            n, ids, most = parts.get((view["page"], start), (0, 0, -1))
            parts[view["page"], start] = n + 1, ids + view["id"], max(most, view["id"])
        newest = view["at"] if newest is None else max(newest, view["at"])
    return parts, too_late


def starts(second: int, size_s: int) -> Iterator[int]:
    last = second // STEP_S * STEP_S
    yield from range(last, last - size_s, -STEP_S)


def write(folder: Path, number: int, views: Sequence[View], *, padding: int = 0) -> None:
    data = folder / "data/views"
    data.mkdir(parents=True, exist_ok=True)
    padded = {"padding": "x" * padding} if padding else {}
    lines = (json.dumps({**each, "at": each["at"] * 1_000_000, **padded}) for each in views)
    (data / f"{number:04}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def newest(folder: Path) -> Parts:
    """Return what stands in the sink, as `counted` does."""
    files = sorted((folder / "out/parts").glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.open(encoding="utf-8")]
    values = {json.dumps(each["key"]): each["value"] for each in sorted(lines, key=_version)}
    return {
        (each["page"], _second(each["window_start"])): (each["n"], each["ids"], each["most"])
        for each in values.values()
    }


def _version(line: Mapping[str, Any]) -> int:
    return int(line["version"])


def _second(text: str) -> int:
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


@pytest.mark.parametrize(
    ("window", "size_s", "late"),
    [
        ("{tumbling: 1m}", 60, "drop"),
        (HOPPING, 120, "correct"),
        pytest.param("{tumbling: 1m}", 60, "correct", marks=pytest.mark.exhaustive),
        pytest.param(HOPPING, 120, "drop", marks=pytest.mark.exhaustive),
    ],
)
def test_a_window_stays_as_it_was_when_its_retention_was_over(
    spark: SparkSession, tmp_path: Path, window: str, size_s: int, late: str
) -> None:
    log = log_of(random.Random(5), 6, lines=400)
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(window=window, late=late))
    made, counters = jn.load(tmp_path / "joinery.yaml"), Counter[str]()

    for number, views in enumerate(log):
        write(tmp_path, number, views)
        run = jn.run(spark, made, once=True)
        run.await_termination(600)
        counters.update(run.progress.counters.get("parts", {}))
        parts, too_late = counted([each for file in log[: number + 1] for each in file], size_s)
        assert parts == newest(tmp_path)
        assert too_late == counters["too_late"]

    assert too_late > 20


def test_rows_are_too_late_by_all_before_them_however_large_a_batch_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    """So many bytes that tasks would share the topic, and one would read old rows alone."""
    now = [{"id": each, "page": "p", "at": 1_700_003_600} for each in range(200)]
    old = [{"id": each, "page": "p", "at": 1_700_000_000} for each in range(200)]
    text = PROJECT.format(window="{tumbling: 1m}", late="correct")
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    for number, views in enumerate((now, old)):
        write(tmp_path, number, views, padding=10_000)

    run = jn.run(spark, jn.load(tmp_path / "joinery.yaml"), once=True)
    run.await_termination(600)

    parts, too_late = counted([*now, *old], 60)
    assert parts == newest(tmp_path)
    assert too_late == run.progress.counters["parts"]["too_late"] == 200


TABLE = 1_500
"""As many rows has the table, so each is told again after 25 minutes: its window is gone then."""


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ("{tumbling: 1m}", "append: true"),
        pytest.param("{hopping: 2m, every: 1m}", "key: [id]", marks=pytest.mark.exhaustive),
        pytest.param("{session: 5s}", "append: true", marks=pytest.mark.exhaustive),
        ("{session: 2s, max: 30s}", "key: [id]"),
        pytest.param("{session: 20s, max: 1m}", "append: true", marks=pytest.mark.exhaustive),
    ],
)
def test_the_state_holds_no_more_windows_than_are_retained(
    spark: SparkSession, tmp_path: Path, window: str, told: str
) -> None:
    log = log_of(random.Random(7), 12, lines=300)
    text = PROJECT.format(window=window, late="correct").replace("append: true", told)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    rows, sizes = [], []

    for number, views in enumerate(log):
        write(tmp_path, number, [{**each, "id": each["id"] % TABLE} for each in views])
        jn.run(spark, jn.load(tmp_path / "joinery.yaml"), once=True).await_termination(600)
        entries, size = state_of(spark, tmp_path / ".joinery/checkpoint/parts")
        rows.append(entries)
        sizes.append(size)

    assert max(rows[-4:]) <= 1.1 * max(rows[4:7]), rows
    assert max(sizes[-4:]) <= 1.15 * max(sizes[4:7]), sizes
