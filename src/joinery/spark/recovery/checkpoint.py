"""Where a query's checkpoint stands in its sources, and which sources those are.

Spark numbers the sources of a query and keeps a position for each number; which source a
number is, stands in `joinery.sources.json` beside them. Invariant: positions of one source
are never taken for those of another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from joinery.capture.spool import ANEW, SpoolFolder
from joinery.errors import FencedError, RunError, StateMismatchError
from joinery.files import write_first, write_whole
from joinery.place.place import Place, numbers_in
from joinery.solutions.spark_state.addition import Telling
from joinery.solutions.spark_state.fingerprint import standing_fingerprint
from joinery.spark.partitions import PARTITIONS
from joinery.spark.source.source import SourceRead

FILE_NAME = "joinery.sources.json"
ENDED = "joinery.ended.json"
_HEADER = 2  # Spark's version line, and the batch's settings
_TIME = "batchTimestampMs"
STATE_STORE = "spark.sql.streaming.stateStore."


class DamagedCheckpointError(RunError):
    """A file of a checkpoint is not what was written there."""

    code = "RUN_DAMAGED"


def committed_positions(checkpoint: Place) -> tuple[str, ...]:
    """Return the position of each source after the last batch that was committed.

    It is empty where no batch was.
    """
    done = numbers_in(checkpoint / "commits") & numbers_in(checkpoint / "offsets")
    if not done:
        return ()
    return positions_after(checkpoint, max(done))


def last_batch(checkpoint: Place) -> tuple[int | None, bool]:
    """Return the number of the last batch that was begun, and whether it was committed.

    There is no number where none was begun.
    """
    begun = numbers_in(checkpoint / "offsets")
    if not begun:
        return None, True
    return max(begun), max(begun) in numbers_in(checkpoint / "commits")


def positions_after(checkpoint: Place, batch_id: int) -> tuple[str, ...]:
    """Return the position of each source after a batch, which is logged before the batch runs.

    Raises:
        DamagedCheckpointError: It has none, and every query has a source.
    """
    file = checkpoint / "offsets" / str(batch_id)
    positions = tuple(file.read_text(encoding="utf-8").splitlines()[_HEADER:])
    if not positions:
        raise _damaged(file)
    return positions


def last_batch_time_ms(checkpoint: Place) -> int:
    """Return when the last batch was that was begun, in milliseconds since 1970; else 0."""
    begun = numbers_in(checkpoint / "offsets")
    return batch_time_ms(checkpoint, max(begun)) if begun else 0


def batch_time_ms(checkpoint: Place, batch: int) -> int:
    """Return when a batch that was begun was, in milliseconds since 1970."""
    return int(_settings(checkpoint, batch)[_TIME])


def state_settings(checkpoint: Place, batch: int) -> dict[str, str]:
    """Return the settings of Spark's state stores with which a batch began, and its partitions."""
    noted: dict[str, str] = _settings(checkpoint, batch).get("conf", {})
    return {
        name: each
        for name, each in noted.items()
        if name == PARTITIONS or name.startswith(STATE_STORE)
    }


def state_ids(checkpoint: Place, batch: int) -> dict[str, list[list[str]]]:
    """Return the names of the state that counts after a committed batch.

    By operator, then by partition; the first of each is that of its only store. Empty where the
    state was written without names.

    Raises:
        DamagedCheckpointError: A file of the batch is damaged.
    """
    file = checkpoint / "commits" / str(batch)
    try:
        told = json.loads(file.read_text(encoding="utf-8").splitlines()[1])
    except (ValueError, IndexError) as error:
        raise _damaged(file) from error
    ids: dict[str, list[list[str]]] = told.get("stateUniqueIds") or {}
    return ids


def partitions_of(checkpoint: Place) -> int | None:
    """Return in how many partitions a checkpoint keeps state; None before its first batch."""
    begun = numbers_in(checkpoint / "offsets")
    if not begun:
        return None
    noted = _settings(checkpoint, max(begun)).get("conf", {}).get(PARTITIONS)
    return int(noted) if noted else None


