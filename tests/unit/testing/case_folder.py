"""The folder of a project with cases, and what becomes of one that is written there."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.project.load import load_spec
from joinery.testing.case_load import case_files, load_cases
from joinery.testing.case_run import CaseResult, run_case

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string, since: timestamp}}
  order: {key: [number], fields: {number: long, customer_id: long, amount: "decimal(8,2)"}}
  person: {key: [person], fields: {person: long, name: string}}
  price: {key: [sku], position: at, fields: {sku: string, cents: long, at: timestamp}}
  sale: {append: true, key: [id], fields: {id: long, person: long}}
  click: {append: true, fields: {page: string}}
  visit: {key: [id], fields: {id: long, page: string, at: timestamp}, time: at}
  sample:
    key: [id]
    fields:
      {id: long, x: double, m: "map<boolean, int>", n: timestamp_ntz, xs: "array<array<double>>"}
products:
  samples: {root: sample}
  minutes:
    aggregate: visit
    by: [page]
    window: {tumbling: 1m}
    values: {visits: count(*)}
    emit: {late: dead_letter}
  profile:
    root: customer
    fields: [id, name, since]
    embed: {orders: {many: order, on: {customer_id: id}, fields: [number, amount], limit: 2}}
  by_key:
    root: customer
    fields: {title: name}
    embed: {orders: {many: order, on: {customer_id: id}, fields: [amount], as: map}}
    sink: {files: {path: out}}
  price_tag: {root: price, fields: [cents]}
  spark_only:
    root: customer
    fields: {id: id, code: crc32(name)}
streams:
  sales:
    from: sale
    steps:
      - {lookup: person, on: [person], fields: [name], on_miss: "wait:5m"}
    sink: {files: {path: out}}
  known:
    from: sale
    steps: [{lookup: person, on: [person], fields: [name], on_miss: dead_letter}]
    sink: {files: {path: out}}
  clicks: {from: click, steps: [{filter: page <> '/'}], sink: {files: {path: out}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    (tmp_path / "tests").mkdir()
    return tmp_path


def outcome(folder: Path, text: str) -> CaseResult:
    """Run the only case of a file."""
    (folder / "tests" / "a.yaml").write_text(text)
    (case,) = load_cases(load_spec(folder / "joinery.yaml"), case_files(folder))
    return run_case(case)


def problems(folder: Path, text: str) -> list[str]:
    """Return what is wrong with a file, without its name."""
    with pytest.raises(ProjectErrors) as caught:
        outcome(folder, text)
    return [
        f"{each.location.line}:{each.location.column} {each.message}"
        if each.location
        else str(each)
        for each in caught.value.problems
    ]
