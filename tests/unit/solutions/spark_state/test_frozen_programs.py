"""The hash of a program of each form is that of an earlier version, whose checkpoints go on.

Where one differs, every checkpoint of its form is refused. What a node learns is left out where it
says nothing (`program._ADDED`), so that only programs which use it have another hash. A hash is
written anew only where state really has another meaning.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.solutions.spark_state.frozen import PRODUCTS, RELATIONS

import joinery as jn
from joinery.plan.product import Plan
from joinery.solutions.spark_state.fingerprint import fingerprint
from joinery.solutions.spark_state.lower import (
    gathers_in_folds,
    has_cells_in_searches,
    has_deadlines_beside,
    judges_rows_that_come,
    lower,
)
from joinery.solutions.spark_state.lower_stream import lower_streams

STREAMS = {
    "lookup": ("[{lookup: user, on: {id: user}, on_change: re_emit, for: 7d}]", "1884ac54814c3781"),
    "as of": ("[{lookup: city, on: {name: type}, as_of: event}]", "92049c191404d745"),
    "rolling": ("[{rolling: {by: [user], over: 10m, values: {n: count(*)}}}]", "e620c037aa1774d4"),
}


def plan(text: str, folder: Path) -> Plan:
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return jn.load(folder / "joinery.yaml").plan


@pytest.mark.parametrize("form", PRODUCTS)
def test_a_checkpoint_of_a_product_goes_on(form: str, tmp_path: Path) -> None:
    text, first = PRODUCTS[form]

    program = lower(plan(RELATIONS + text + "\n", tmp_path).products)

    assert first == fingerprint(program).program[:16]


def test_a_checkpoint_in_which_rows_of_an_interval_are_kept_goes_on(tmp_path: Path) -> None:
    products = plan(f"{RELATIONS}{PRODUCTS['within'][0]}\n", tmp_path).products

    program, former = lower(products), lower(products, keeps_judged=True)

    assert judges_rows_that_come(program)
    assert "424fb9464839e307" == fingerprint(former).program[:16]


def test_a_checkpoint_in_which_deadlines_stand_before_the_fold_goes_on(tmp_path: Path) -> None:
    within = PRODUCTS["within"][0].removesuffix("}")
    products = plan(f"{RELATIONS}{within}, emit: {{when: closed}}}}\n", tmp_path).products

    program, former = lower(products), lower(products, keeps_closings=True)

    assert has_deadlines_beside(program)
    assert "7150f1e091f02f61" == fingerprint(former).program[:16]


def test_a_checkpoint_in_which_a_gather_stands_before_the_fold_goes_on(tmp_path: Path) -> None:
    products = plan(f"{RELATIONS}{PRODUCTS['through'][0]}\n", tmp_path).products

    program, former = lower(products), lower(products, keeps_gathers=True)

    assert gathers_in_folds(program)
    assert "3f3f7b2047b2b218" == fingerprint(former).program[:16]


@pytest.mark.parametrize(
    ("form", "first"), [("search", "dcfeda8ccb1590bc"), ("words", "95e7dbfbd2eb83ce")]
)
def test_a_checkpoint_in_which_a_retract_has_what_is_searched_goes_on(
    form: str, first: str, tmp_path: Path
) -> None:
    products = plan(f"{RELATIONS}{PRODUCTS[form][0]}\n", tmp_path).products

    program, former = lower(products), lower(products, keeps_searched=True)

    assert has_cells_in_searches(program)
    assert first == fingerprint(former).program[:16]


@pytest.mark.parametrize("steps", STREAMS)
def test_a_checkpoint_of_a_stream_goes_on(steps: str, tmp_path: Path) -> None:
    text, first = STREAMS[steps]
    relations = RELATIONS.partition("products:")[0]
    streams = f"streams:\n  s: {{from: event, steps: {text}, sink: {{files: {{path: out}}}}}}\n"

    lowered = lower_streams(
        plan(relations + streams, tmp_path).streams,
        tombstone_retention_micros=1,
        max_document_bytes=1,
    )

    assert first == fingerprint(lowered.program).program[:16]