def keeps_state(checkpoint: Place) -> bool:
    """Return whether a query that has run batches remembers anything; an outbox does not."""
    return bool(numbers_in(checkpoint / "state"))


def begin_empty_batch(checkpoint: Place, now_ms: int, check: Callable[[], None]) -> None:
    """Log a batch that reads nothing, after the last one, which is committed.

    A query that starts here runs it before it looks for anything new, as it does a batch
    that broke off.

    Args:
        checkpoint: Of a query that does not run and has run a batch.
        now_ms: The batch's time, in milliseconds since 1970.
        check: Raises once another run has taken over; called before it is logged.

    Raises:
        FencedError: Another run has taken over, or logged such a batch.
    """
    last = max(numbers_in(checkpoint / "offsets"))
    lines = (checkpoint / "offsets" / str(last)).read_text(encoding="utf-8").splitlines()
    settings = _settings(checkpoint, last)
    settings[_TIME] = max(now_ms, settings[_TIME] + 1)  # Versions rise.
    lines[1] = json.dumps(settings, separators=(",", ":"))
    check()
    try:
        write_first(checkpoint / "offsets" / str(last + 1), "\n".join(lines))
    except FileExistsError as error:
        raise FencedError(
            f"batch {last + 1} of {checkpoint} was started by another run",
            hint="Let only one run continue; nothing was overwritten.",
        ) from error


def begin_ended_batch(checkpoint: Place, now_ms: int, check: Callable[[], None]) -> None:
    """Log a batch that reads nothing, and for which all logs of the query have ended.

    That they have is noted with the batch, so it is so whenever the batch runs again.

    Args:
        checkpoint: Of a query that does not run and has run a batch.
        now_ms: The batch's time, in milliseconds since 1970.
        check: Raises once another run has taken over; called before it is logged.

    Raises:
        FencedError: Another run has taken over, or logged such a batch.
    """
    last = max(numbers_in(checkpoint / "offsets"))
    begin_empty_batch(checkpoint, now_ms, check)
    end_with_batch(checkpoint, last + 1)


def end_with_batch(checkpoint: Place, batch: int) -> None:
    """Note that all logs of the query end with a batch."""
    write_whole(checkpoint / ENDED, json.dumps({"batch": batch}), synced=True)


def ended_batch(checkpoint: Place) -> int | None:
    """Return the last batch with which all logs ended, where it is not committed yet."""
    batch = last_ended_batch(checkpoint)
    return None if batch in numbers_in(checkpoint / "commits") else batch


def last_ended_batch(checkpoint: Place) -> int | None:
    """Return the last batch with which all logs ended.

    Raises:
        DamagedCheckpointError: The file that notes it is damaged.
    """
    file = checkpoint / ENDED
    if not file.exists():
        return None
    try:
        return int(json.loads(file.read_text(encoding="utf-8"))["batch"])
    except (ValueError, LookupError, TypeError) as error:
        raise _damaged(file) from error


def untold(checkpoint: Place) -> Telling | None:
    """Return which rows are told to added products by a batch that is not committed yet."""
    standing = standing_fingerprint(checkpoint)
    if standing is None or standing.telling is None:
        return None
    told = standing.telling.batch in numbers_in(checkpoint / "commits")
    last, _ = last_batch(checkpoint)
    return None if told or last is None or last > standing.telling.batch else standing.telling


def unbuilt(checkpoint: Place) -> frozenset[str]:
    """Return the products that were added or changed, and that a batch to come builds."""
    telling, standing = untold(checkpoint), standing_fingerprint(checkpoint)
    ledger = None if standing is None else standing.ledger
    return frozenset() if telling is None or ledger is None else telling.products(ledger)


