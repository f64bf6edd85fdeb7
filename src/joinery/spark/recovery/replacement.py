"""Puts a checkpoint that is marked as finished in the place of its query's, and keeps that one.

On a disk and in HDFS the two folders change places by their names. In an object store, where
objects cannot be renamed, their files are copied, and the mark says how far that is: the next run
goes on there.

Invariant: a checkpoint that is marked takes its place before the query runs or is rebuilt again,
whoever starts it; one that is not marked never does. Nothing of the one before is removed before it
is kept. Whoever is replaced in between, as after a network that was away, removes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from joinery.delivery.query_paths import SWAPPED, QueryPaths, rebuild_paths
from joinery.errors import FencedError
from joinery.files import write_whole
from joinery.place.guarded import Guarded
from joinery.place.place import Place
from joinery.place.remote_path import RemotePath
from joinery.spark.recovery.relocate import relocate

HELD = "joinery-held"
BELONGS = "belongs"
RESCALED = "joinery-rescale"  # marks a copy of a checkpoint that is not a rebuild
_REPLACED = "_replaced"
# What is of a rebuild or a copy alone.
_LEFT = (f"{HELD}/{BELONGS}", RESCALED, SWAPPED)
_MARKED, _KEPT, _COPIED = "", "kept", "copied"


def mark_done(checkpoint: Place) -> None:
    """Note durably that a checkpoint is to take the place of its query's."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    write_whole(checkpoint / SWAPPED, f"{now}\n", synced=True)


def put_in_place(root: Place, query: str, check: Callable[[], None] = lambda: None) -> bool:
    """Let a checkpoint that is marked take the query's place; return whether one did.

    Args:
        root: `run.checkpoint`.
        query: Whose lease is held.
        check: Raises once it is not.
    """
    fresh, standing = rebuild_paths(root, query).checkpoint, QueryPaths.of(root, query).checkpoint
    if not (fresh / SWAPPED).is_file():
        return False
    if isinstance(root, Path) and isinstance(fresh, Path) and isinstance(standing, Path):
        _rename(fresh, standing, root / _REPLACED, query)
    elif isinstance(root, RemotePath) and isinstance(fresh, RemotePath):
        assert isinstance(standing, RemotePath)  # below the same root
        put = _rename_in_turn if fresh.can_rename else _copy
        put(fresh, standing, root / _REPLACED, query, check)
    return True


def next_checkpoint(root: Place, query: str) -> Place:
    """Return the checkpoint that a query goes on from: its own, or one that waits to replace it."""
    fresh = rebuild_paths(root, query).checkpoint
    return fresh if (fresh / SWAPPED).is_file() else QueryPaths.of(root, query).checkpoint


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
        standing.rename(replaced / _kept_name(query, datetime.now(UTC)))
    fresh.rename(standing)
    for held in (standing / HELD).glob("rebuild-*"):
        held.unlink()
    (standing / SWAPPED).unlink()


def _rename_in_turn(
    fresh: RemotePath,
    standing: RemotePath,
    replaced: RemotePath,
    query: str,
    check: Callable[[], None],
) -> None:
    """Rename both folders, each if the lease is held; the mark goes with the second."""
    guarded = Guarded(check)
    if standing.exists():
        guarded.rename(standing, replaced / _kept_name(query, datetime.now(UTC)))
    guarded.rename(fresh, standing)
    for each in _LEFT:
        (standing / each).unlink()


def _copy(
    fresh: RemotePath,
    standing: RemotePath,
    replaced: RemotePath,
    query: str,
    check: Callable[[], None],
) -> None:
    """Do what is left: keep what stands, copy over it what is to stand, remove the rest."""
    mark, guarded = _Mark.of(fresh / SWAPPED), Guarded(check)
    if mark.step == _MARKED:
        kept = replaced / _kept_name(query, datetime.fromisoformat(mark.at))
        guarded.copy(standing, kept, standing.sizes())
        mark = mark.noting(_KEPT)
    if mark.step == _KEPT:
        sizes = {name: size for name, size in fresh.sizes().items() if goes_along(name)}
        guarded.copy(fresh, standing, sizes)
        check()
        relocate(standing)
        guarded.remove(standing, left=sizes)
        mark.noting(_COPIED)
    guarded.remove(fresh, left=(SWAPPED,))
    guarded.remove(fresh)  # the mark last: who finds none may begin another rebuild there


def _kept_name(query: str, at: datetime) -> str:
    return f"{query}-{at:%Y%m%dT%H%M%S%f}"


def goes_along(name: str) -> bool:
    """Return whether a file of a checkpoint goes where the checkpoint goes."""
    return name not in _LEFT


@dataclass(frozen=True, slots=True)
class _Mark:
    """The mark of a checkpoint in an object store.

    Attributes:
        file: Where it is.
        at: When the checkpoint was marked.
        step: How far it has come.
    """

    file: RemotePath
    at: str
    step: str

    @classmethod
    def of(cls, file: RemotePath) -> Self:
        """Return the mark as it stands."""
        at, *step = file.read_text().split()
        return cls(file, at, step[0] if step else _MARKED)

    def noting(self, step: str) -> Self:
        """Note a step, if nobody has noted another since; return the mark as it is then.

        Raises:
            FencedError: Somebody has, or the mark is gone.
        """
        before, after = self._text(self.step), self._text(step)

        def noted(stood: bytes | None) -> bytes | None:
            if stood not in (before, after):
                raise FencedError(
                    f"another run has taken over the replacement of {self.file.parent}",
                    hint="Nothing is lost: start this run again if no other is running.",
                )
            return after

        self.file.update(noted)
        return replace(self, step=step)

    def _text(self, step: str) -> bytes:
        return "".join(f"{each}\n" for each in (self.at, step) if each).encode()
