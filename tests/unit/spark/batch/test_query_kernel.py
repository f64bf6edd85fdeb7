"""Which program of a query goes on from which checkpoint."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import joinery as jn
from joinery.project.run import RunSpec
from joinery.solutions.spark_state.addition import add
from joinery.solutions.spark_state.fingerprint import fingerprint
from joinery.solutions.spark_state.ledger import Ledger
from joinery.solutions.spark_state.lower import lower
from joinery.spark.batch.query_kernel import lower_products, lower_query

if TYPE_CHECKING:
    from pathlib import Path

NEAR = "{root: search, embed: {clicks: {many: click, on: {search: id}, within: [0s, 30m]}}"
HOME = "{root: user, where: city > 0, embed: {home: {one: city, on: {id: city}}}"
CLOSED = NEAR + ", emit: {when: closed}"
LED = (
    "{root: user, embed: {cities: {many: city, through: {follow: {follower: id}},"
    " on: {id: follow.city}, limit: 3}}"
)
PROJECT = f"""
sources: {{log: {{files: {{path: data}}}}}}
relations:
  search: {{append: true, key: [id], time: at, fields: {{id: long, at: timestamp}}}}
  click: {{append: true, key: [id], time: at, fields: {{id: long, search: long, at: timestamp}}}}
  user: {{key: [id], fields: {{id: long, city: long}}}}
  city: {{key: [id], fields: {{id: long, name: string}}}}
  follow: {{key: [id], fields: {{id: long, follower: long, city: long}}}}
products:
  near: {NEAR}, group: g, sink: {{files: {{path: out}}}}}}
  answered: {CLOSED}, group: g, sink: {{files: {{path: out}}}}}}
  home: {HOME}, group: g, sink: {{files: {{path: out}}}}}}
  cities: {LED}, group: g, sink: {{files: {{path: out}}}}}}
"""


@pytest.mark.parametrize("then", ["", "keeps_closings", "keeps_gathers", "keeps_judged", "former"])
@pytest.mark.parametrize("numbered", [True, False])
def test_a_checkpoint_goes_on_whichever_of_its_products_were_lowered_otherwise_then(
    then: str, numbered: bool, tmp_path: Path
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT)
    project = jn.load(file)
    products = project.plan.products
    stood = lower(
        products,
        former=then == "former",
        keeps_judged=then == "keeps_judged",
        keeps_gathers=then == "keeps_gathers",
        keeps_closings=then == "keeps_closings",
    )
    noted = fingerprint(stood)
    standing = replace(noted, ledger=Ledger.of(stood)) if numbered else noted

    lowered = lower_query(products, project.spec.run, standing)

    assert len(lower_products(products, project.spec.run)) == 5
    ours = [each for each in (lowered.program, lowered.former) if each is not None]
    assert noted.program in [fingerprint(each).program for each in ours]
    assert () == lowered.earlier


@pytest.mark.parametrize("grouped", ["", "group: g, "])
def test_rows_that_are_searched_stay_where_a_checkpoint_has_them(
    grouped: str, tmp_path: Path
) -> None:
    head = PROJECT.partition("products:")[0]
    relation = "  saved: {key: [id], fields: {id: long, condition: string}}\n"
    sink = "sink: {files: {path: out}}"
    form = f"{{{grouped}search: user, queries: saved, query: condition, {sink}}}"
    file = tmp_path / "joinery.yaml"
    file.write_text(f"{head}{relation}products:\n  hits: {form}\n")
    project = jn.load(file)
    stood = lower(project.plan.products, keeps_searched=True)
    standing = replace(fingerprint(stood), ledger=Ledger.of(stood))

    lowered = lower_query(project.plan.products, project.spec.run, standing)

    kept = fingerprint(lowered.program if lowered.former is None else lowered.former)
    assert standing.program == kept.program
    assert (lowered.former is None) == bool(grouped)


ADDED = "{root: city, embed: {follows: {many: follow, on: {city: id}}}"


def test_a_product_that_is_added_leaves_one_that_was_lowered_otherwise_then_as_it_is(
    tmp_path: Path,
) -> None:
    kept = "{root: user, embed: {follows: {many: follow, on: {follower: id}}}"
    others = "".join(
        f"  {name}: {form}, group: g, sink: {{files: {{path: out}}}}}}\n"
        for name, form in {"kept": kept, "added": ADDED}.items()
    )
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT + others)
    project = jn.load(file)
    *stood, _ = project.plan.products
    ledger = Ledger.of(lower(stood, keeps_gathers=True))
    assert ledger is not None

    ways = [add(each, ledger) for each in lower_products(project.plan.products, RunSpec(), ledger)]

    (way,) = (each.program for each in ways if each.program is not None)
    assert ["added"] == [each.name for each in way.nodes[len(ledger.nodes) :]]
