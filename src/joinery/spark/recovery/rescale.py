"""The state of a standing checkpoint, moved into another number of partitions.

The query does not run meanwhile. A copy of its checkpoint is repartitioned by Spark's own tool,
which writes each row of state where its key belongs now, as one more batch that reads nothing.
The kernel writes the state of that batch once more, with the notes of what may be forgotten beside
what they tell of; then the copy takes the checkpoint's place, as a rebuild does. Nothing is read
from the sources, and nothing is sent.

Invariant: until the copy is marked as whole, the query goes on from where it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.delivery.query_paths import QueryPaths, rebuild_paths
from joinery.errors import RunError
from joinery.place.place import local
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.spark_state.fingerprint import SPARK_STATE, relocate
from joinery.spark.batch.stores import solution_of
from joinery.spark.jvm import class_of, load_jar
from joinery.spark.partitions import MOST
from joinery.spark.real_time.uncommitted import RealTimeMark
from joinery.spark.recovery.checkpoint import last_batch, partitions_of
from joinery.spark.recovery.replacement import mark_done, put_in_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


_WHAT = "joinery rescale"


class RescaleError(RunError):
    """The state of a checkpoint cannot be moved into another number of partitions."""

    code = "RUN_RESCALE"


def rescale(
    spec: ProjectSpec,
    query: str,
    products: Sequence[Product],
    partitions: int,
    session: Callable[[], SparkSession],
) -> int | None:
    """Let a query go on with its state in another number of partitions.

    Args:
        spec: The project.
        query: The query's name.
        products: Those of the query.
        partitions: How many.
        session: Opens the session that moves the state, if there is something to move.

    Returns:
        How many there were before; None where they are as many already.

    Raises:
        RescaleError: It cannot be; nothing was changed.
        LeaseHeldError: The query runs, or is rebuilt.
    """
    if not 1 <= partitions <= MOST:
        raise RescaleError(f"state can have 1 to {MOST} partitions, not {partitions}")
    root = local(spec.checkpoint, _WHAT)
    with ExitStack() as held:
        for paths in (QueryPaths.of(root, query), rebuild_paths(root, query)):
            lease = paths.lease
            lease.take()
            held.callback(lease.release)
        put_in_place(root, query)
        before = _partitions(query, products, QueryPaths.of(root, query).on_disk(_WHAT))
        if before == partitions:
            return None
        _refuse_rebuild(root, query)
        _move(root, query, partitions, session())
        put_in_place(root, query)
        return before


def _partitions(query: str, products: Sequence[Product], checkpoint: Path) -> int:
    """Return in how many partitions the state of a checkpoint is that can be moved."""
    solution = solution_of(products)
    if solution != SPARK_STATE:
        raise RescaleError(
            f'query "{query}" keeps its state in {solution}, which has no partitions to change',
            hint="Use --product to name those to rescale.",
        )
    number, committed = last_batch(checkpoint)
    standing = partitions_of(checkpoint)
    if number is None or standing is None:
        raise RescaleError(
            f'query "{query}" has no checkpoint yet',
            hint="Its first run sets them, to spark.sql.shuffle.partitions in run.spark.",
        )
    if not committed:
        raise RescaleError(
            f'the last batch of query "{query}" is not finished',
            hint="Finish it first: joinery run --once.",
        )
    return standing


def _refuse_rebuild(root: Path, query: str) -> None:
    """Refuse where a rebuild was begun: it goes on where it was, and takes the query's place."""
    if rebuild_paths(root, query).checkpoint.exists():
        raise RescaleError(
            f'a rebuild of query "{query}" is not finished',
            hint="Finish it first: joinery run --rebuild.",
        )


def _move(root: Path, query: str, partitions: int, session: SparkSession) -> None:
    """Repartition a copy of a query's checkpoint, and have it wait to take its place."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.base import PySparkException

    standing, fresh = QueryPaths.of(root, query).on_disk(_WHAT), root / "_rescale" / query
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(standing, fresh)
    relocate(fresh)
    RealTimeMark(fresh).renumber()
    try:
        manager = session._jsparkSession.streamingCheckpointManager()
        manager.repartition(str(fresh), partitions, True)
        _move_notes(fresh, partitions, session)
    except PySparkException as error:
        raise _unmoved(query, fresh, error.getMessage() or str(error)) from error
    except Py4JJavaError as error:
        raise _unmoved(query, fresh, str(error.java_exception)) from error
    mark_done(fresh)
    waiting = rebuild_paths(root, query).on_disk(_WHAT)
    waiting.parent.mkdir(exist_ok=True)
    fresh.rename(waiting)


def _move_notes(fresh: Path, partitions: int, session: SparkSession) -> None:
    """Have the kernel move what is noted of state, which Spark's tool takes for state itself."""
    batch, _ = last_batch(fresh)
    load_jar(session)
    door = class_of(session, "dev.joinery.kernel.door.Rescale")
    door.finish(session._jsparkSession, str(fresh), batch, partitions)


def _unmoved(query: str, fresh: Path, reason: str) -> RescaleError:
    """Give the copy up, and return what says so."""
    shutil.rmtree(fresh, ignore_errors=True)
    detail = reason.strip().splitlines()[0]
    return RescaleError(f'the state of query "{query}" could not be moved', detail=detail)
