"""Puts a checkpoint that is marked as finished in the place of its query's, and keeps that one.

On a disk the two folders change places by their names. In an object store, where nothing has its
name changed, their files are copied, and the mark says how far that is: whoever is interrupted
goes on there.

Invariant: a checkpoint that is marked takes its place before the query runs again, whoever starts
it; one that is not marked never does. Nothing of the one before is removed before it is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from joinery.delivery.query_paths import QueryPaths, rebuild_paths
from joinery.files import write_whole
from joinery.place.object_path import ObjectPath
from joinery.place.place import Place
from joinery.solutions.spark_state.fingerprint import relocate

MARK = "joinery-swapped"
HELD = "joinery-held"
_REPLACED = "_replaced"
_KEPT, _COPIED = "kept", "copied"


def mark_done(checkpoint: Place) -> None:
    """Note durably that a checkpoint is to take the place of its query's."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    write_whole(checkpoint / MARK, f"{now}\n", synced=True)


def put_in_place(root: Place, query: str, check: Callable[[], None] = lambda: None) -> bool:
    """Let a checkpoint that is marked take the query's place; return whether one did.

    Args:
        root: `run.checkpoint`.
        query: Whose lease is held.
        check: Raises once it is not.
    """
    fresh, standing = rebuild_paths(root, query).checkpoint, QueryPaths.of(root, query).checkpoint
    if not (fresh / MARK).is_file():
        return False
    if isinstance(root, Path) and isinstance(fresh, Path) and isinstance(standing, Path):
        _rename(fresh, standing, root / _REPLACED, query)
    elif isinstance(fresh, ObjectPath) and isinstance(standing, ObjectPath):
        _copy(fresh, standing, root / _REPLACED, query, check)
    return True


def finish(root: Place, query: str) -> None:
    """Put a checkpoint in its place that is marked and not there yet.

    Raises:
        LeaseHeldError: The query runs.
    """
    lease = QueryPaths.of(root, query).lease
    lease.take()
    try:
        put_in_place(root, query, lease.check)
    finally:
        lease.release()


def _rename(fresh: Path, standing: Path, replaced: Path, query: str) -> None:
    if standing.exists():
        replaced.mkdir(exist_ok=True)
        at = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        standing.rename(replaced / f"{query}-{at}")
    fresh.rename(standing)
    for held in (standing / HELD).glob("rebuild-*"):
        held.unlink()
    (standing / MARK).unlink()


def _copy(
    fresh: ObjectPath,
    standing: ObjectPath,
    replaced: Place,
    query: str,
    check: Callable[[], None],
) -> None:
    """Do what is left: keep what stands, copy what is to stand, remove that."""
    mark = fresh / MARK
    at, step = (*mark.read_text().split(), "")[:2]
    if not step:
        kept = replaced / f"{query}-{datetime.fromisoformat(at):%Y%m%dT%H%M%S}"
        assert isinstance(kept, ObjectPath)  # below the same root
        standing.copy(kept)
        check()
        standing.remove()
        step = _noted(mark, at, _KEPT)
    if step == _KEPT:
        check()
        standing.remove()  # as far as an interrupted copy has come
        fresh.copy(standing, left_out=(MARK, HELD))
        relocate(standing)
        check()
        step = _noted(mark, at, _COPIED)
    check()
    # By what is held, a rebuild knows that a checkpoint is whole.
    (fresh / HELD).remove()
    fresh.remove()


def _noted(mark: ObjectPath, at: str, step: str) -> str:
    mark.write(f"{at}\n{step}\n".encode())
    return step
