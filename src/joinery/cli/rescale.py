"""`joinery rescale`: the state of standing checkpoints in another number of partitions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.cli.ending import DONE
from joinery.cli.project import plan_whole
from joinery.delivery.action_log import ActionLog
from joinery.delivery.query_paths import QueryPaths
from joinery.model.type import DataType
from joinery.plan.product import Product
from joinery.plan.stream import outputs_of
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATELESS = "keeps no state"


def run_rescale(
    file: Path, names: Sequence[str], partitions: int | None, master: str | None
) -> int:
    """Move the state of queries, or tell in how many partitions it is.

    Args:
        file: The project file or folder.
        names: The products whose queries are meant; empty means all.
        partitions: How many from now on; None only tells.
        master: Spark's, for the session that moves them.

    Raises:
        RescaleError: State cannot be moved.
        LeaseHeldError: A query runs.
    """
    from joinery.spark.batch.setup import check_selected, select_queries
    from joinery.spark.recovery.rescale import rescale

    spec = load_spec(file)
    opened: list[SparkSession] = []

    @cache
    def session() -> SparkSession:
        opened.append(_session(spec, master))
        return opened[0]

    try:
        spec, plan = plan_whole(spec, _AskedLater(session))
        check_selected(spec, names)
        queries = select_queries(outputs_of(plan), names)
        if partitions is None:
            return _tell(spec, queries)
        for query, products in queries.items():
            before = rescale(spec, query, products, partitions, session)
            if before is not None:
                told = f"{partitions} partitions, {before} before"
                ActionLog(spec.checkpoint).note("rescale", (query,), told)
            sys.stdout.write(f"{query}: {_moved(spec, query, partitions, before)}\n")
    finally:
        for each in opened:
            with suppress(ConnectionError):  # its process may have died
                each.stop()
    return DONE


@dataclass(frozen=True, slots=True)
class _AskedLater:
    """Types expressions in a session that is opened for the first of them."""

    session: Callable[[], SparkSession]

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        """Return the type that Spark gives an expression."""
        from joinery.spark.analyse import SparkAnalyser

        return SparkAnalyser(self.session()).type_of(sql, scope)


def _moved(spec: ProjectSpec, query: str, partitions: int, before: int | None) -> str:
    from joinery.spark.recovery.checkpoint import keeps_state

    if not keeps_state(QueryPaths.of(spec.checkpoint, query).checkpoint):
        return _STATELESS
    return f"{partitions} partitions, {f'was in {before} before' if before else 'as before'}"


def _tell(spec: ProjectSpec, queries: Mapping[str, Sequence[Product]]) -> int:
    from joinery.spark.recovery.checkpoint import keeps_state, partitions_of
    from joinery.spark.recovery.replacement import next_checkpoint

    for query in queries:
        checkpoint = next_checkpoint(spec.checkpoint, query)
        found = partitions_of(checkpoint)
        told = f"{found} partitions" if found else "no checkpoint yet"
        if found and not keeps_state(checkpoint):
            told = _STATELESS
        sys.stdout.write(f"{query}: {told}\n")
    return DONE


def _session(spec: ProjectSpec, master: str | None) -> SparkSession:
    from joinery.spark.jar import needs_s3a, s3_jars
    from joinery.spark.jvm import add_jars
    from joinery.spark.launch import checkpoint_settings
    from joinery.spark.session import open_session

    log = spec.scratch / "_logs" / "spark.log"
    settings = {**checkpoint_settings(spec), **dict(spec.run.spark)}
    session = open_session(spec.name, log=log, master=master, settings=settings)
    add_jars(session, s3_jars() if needs_s3a(spec) else ())
    return session
