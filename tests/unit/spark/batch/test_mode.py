"""What a mode asks of a checkpoint before a run begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joinery.delivery.outlet import Delaying
from joinery.plan.build import build_plan
from joinery.solutions.spark_state.fingerprint import FILE_NAME, fingerprint
from joinery.solutions.spark_state.lower import lower
from joinery.spark.batch.mode import KeepCurrent
from joinery.spark.batch.ready import Ends
from joinery.testing.conformance.project import load_text

PROJECT = """
relations: {customer: {key: [id], fields: {id: long, name: string}}}
products:
  card: {root: customer, group: shop}
  name: {root: customer, group: shop, fields: [name]}
"""


def test_what_is_noted_of_a_group_is_read_once_for_all_its_products(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    products = build_plan(load_text(PROJECT)).products
    checkpoint = tmp_path / "shop"
    for each in ("offsets", "commits"):
        (checkpoint / each).mkdir(parents=True)
        (checkpoint / each / "0").write_text("v1\n")
    (checkpoint / FILE_NAME).write_text(fingerprint(lower(products)).to_json())
    read, read_text = list[str](), Path.read_text

    def counted(path: Path, *how: Any, **more: Any) -> str:
        read.append(path.name)
        return read_text(path, *how, **more)

    monkeypatch.setattr(Path, "read_text", counted)

    outlet_of = KeepCurrent(tmp_path, tmp_path).outlets("shop", products, Ends(checkpoint, ()))
    for product in products:
        outlet_of(product, [], Delaying(lambda **_: pytest.fail("nothing is sent"), print, print))

    assert 1 == read.count(FILE_NAME)
