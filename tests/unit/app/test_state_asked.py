"""What may be asked of the state of a run, before it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from joinery.app.logs import WhyError
from joinery.app.state_documents import key_prefix
from joinery.cli.state import run_state_documents
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.load import load_spec

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  price:
    key: [id]
    fields: {id: long, amount: "decimal(8,2)", since: timestamp, booked_at: timestamp}
  wanted: {key: [id], fields: {id: long, condition: string}}
  sold:
    key: [small, price, sure, weight, name]
    fields: {small: byte, price: "decimal(8,2)", sure: boolean, weight: double, name: string}
products:
  prices: {history: price, valid: since, known_at: booked_at, sink: {files: {path: out}}}
  found:
    search: price
    queries: wanted
    query: condition
    retroactive: false
    fields: {amount: price.amount}
    sink: {files: {path: out}}
  sales: {root: sold, sink: {files: {path: out}}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a project that never ran."""
    made = tmp_path / "joinery.yaml"
    made.write_text(PROJECT, encoding="utf-8")
    return made


@pytest.fixture
def sales(file: Path) -> Product:
    """The plan of a product with a key of many types."""
    return next(each for each in build_plan(load_spec(file)).products if each.name == "sales")


@pytest.mark.parametrize(
    ("product", "why"), [("prices", "it has known_at"), ("found", "it has retroactive: false")]
)
def test_a_product_whose_state_does_not_tell_all_is_refused(
    file: Path, product: str, why: str
) -> None:
    with pytest.raises(WhyError, match=f'--state does not cover product "{product}" yet: {why}'):
        jn.state(file, product, "1")
    with pytest.raises(WhyError, match=f'joinery state does not cover product "{product}" yet'):
        jn.state_documents(file, product)


def test_a_key_begins_with_values_of_its_columns(sales: Product) -> None:
    told = {"small": "7", "price": "0.50", "sure": "true", "weight": "2.5", "name": '"a,b"'}

    assert told == key_prefix(sales, [7, "0.5", True, 2.5, "a,b"])
    assert told == key_prefix(sales, '[7, "0.50", true, 2.5, "a,b"]')
    assert {**told, "name": '"a"'} == key_prefix(sales, "7,0.5,true,2.5,a")
    assert {"small": "null"} == key_prefix(sales, [None])
    assert {} == key_prefix(sales, ())


@pytest.mark.parametrize(
    ("key", "column"),
    [
        ("300", "small as byte"),
        ([7.5], "small as byte"),
        ("7,0.505", "price as decimal"),
        ("7,NaN", "price as decimal"),
        ("7,1234567.00", "price as decimal"),
        ("7,0.50,2", "sure as boolean"),
        ("7,0.50,true,heavy", "weight as double"),
        ([7, "0.5", True, 2.5, 8], "name as string"),
    ],
)
def test_a_value_that_its_column_cannot_have_is_refused(
    sales: Product, key: Any, column: str
) -> None:
    with pytest.raises(WhyError, match=f'the key of product "sales" has {column}'):
        key_prefix(sales, key)


def test_of_several_products_one_is_named(file: Path) -> None:
    with pytest.raises(WhyError, match=r"which product\?") as refused:
        run_state_documents(file, "", None, batch=None, sample="")

    assert "Write joinery state P." == refused.value.hint
