"""What each product of a query costs."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.solutions.spark_state.costs import ProductCosts, document_nodes, shares
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.lower_stream import lower_streams
from joinery.solutions.spark_state.program import KernelProgram
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  customer: {key: [id], fields: {id: long, name: string, city_id: long}}
  city: {key: [id], fields: {id: long, name: string}}
  purchase: {key: [id], fields: {id: long, customer_id: long, n: long}}
products:
  profile:
    root: customer
    group: all
    embed:
      home: {one: city, on: {id: city_id}, fields: [name]}
      purchases: {many: purchase, on: {customer_id: id}, fields: [n]}
    sink: {files: {path: out}}
  customers: {root: customer, fields: [id], group: all, sink: {files: {path: out}}}
"""


@pytest.fixture
def program() -> KernelProgram:
    return lower(build_plan(load_text(PROJECT)).products)


def place(program: KernelProgram, kind: str, name: str) -> int:
    return next(i for i, each in enumerate(program.nodes) if (each.kind, each.name) == (kind, name))


def test_a_shared_row_is_divided_by_what_it_is_sent_to(program: KernelProgram) -> None:
    customer = place(program, "retract", "customer")

    [part] = [shares(document_nodes(program))[customer]]

    assert {0, 1} == set(part)
    assert sum(part.values()) == pytest.approx(1)
    assert part[0] > part[1]


def test_every_node_belongs_to_products_and_no_more_than_once(program: KernelProgram) -> None:
    assert [pytest.approx(1)] * len(program.nodes) == [
        sum(each.values()) for each in shares(document_nodes(program))
    ]


def test_what_nodes_took_is_told_by_product(program: KernelProgram) -> None:
    profile, customers = place(program, "fold", "profile"), place(program, "fold", "customers")

    told = ProductCosts(program).of(
        {
            str(profile): {"nanos": 2_000_000},
            str(customers): {"nanos": 9_000},
        },
    )

    assert {
        "profile": {"us": 2000},
        "customers": {"us": 9},
    } == told


STREAM = """
relations:
  orders: {append: true, key: [id], fields: {id: long, customer_id: long}}
  customer: {key: [id], fields: {id: long, name: string}}
streams:
  named:
    from: orders
    steps: [{lookup: customer, on: {id: customer_id}, fields: [name]}]
    sink: {files: {path: out}}
"""


def test_of_the_nodes_of_streams_nothing_is_told() -> None:
    streams = build_plan(load_text(STREAM)).streams

    program = lower_streams(streams, tombstone_retention_micros=1, max_document_bytes=2).program

    assert {} == ProductCosts(program).of({"0": {"nanos": 5000}})