def _settings(checkpoint: Place, batch_id: int) -> dict[str, Any]:
    """Return what Spark noted of a batch: its time, and settings of the session."""
    file = checkpoint / "offsets" / str(batch_id)
    try:
        noted: dict[str, Any] = json.loads(file.read_text(encoding="utf-8").splitlines()[1])
    except (ValueError, IndexError) as error:
        raise _damaged(file) from error
    return noted


def claim_sources(checkpoint: Place, query: str, reads: Sequence[SourceRead]) -> None:
    """Let a query read its sources at a checkpoint, or refuse it.

    Args:
        checkpoint: The folder of the query's checkpoint.
        query: The query's name.
        reads: Its sources, in the order of its streams.

    Raises:
        StateMismatchError: The positions there are those of other sources.
    """
    if not check_sources(checkpoint, query, reads):
        told = json.dumps([_named(each) for each in reads])
        write_whole(checkpoint / FILE_NAME, told, synced=True)


def check_sources(checkpoint: Place, query: str, reads: Sequence[SourceRead]) -> bool:
    """Return whether a checkpoint holds positions of sources; False where it holds none.

    Args:
        checkpoint: The folder of the query's checkpoint.
        query: The query's name.
        reads: Its sources, in the order of its streams.

    Raises:
        StateMismatchError: They are those of other sources.
    """
    ours = [_named(each) for each in reads]
    file = checkpoint / FILE_NAME
    if not (numbers_in(checkpoint / "offsets") and file.exists()):
        return False
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged(file) from error
    if stored != ours:
        if _names(stored) == _names(ours):
            raise _other_spool(query, reads, stored)
        raise _mismatch(checkpoint, query, _names(stored), _names(ours))
    return True


def _named(read: SourceRead) -> dict[str, str]:
    """Return what tells a source's log from others; a database's is another once read again."""
    spool = dict(read.source.options).get("spool")
    log = {"spool": str(spool)} if spool else {}
    return {"name": read.source.name, "kind": read.source.kind, **log}


def _damaged(file: Place) -> DamagedCheckpointError:
    return DamagedCheckpointError(
        f"the checkpoint is damaged: {file} is cut off, or was not written by Joinery",
        detail="Nothing was read or written.",
        hint="Put the checkpoint back from a backup; or joinery run --rebuild, which reads the"
        " sources from their beginning.",
    )


def _names(sources: Sequence[dict[str, str]]) -> str:
    return ", ".join(f"{each['name']} ({each['kind']})" for each in sources)


def _other_spool(
    query: str, reads: Sequence[SourceRead], stored: Sequence[dict[str, str]]
) -> StateMismatchError:
    """Return why a query cannot go on from spools of which one is not that which it has read."""
    for read, before in zip(reads, stored, strict=True):
        folder = SpoolFolder(Path(str(dict(read.source.options).get("path"))).parent)
        if before != _named(read) and not folder.begun:
            return StateMismatchError(
                f'the spool {folder.path} is gone, which query "{query}" has read',
                detail="Changes that only it had are gone with it. Nothing was read or written.",
                hint=f"Put it back as it was, as by mounting its disk. Else: {ANEW}",
            )
    return StateMismatchError(
        f'the checkpoint of query "{query}" belongs to a spool that is gone',
        detail="The tables of its database were read again since. Nothing was read or written.",
        hint="Run joinery run --rebuild: it reads all of them, then replaces this checkpoint.",
    )


def _mismatch(checkpoint: Place, query: str, stored: str, ours: str) -> StateMismatchError:
    return StateMismatchError(
        f'the checkpoint of query "{query}" holds positions of other sources',
        detail=f"It has read {stored}, and the project has {ours}. Nothing was read or written.",
        hint=(
            "Give the sources their names and kinds back, or start with a fresh checkpoint:"
            f" set run.checkpoint to a new folder, or delete {checkpoint} and with it its state."
        ),
    )
