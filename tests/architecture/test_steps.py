"""Each kind of step is everywhere where no type checker asks for it.

A `match` that lacks a kind does not type-check; a text, a table or a case that lacks it would
only be missing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from joinery.app.stream import Stream
from joinery.plan.build import build_plan
from joinery.plan.step import Step
from joinery.project import grammar
from joinery.project.product import ProjectSpec
from joinery.project.reference import SECTIONS
from joinery.project.schema import schema
from joinery.project.step import STEPS, StepSpec, step_data
from joinery.solutions.spark_state.program import KernelNode
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.stream_cases import stream_cases

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "kernel/src/main/java/dev/joinery/kernel/program/Program.java"
FLUENT = {"lookup": "lookup_join"}


@pytest.fixture(scope="module")
def projects() -> list[ProjectSpec]:
    return [load_text(each.project) for each in stream_cases()]


@pytest.fixture(scope="module")
def specs(projects: list[ProjectSpec]) -> list[StepSpec]:
    return [step for each in projects for stream in each.streams for step in stream.steps]


def test_a_case_of_conformance_has_each_step_of_a_file(specs: list[StepSpec]) -> None:
    assert set(get_args(StepSpec)) == {type(each) for each in specs}


def test_a_case_of_conformance_has_each_step_of_a_plan(projects: list[ProjectSpec]) -> None:
    streams = [stream for project in projects for stream in build_plan(project).streams]

    assert set(get_args(Step)) == {type(step) for stream in streams for step in stream.steps}


def test_the_grammar_names_each_step(specs: list[StepSpec]) -> None:
    written = {next(iter(step_data(each))) for each in specs}

    assert written == set(STEPS.keys()) == set(grammar.STEP)


def test_the_schema_allows_each_step() -> None:
    steps = schema()["$defs"]["step"]["anyOf"]

    assert set(STEPS.keys()) == {each["required"][0] for each in steps}


def test_the_reference_has_a_table_for_each_step_that_is_a_map() -> None:
    maps = {name for name, shape in grammar.STEP.items() if shape.get("type") == "object"}

    assert maps <= SECTIONS.keys()


def test_a_stream_in_python_has_a_method_for_each_step() -> None:
    methods = {FLUENT.get(kind, kind) for kind in STEPS}

    assert {each for each in methods if not callable(getattr(Stream, each, None))} == set()


def test_the_kernel_reads_each_kind_of_node() -> None:
    (body,) = re.findall(
        r"@JsonSubTypes\(\{([^}]*)\}\)\s*public sealed interface NodeProgram",
        PROGRAM.read_text(encoding="utf-8"),
    )
    kinds = [each.__dataclass_fields__["kind"].default for each in get_args(KernelNode)]

    assert set(kinds) <= set(re.findall(r'name = "(\w+)"', body))
