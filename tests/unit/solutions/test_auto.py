"""Which solution `auto` is, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joinery.plan.build import build_plan
from joinery.project.product import ProjectSpec
from joinery.solutions.auto import Figures, choose, keep_figures
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user: {key: [id], fields: {id: long}}
products:
  profile: {root: user, solution: auto}
  card: {root: user, solution: kv}
"""


@pytest.fixture
def spec(tmp_path: Path) -> ProjectSpec:
    return replace(load_text(PROJECT), folder=tmp_path)


def begin(spec: ProjectSpec, solution: str) -> None:
    folder = spec.path_of(spec.run.checkpoint) / "profile"
    (folder / "offsets").mkdir(parents=True)
    (folder / "offsets" / "0").touch()
    (folder / "joinery.json").write_text(f'{{"solution": "{solution}"}}')


def measured(spec: ProjectSpec) -> None:
    at = "2026-01-02T03:04:05+00:00"
    figures = [Figures("spark-state", 9000, 0.02, at), Figures("kv", 8000, 0.01, at)]
    keep_figures(spec.path_of(spec.run.checkpoint), figures)


def test_without_figures_it_is_the_default(spec: ProjectSpec) -> None:
    chosen, (choice,) = choose(spec)

    assert ["spark-state", "kv"] == [each.solution.name for each in chosen.products]
    assert "nothing has been measured" in choice.reason


def test_with_figures_it_is_the_cheapest(spec: ProjectSpec) -> None:
    measured(spec)

    _, (choice,) = choose(spec)

    assert "kv" == choice.solution
    assert "kv $0.010 at 8,000 changes/s, spark-state $0.020 at 9,000 changes/s" in str(choice)


def test_a_checkpoint_keeps_its_solution(spec: ProjectSpec) -> None:
    measured(spec)
    begin(spec, "rdbms-store")

    _, (choice,) = choose(spec)

    assert ("rdbms-store", "its checkpoint was created with it") == (choice.solution, choice.reason)


def test_real_time_has_one_solution(spec: ProjectSpec) -> None:
    measured(spec)

    _, (choice,) = choose(replace(spec, run=replace(spec.run, real_time=True)))

    assert "spark-state" == choice.solution


def test_a_plan_is_of_the_default_until_a_run_has_chosen(spec: ProjectSpec) -> None:
    assert ["spark-state", "kv"] == [each.solution for each in build_plan(spec).products]
