"""The state of a standing checkpoint, moved into another number of partitions.

The query does not run meanwhile. A copy of its checkpoint is repartitioned by Spark's own tool,
which writes each row of state where its key belongs now, as one more batch that reads nothing.
The kernel writes the state of that batch once more, with the notes of what may be forgotten beside
what they tell of; then the copy takes the checkpoint's place, as a rebuild does. Nothing is read
from the sources, and nothing is sent.

In a store the copy is made where a rebuild is, and marked as none. One that was broken off is begun
again.

Invariant: until the copy is marked as whole, the query goes on from where it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.delivery.query_paths import QueryPaths, rebuild_paths
from joinery.errors import FencedError, RunError
from joinery.files import remove_folder, write_whole
from joinery.place.guarded import Guarded
from joinery.place.place import Place
from joinery.place.remote_path import RemotePath
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.spark_state.fingerprint import SPARK_STATE
from joinery.spark.batch.stores import solution_of
from joinery.spark.jvm import class_of, load_jar
from joinery.spark.partitions import MOST
from joinery.spark.real_time.uncommitted import RealTimeMark
from joinery.spark.recovery.checkpoint import keeps_state, last_batch, partitions_of, untold
from joinery.spark.recovery.relocate import relocate
from joinery.spark.recovery.replacement import RESCALED, goes_along, mark_done, put_in_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        How many there were before; None where they are as many already, or the query keeps no
        state, as an outbox.

    Raises:
        RescaleError: It cannot be; nothing was changed.
        LeaseHeldError: The query runs, or is rebuilt.
    """
    if not 1 <= partitions <= MOST:
        raise RescaleError(f"state can have 1 to {MOST} partitions, not {partitions}")
    root = spec.checkpoint
    leases = [paths.lease for paths in (QueryPaths.of(root, query), rebuild_paths(root, query))]

    def check() -> None:
        for each in leases:
            each.check()

    with ExitStack() as held:
        for lease in leases:
            lease.take()
            held.callback(lease.release)
        put_in_place(root, query, check)
        standing = QueryPaths.of(root, query).checkpoint
        before = _partitions(query, products, standing)
        if before == partitions or not keeps_state(standing):
            return None
        _refuse_rebuild(root, query)
        _move(_Copy(root, query, check), partitions, session())
        put_in_place(root, query, check)
        return before


def _partitions(query: str, products: Sequence[Product], checkpoint: Place) -> int:
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
    if untold(checkpoint) is not None:
        raise RescaleError(
            f'products that were added to query "{query}" are not built yet',
            hint="Build them first: joinery run --once.",
        )
    return standing


def _refuse_rebuild(root: Place, query: str) -> None:
    """Refuse where a rebuild was begun: it goes on where it was, and takes the query's place."""
    rebuilt = rebuild_paths(root, query).checkpoint
    if rebuilt.exists() and not (rebuilt / RESCALED).exists():
        raise RescaleError(
            f'a rebuild of query "{query}" is not finished',
            hint="Finish it first: joinery run --rebuild.",
        )


@dataclass(frozen=True, slots=True)
class _Copy:
    """The copy of a query's checkpoint in which the state is moved.

    Attributes:
        root: `run.checkpoint`.
        check: Raises once the leases on the query and on its rebuild are not held.
    """

    root: Place
    query: str
    check: Callable[[], None]

    @property
    def place(self) -> Place:
        """Where it is made: in a store, where it waits; what is begun there is marked as such."""
        if isinstance(self.root, Path):
            return self.root / "_rescale" / self.query
        return self._waiting

    def make(self) -> Place:
        """Copy the checkpoint again; return where."""
        standing, fresh = QueryPaths.of(self.root, self.query).checkpoint, self.place
        if isinstance(standing, RemotePath) and isinstance(fresh, RemotePath):
            guarded = Guarded(self.check)
            guarded.remove(fresh)
            write_whole(fresh / RESCALED, "", synced=True)
            sizes = standing.sizes()
            guarded.copy(standing, fresh, {each: sizes[each] for each in sizes if goes_along(each)})
        elif isinstance(standing, Path) and isinstance(fresh, Path):
            shutil.rmtree(fresh, ignore_errors=True)
            shutil.copytree(standing, fresh)
        self.check()
        relocate(fresh)
        return fresh

    def remove(self) -> None:
        """Remove it, if it is still this run's."""
        if isinstance(self.place, RemotePath):
            Guarded(self.check).remove(self.place)
        else:
            remove_folder(self.place)

    def finish(self) -> None:
        """Have it wait to take the checkpoint's place."""
        fresh, waiting = self.place, self._waiting
        self.check()
        mark_done(fresh)
        if isinstance(fresh, Path) and isinstance(waiting, Path):
            waiting.parent.mkdir(exist_ok=True)
            fresh.rename(waiting)

    @property
    def _waiting(self) -> Place:
        return rebuild_paths(self.root, self.query).checkpoint


def _move(copy: _Copy, partitions: int, session: SparkSession) -> None:
    """Repartition a copy of a query's checkpoint, and have it wait to take its place."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.base import PySparkException

    fresh = copy.make()
    RealTimeMark(fresh).renumber()
    try:
        manager = session._jsparkSession.streamingCheckpointManager()
        manager.repartition(str(fresh), partitions, True)
        _move_notes(fresh, partitions, session)
    except PySparkException as error:
        raise _unmoved(copy, error.getMessage() or str(error)) from error
    except Py4JJavaError as error:
        raise _unmoved(copy, str(error.java_exception)) from error
    copy.finish()


def _move_notes(fresh: Place, partitions: int, session: SparkSession) -> None:
    """Have the kernel move what is noted of state, which Spark's tool takes for state itself."""
    batch, _ = last_batch(fresh)
    load_jar(session)
    door = class_of(session, "dev.joinery.kernel.door.Rescale")
    door.finish(session._jsparkSession, str(fresh), batch, partitions)


def _unmoved(copy: _Copy, reason: str) -> RescaleError:
    """Give the copy up, and return what says so."""
    with suppress(OSError, FencedError):  # else the next one starts over
        copy.remove()
    detail = reason.strip().splitlines()[0]
    return RescaleError(f'the state of query "{copy.query}" could not be moved', detail=detail)
