"""Documents sent again where no run goes on: under its lease, by the run's own way to sinks."""

from __future__ import annotations

from contextlib import ExitStack

from joinery.plan.build import build_plan
from joinery.plan.stream import outputs_of
from joinery.project.product import ProjectSpec
from joinery.spark.batch.mode import KeepCurrent
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.setup import make_queries, select_queries
from joinery.spark.batch.tasks import SparkTasks


def repair_alone(spec: ProjectSpec, query: str) -> None:
    """Answer the requests of a query; needs no Spark session.

    Args:
        spec: The project.
        query: The query.

    Raises:
        LeaseHeldError: A run has begun meanwhile, which answers them.
        SinkError: A sink cannot be opened.
    """
    plan = build_plan(spec)
    members = {query: select_queries(outputs_of(plan))[query]}
    mode, board = KeepCurrent(spec.checkpoint, spec.scratch), ProgressBoard()
    [found] = make_queries(spec, plan, members, mode, board, SparkTasks())
    found.lease.take()
    with ExitStack() as closing:
        closing.callback(found.lease.release)
        closing.callback(found.close)
        found.open()
        found.repair()
