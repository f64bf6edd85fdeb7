"""Plans a project for a command; Spark is started only where an expression needs its analyser.

What leads the names of the tables that a query's checkpoint keeps its state in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.errors import ProjectErrors

if TYPE_CHECKING:
    from joinery.expression.expression import Analyser
    from joinery.model.type import DataType
    from joinery.model.warning import RunWarning
    from joinery.plan.product import Plan
    from joinery.project.product import ProjectSpec


class LazySparkAnalyser:
    """An analyser that starts Spark when it is first asked, and ends it with the command."""

    def __init__(self) -> None:
        self._analyser: Analyser | None = None
        self._session: Any = None

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        """Return the type that Spark gives an expression."""
        if self._analyser is None:
            from joinery.spark.analyse import SparkAnalyser
            from joinery.spark.session import active_session

            self._analyser = SparkAnalyser(active_session() or self._opened())
        return self._analyser.type_of(sql, scope)

    def _opened(self) -> Any:
        import tempfile

        from joinery.spark.session import open_session

        log = Path(tempfile.mkdtemp(prefix="joinery-")) / "spark.log"
        self._session = open_session("check", log=log, master="local[1]")
        return self._session

    def close(self) -> None:
        """End Spark, if it was started here."""
        if self._session is not None:
            self._session.stop()


@contextmanager
def analyser() -> Iterator[LazySparkAnalyser]:
    """Give an analyser for the time of a command."""
    opened = LazySparkAnalyser()
    try:
        yield opened
    finally:
        opened.close()


def plan_project(
    spec: ProjectSpec, *, solution: str | None = None
) -> tuple[ProjectSpec, Plan | None]:
    """Return a project with its solutions chosen, and its plan; None where Spark must plan it.

    Args:
        spec: As it was read.
        solution: Instead of what its products name.

    Raises:
        ProjectErrors: With every problem.
    """
    from joinery.expression.problem import UNCHECKED
    from joinery.plan.build import build_plan
    from joinery.project.product import with_solution

    if solution is not None:
        spec = with_solution(spec, solution)
    spec = _chosen(spec)
    try:
        return spec, build_plan(spec)
    except ProjectErrors as errors:
        if any(each.code == UNCHECKED for each in errors.problems):
            return spec, None
        raise


def plan_whole(spec: ProjectSpec, asked: Analyser | None = None) -> tuple[ProjectSpec, Plan]:
    """Return a project with its solutions chosen, and its plan.

    Args:
        spec: As it was read.
        asked: Types what only Spark knows; without it Spark is started where it must.

    Raises:
        ProjectErrors: With every problem.
    """
    from joinery.plan.build import build_plan

    spec = _chosen(spec)
    if asked is not None:
        return spec, build_plan(spec, asked)
    with analyser() as spark:
        return spec, build_plan(spec, spark)


def _chosen(spec: ProjectSpec) -> ProjectSpec:
    from joinery.solutions.auto import choose

    spec, choices = choose(spec)
    for choice in choices:
        sys.stderr.write(f"{choice}\n")
    return spec


def standing_name(spec: ProjectSpec, query: str) -> str:
    """Return the name of a query's store; the query's own where no run has begun it."""
    from joinery.delivery.query_paths import QueryPaths
    from joinery.spark.batch.stores import FILE_NAME

    place = QueryPaths.of(spec.checkpoint, query)
    try:
        return str(json.loads((place.checkpoint / FILE_NAME).read_text(encoding="utf-8"))["name"])
    except FileNotFoundError:
        return query


def write_warning(warning: RunWarning) -> None:
    """Write a warning to standard error: what and where, facts, what to do."""
    sys.stderr.write(f"warning: {warning}\n")
    sys.stderr.flush()


def warnings_once() -> Callable[[RunWarning], None]:
    """Return what writes warnings to standard error, each of a kind and a thing once."""
    known: set[tuple[str, str]] = set()

    def write(warning: RunWarning) -> None:
        if (named := (warning.code, warning.about)) not in known:
            known.add(named)
            write_warning(warning)

    return write
