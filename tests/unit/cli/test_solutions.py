"""What `joinery solutions` prints, and what it keeps for `solution: auto`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from joinery.cli import solutions
from joinery.project.product import ProjectSpec
from joinery.solutions.price import PriceError, Prices
from joinery.spark.recovery.compare import Measured
from joinery.testing.conformance.project import load_text

PROJECT = """
relations: {user: {key: [id], fields: {id: long}}}
products: {profile: {root: user}}
"""
MEASURED = [
    Measured("spark-state", batches=[(100, 2.0), (100, 1.0)], state_bytes=2_000_000),
    Measured("kv", batches=[(100, 1.0)], store=Counter(requests=20, entries_read=150)),
    Measured("dynamodb", error="no credentials were found."),
]


@pytest.fixture
def spec(tmp_path: Path) -> ProjectSpec:
    return replace(load_text(PROJECT), folder=tmp_path)


def test_each_solution_is_a_line_and_an_error_is_told(
    spec: ProjectSpec, capsys: pytest.CaptureFixture[str]
) -> None:
    solutions._print(MEASURED, spec, Prices())

    head, spark, kv, _, error = (
        each.split() for each in capsys.readouterr().out.splitlines() if each.strip()
    )
    assert ["solution", "changes/s"] == head[:2]
    assert ["spark-state", "100", "1.50", "s", "1.99", "s", "2.0", "MB"] == spark[:8]
    assert ["0.200", "1.500", "0.000"] == kv[8:11]
    assert ["dynamodb:", "no"] == error[:2]


def test_programs_get_the_same(spec: ProjectSpec) -> None:
    told = [solutions._data(each, spec, Prices()) for each in MEASURED]

    assert 100 == told[0]["changes_per_second"]
    assert {"requests": 0.2, "entries_read": 1.5} == told[1]["a_change"]
    assert {"solution": "dynamodb", "error": "no credentials were found."} == told[2]


def test_figures_are_kept_beside_the_checkpoints(spec: ProjectSpec) -> None:
    solutions._keep(MEASURED, spec, Prices())

    kept = json.loads((spec.path_of(spec.run.checkpoint) / "_solutions.json").read_text())
    assert ["spark-state", "kv"] == [each["solution"] for each in kept]


def test_a_price_list_is_yaml(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("worker_hour: 0.5\n")

    assert 0.5 == solutions._prices(file).worker_hour


def test_a_price_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PriceError):
        solutions._prices(tmp_path / "none.yaml")
