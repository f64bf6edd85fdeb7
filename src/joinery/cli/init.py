"""`joinery init`: a small project that runs as it is.

The small project that `joinery init` writes: customers with their orders.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from joinery.cli.ending import DONE
from joinery.errors import SpecError
from joinery.project.schema import schema_text

PROJECT = """\
# yaml-language-server: $schema=joinery.schema.json
# One document per customer, with the orders inside. Try:
#   joinery check            every problem of this file at once
#   joinery test             the cases of tests/*.yaml, in a second
#   joinery explain          how the documents are put together
#   joinery run --once       read what there is; documents appear below out/
name: shop
sources:
  changes: {files: {path: data}}        # data/<topic>/*.jsonl, one change per line
defaults: {source: changes, format: json}

relations:                              # the captured tables
  customer: {key: [id], fields: {id: long, name: string, city: string}}
  order:
    key: [number]
    fields: {number: long, customer_id: long, item: string, amount: "decimal(10,2)", status: string}

products:                               # the documents to keep
  customer_profile:
    root: customer
    fields: [id, name, city]
    embed:
      orders:
        many: order
        on: {customer_id: id}           # column of order: column of customer
        where: status <> 'cancelled'
        fields: [number, item, amount, status]
        order: [-number]
    values: {spent: sum(orders.amount), order_count: size(orders)}
    sink:
      - files: {path: out}
      - sqlite: {path: out/shop.db}
"""

CASES = """\
# What must hold, checked by `joinery test` without Spark: given these rows, expect these
# documents. All documents are listed; of each only the fields written here are compared.
product: customer_profile
cases:
  - name: a cancelled order does not count
    given:
      customer: [{id: 1, name: Ada, city: London}]
      order:
        - {number: 100, customer_id: 1, item: teapot, amount: 24.50, status: shipped}
        - {number: 101, customer_id: 1, item: cups, amount: 18.00, status: cancelled}
    expect:
      - {id: 1, orders: [{number: 100, item: teapot}], spent: 24.50, order_count: 1}

  - name: an order that is given to another customer moves
    steps:
      - given:
          customer: [{id: 1, name: Ada}, {id: 2, name: Grace}]
          order: [{number: 100, customer_id: 1, amount: 24.50, status: open}]
        expect:
          - {id: 1, spent: 24.50}
          - {id: 2, spent: null}
      - given:
          order: [{number: 100, customer_id: 2}]      # columns left out keep their values
        expect:
          - {id: 1, orders: []}
          - {id: 2, spent: 24.50}
      - given:
          customer: [{id: 1, __deleted: true}]
        expect:
          - {id: 2, spent: 24.50}
"""

PROJECT_FILE = "joinery.yaml"
SCHEMA = "joinery.schema.json"
FILES = {
    PROJECT_FILE: PROJECT,
    "tests/customer_profile.yaml": CASES,
    "data/customer/0001.jsonl": """\
{"id": 1, "name": "Ada", "city": "London"}
{"id": 2, "name": "Grace", "city": "New York"}
{"id": 3, "name": "Linus", "city": "Helsinki"}
""",
    "data/customer/0002.jsonl": """\
{"id": 2, "name": "Grace", "city": "Arlington"}
{"id": 3, "__deleted": true}
""",
    "data/order/0001.jsonl": """\
{"number": 100, "customer_id": 1, "item": "teapot", "amount": 24.50, "status": "shipped"}
{"number": 101, "customer_id": 1, "item": "cups", "amount": 18.00, "status": "open"}
{"number": 102, "customer_id": 2, "item": "kettle", "amount": 49.90, "status": "open"}
{"number": 103, "customer_id": 9, "item": "spoon", "amount": 3.20, "status": "open"}
""",
    "data/order/0002.jsonl": """\
{"number": 102, "customer_id": 2, "item": "kettle", "amount": 49.90, "status": "cancelled"}
{"number": 104, "customer_id": 2, "item": "teapot", "amount": 24.50, "status": "open"}
""",
}


class InitError(SpecError):
    """A project cannot be written here, or not from there."""

    code = "INIT"


def run_init(folder: Path) -> int:
    """Write the project into `folder`; nothing that stands there is overwritten.

    Raises:
        InitError: One of its files is there already, or the folder cannot be written.
    """
    write_new(folder, {**FILES, SCHEMA: schema_text()})
    say_next(folder, "joinery check && joinery test && joinery run --once")
    return DONE


def refuse_standing(folder: Path, files: Iterable[str]) -> None:
    """Refuse a folder that has one of the files.

    Raises:
        InitError: It has.
    """
    standing = [name for name in files if (folder / name).exists()]
    if standing:
        raise InitError(
            f"{folder / standing[0]} exists already",
            detail="Nothing was written.",
            hint="Name an empty folder: joinery init FOLDER.",
        )


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, and say their names.

    Raises:
        InitError: One of them is there already, or the folder cannot be written.
    """
    refuse_standing(folder, files)
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InitError(f"could not write into {folder}: {error.strerror}") from error
    sys.stdout.write("".join(f"{folder / name}\n" for name in files))


def say_next(folder: Path, commands: str) -> None:
    """Say what to type next."""
    inside = "" if folder == Path() else f"cd {folder} && "
    sys.stdout.write(f"\nNext: {inside}{commands}\n")
