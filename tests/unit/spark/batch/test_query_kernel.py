"""Which program of a query goes on from which checkpoint."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import joinery as jn
from joinery.solutions.spark_state.fingerprint import fingerprint
from joinery.solutions.spark_state.ledger import Ledger
from joinery.solutions.spark_state.lower import lower
from joinery.spark.batch.query_kernel import lower_products, lower_query

if TYPE_CHECKING:
    from pathlib import Path

NEAR = "{root: search, embed: {clicks: {many: click, on: {search: id}, within: [0s, 30m]}}"
HOME = "{root: user, where: city > 0, embed: {home: {one: city, on: {id: city}}}"
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
  home: {HOME}, group: g, sink: {{files: {{path: out}}}}}}
  cities: {LED}, group: g, sink: {{files: {{path: out}}}}}}
"""


@pytest.mark.parametrize("then", ["", "keeps_gathers", "keeps_judged", "former"])
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
    )
    noted = fingerprint(stood)
    standing = replace(noted, ledger=Ledger.of(stood)) if numbered else noted

    lowered = lower_query(products, project.spec.run, standing)

    assert len(lower_products(products, project.spec.run)) == 4
    ours = [each for each in (lowered.program, lowered.former) if each is not None]
    assert noted.program in [fingerprint(each).program for each in ours]
    assert () == lowered.earlier
