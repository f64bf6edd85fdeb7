"""Of which topics one task reads a batch."""

from __future__ import annotations

from joinery.plan.build import build_plan
from joinery.spark.source.source import sources_of
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  view: {append: true, fields: {page: string, at: timestamp}, time: at}
  step: {key: [id], fields: {id: long, page: string, at: timestamp}, time: at}
  user: {key: [id], fields: {id: long, name: string}}
products:
  hours: {aggregate: view, by: [page], window: {tumbling: 1h}, values: {n: count(*)}, group: g}
  names: {aggregate: user, by: [name], values: {n: count(*)}, group: g}
  twice: {pattern: step, by: [page], match: A B, within: 1h, fields: {n: count(A)}, group: g}
"""


def test_one_task_reads_what_times_before_a_row_decide_about() -> None:
    spec = load_text(PROJECT)

    (read,) = sources_of(spec, build_plan(spec).products)

    assert ("view", "step") == read.in_order
