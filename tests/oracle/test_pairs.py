"""Random joins of two logs: what was sent after each batch are the pairs that DuckDB makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.pairs import Logs, Pair, random_logs, truth

from joinery.plan.build import build_plan
from joinery.solutions.protocol import Sent
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.stream_suite import (
    ReferenceStreamRunner,
    StreamBatch,
    joined,
    prefixed,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _compare(logs: Logs, sent: list[Sent], stream: str) -> None:
    found: list[Pair] = []
    for number, batch in enumerate(sent, 1):
        for line in batch.lines.get(stream, ()):
            told = json.loads(line)
            own, other = told["key"].values()
            found.append((own, other["id"], told["value"]["x"], told["value"]["y"]))
        assert len(set(found)) == len(found), "a pair was sent twice"
        assert truth(logs, number) == set(found), (number, logs.project)


@pytest.mark.parametrize("seed", each_seed(range(40), few=12))
def test_the_reference_makes_the_pairs_of_duckdb(seed: int) -> None:
    logs = random_logs(seed)
    project = joined([load_text(logs.project)])
    relations = {each.name: each for each in build_plan(project).streams[0].relations}
    batches = [
        StreamBatch(tuple(each.change(relations[each.relation]) for each in batch))
        for batch in logs.batches
    ]

    _compare(logs, ReferenceStreamRunner().run(project, batches), "s")


@pytest.mark.spark
@pytest.mark.slow
def test_spark_makes_the_pairs_of_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    from joinery.spark.testing import SparkRunner, SparkStreamRunner

    every = [random_logs(seed) for seed in range(100, 120)]
    prefixes = [f"p{number}_" for number in range(len(every))]
    specs = [prefixed(load_text(e.project), p) for e, p in zip(every, prefixes, strict=True)]
    project = joined(specs)
    relations = {
        each.name: each for stream in build_plan(project).streams for each in stream.relations
    }
    batches = [
        [
            told.change(relations[prefix + told.relation])
            for logs, prefix in zip(every, prefixes, strict=True)
            for told in logs.batches[number]
        ]
        for number in range(4)
    ]

    sent = SparkStreamRunner(SparkRunner(spark, tmp_path, replay=True)).run(project, batches)

    for logs, prefix in zip(every, prefixes, strict=True):
        _compare(logs, list(sent), f"{prefix}s")
