"""The rows of documents as the state of a run has them, beside those that it read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.session_run import run_to_end
from typer.testing import CliRunner

import joinery as jn
from joinery.app.logs import WhyError
from joinery.app.state_documents import key_prefix
from joinery.app.state_rows import parts_of
from joinery.cli.commands import app
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.relation import Relation
from joinery.project.load import load_spec
from joinery.provenance.answer import Part
from joinery.spark.recovery.state_reader import StateReader, StateReadError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  country: {key: [id], fields: {id: int, name: string}}
  city: {key: [code], fields: {code: string, country_id: long, name: string}}
  customer: {key: [id], fields: {id: long, city: string, name: string, lsn: long}, position: lsn}
  order:
    key: [shop, number]
    fields: {shop: string, number: long, customer_id: long, paid: boolean}
  line: {key: [id], fields: {id: long, shop: string, number: long, sku: string}, where: id <> 13}
  item: {key: [sku], fields: {sku: string, name: string}}
  hall: {key: [id], fields: {id: long, name: string}}
  seat: {key: [hall, row], fields: {hall: long, row: long, name: string}}
  event: {key: [id], append: true, fields: {id: long, customer_id: long, text: string}}
  follow: {key: [who, whom], fields: {who: long, whom: long}}
run: {spark: {spark.sql.shuffle.partitions: "3"}}
products:
  profile:                       # a Fold, fused, with Folds and ToOnes below
    root: customer
    group: all
    fields: [name]
    embed:
      orders:
        many: order
        on: {customer_id: id}
        order: [-number]
        where: paid
        fields: [number]
        embed:
          lines:
            many: line
            on: [shop, number]
            fields: [id]
            order: [id]
            embed: {item: {one: item, on: [sku], fields: [name]}}
      home:
        one: city
        on: {code: city}
        fields: [name]
        embed: {land: {one: country, on: {id: country_id}, fields: [name], hidden: true}}
        values: {country: land.name}
    sink: {files: {path: out}}
  town:                          # a Match with two arms, a limit, a map, and one of several
    root: city
    group: all
    fields: [code]
    embed:
      first: {one: customer, on: {city: code}, order: [name], fields: [name]}
      few: {many: customer, on: {city: code}, order: [-id], limit: 2, fields: [id]}
      all: {many: customer, on: {city: code}, as: map, fields: [name]}
      counted: {many: customer, on: {city: code}, hidden: true}
    values: {n: count(counted)}
    sink: {files: {path: out}}
  receipt:                       # a Root over ToOnes
    root: order
    group: all
    fields: [number]
    embed:
      customer:
        one: customer
        on: {id: customer_id}
        fields: [name]
        embed: {city: {one: city, on: {code: city}, fields: [name]}}
    sink: {files: {path: out}}
  place:                         # rows that no Retract keeps
    root: seat
    group: all
    fields: [name]
    embed: {hall: {one: hall, on: {id: hall}, fields: [name]}}
    sink: {files: {path: out}}
  told:                          # a log
    root: event
    group: all
    fields: [text]
    embed:
      customer: {one: customer, on: {id: customer_id}, fields: [name]}
      others: {many: order, on: [customer_id], fields: [number]}
    sink: {files: {path: out}}
  heard:                         # rows of a log at its root, which a ToOne keeps by customer
    root: event
    group: all
    fields: [text]
    embed: {customer: {one: customer, on: {id: customer_id}, fields: [name]}}
    sink: {files: {path: out}}
  story:                         # rows of a log, which documents alone have
    root: customer
    group: all
    fields: [name]
    embed: {events: {many: event, on: {customer_id: id}, fields: [text]}}
    sink: {files: {path: out}}
  feed:
    root: customer
    group: all
    fields: [name]
    embed:
      seen:
        many: order
        through: {follow: {who: id}}
        on: {customer_id: follow.whom}
        fields: [number]
        order: [number]
        limit: 3
    sink: {files: {path: out}}
"""
Rows = Mapping[str, list[dict[str, Any]]]
FIRST: Rows = {
    "country": [{"id": 1, "name": "Chile"}, {"id": 2, "name": "Peru"}],
    "city": [
        {"code": "s", "country_id": 1, "name": "Santiago"},
        {"code": "l", "country_id": 2, "name": "Lima"},
        {"code": "x", "country_id": None, "name": "Nowhere"},
    ],
    "customer": [
        {"id": n, "city": "sslx"[n % 4], "name": f"c{9 - n}", "lsn": 100 + n} for n in range(8)
    ],
    "order": [
        {"shop": "ab"[n % 2], "number": n, "customer_id": n % 5, "paid": n % 7 != 0}
        for n in range(20)
    ],
    "line": [
        {"id": n, "shop": "ab"[n % 2], "number": n % 20, "sku": f"i{n % 6}"} for n in range(40)
    ],
    "item": [{"sku": f"i{n}", "name": f"item {n}"} for n in range(5)],
    "hall": [{"id": 1, "name": "large"}],
    "seat": [{"hall": n, "row": n * 2, "name": f"s{n}"} for n in range(3)],
    "event": [{"id": n, "customer_id": n % 3, "text": f"t{n}"} for n in range(6)],
    "follow": [{"who": 1, "whom": 2}],
}
SECOND: Rows = {
    "customer": [
        {"id": 0, "city": "l", "name": "moved", "lsn": 200},
        {"id": 3, "__deleted": True, "lsn": 201},
    ],
    "order": [
        {"shop": "a", "number": 2, "customer_id": 1, "paid": True},
        {"shop": "b", "number": 3, "__deleted": True},
    ],
    "line": [{"id": 2, "shop": "b", "number": 1, "sku": "i1"}],
    "item": [{"sku": "i0", "__deleted": True}],
    "city": [{"code": "x", "country_id": 2, "name": "Somewhere"}],
}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of which two batches are read, one after the other."""
    made = tmp_path_factory.mktemp("rows")
    (made / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    for number, each in enumerate((FIRST, SECOND)):
        for relation, rows in each.items():
            file = made / "data" / relation / f"{number}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        run_to_end(spark, made)
    return made


def standing(folder: Path, batches: int) -> list[Change]:
    """Return the rows that stand after some batches."""
    keys = {each.name: each.key for each in load_spec(folder / "joinery.yaml").relations}
    found: dict[tuple[str, str], Change] = {}
    for each in (FIRST, SECOND)[:batches]:
        for relation, rows in each.items():
            for row in rows:
                key = {name: row[name] for name in keys[relation]}
                position = row.get("lsn")
                change = Change(relation, key, row, position)
                found[relation, json.dumps(key)] = change
                if row.get("__deleted"):
                    del found[relation, json.dumps(key)]
    return [*found.values()]


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("product", ["profile", "town", "receipt", "place", "told"])
def test_the_rows_of_a_document_are_those_that_stand(
    folder: Path, product: str, batch: int
) -> None:
    spec = load_spec(folder / "joinery.yaml")
    products = build_plan(spec).products
    plan = next(each for each in products if each.name == product)
    every = standing(folder, batch + 1)
    roots = [each for each in every if each.relation == plan.root.relation.name]
    names = {each.name for each in plan.relations}
    shown = 0
    with StateReader(spec, products, batch) as state:
        for root in roots:
            others = [each for each in every if each is not root and each.relation in names]
            expected = parts_of(plan, [root, *others], None)
            prefix = key_prefix(plan, list(root.key.values()))
            found = parts_of(plan, state.rows(product, prefix), None)

            assert told(expected) == told(found)
            shown += len(found)
    assert shown > len(roots)


def told(parts: Iterable[tuple[Part, Relation, Change]]) -> list[object]:
    """Return rows with their parts."""
    return [
        (part.path, part.hidden, part.relation, part.key, part.position, change.after)
        for part, _, change in parts
    ]


def test_rows_are_values_for_python_and_lines_of_the_command(folder: Path) -> None:
    root, hall = jn.state_rows(folder, "place", (1, 2))

    assert ("(root)", "seat", {"hall": 1, "row": 2}) == (root.path, root.relation, root.key)
    assert ("hall", {"id": 1, "name": "large"}, None) == (hall.path, hall.row, hall.position)
    asked = ["state", "receipt", "--rows", "--key", "a,0", "--file", str(folder)]
    shown = CliRunner().invoke(app, asked).stdout.splitlines()
    assert (
        '{"part":"customer","relation":"customer","key":{"id":0},'
        '"row":{"id":0,"city":"l","name":"moved","lsn":200},"position":200,"hidden":false}'
    ) == shown[1]
    assert [] == jn.state_rows(folder, "place", (9, 9))


@pytest.mark.parametrize(
    ("product", "key", "error", "message"),
    [
        (
            "story",
            1,
            StateReadError,
            r"the rows of event \(the state has them in documents alone\) cannot",
        ),
        ("heard", 1, StateReadError, r"the rows of event \("),
        ("feed", 1, StateReadError, "the rows of feed/seen"),
        ("place", 1, WhyError, "needs all columns of its key"),
    ],
)
def test_rows_that_cannot_be_walked_to_are_refused(
    folder: Path, product: str, key: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        jn.state_rows(folder, product, key)


def test_rows_need_a_key(folder: Path) -> None:
    shown = CliRunner().invoke(app, ["state", "place", "--rows", "--file", str(folder)])
    assert 2 == shown.exit_code
    assert "--rows needs --key" in shown.output
