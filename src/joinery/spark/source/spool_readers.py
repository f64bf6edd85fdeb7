"""The queries that read the spool of a database: noted there, with what they have applied."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from joinery.capture.keep import Reader, SpoolKeep
from joinery.capture.missing import missing_files, missing_text
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.place.place import Place
from joinery.project.captured import CAPTURED, spool_of
from joinery.project.product import ProjectSpec
from joinery.spark.recovery.checkpoint import committed_positions, last_batch, untold
from joinery.spark.source.file_labels import NOWHERE, FileLabels, numbers_of
from joinery.spark.source.source import SourceRead


class SpoolShortError(CaptureError):
    """A query would need changes that a spool no longer has."""

    code = "RUN_SPOOL_SHORT"


def note_readers(
    spec: ProjectSpec, query: str, checkpoint: Place, reads: Sequence[SourceRead]
) -> None:
    """Let the spools that a query reads keep what it has not applied.

    Args:
        spec: The project.
        query: The query's name.
        checkpoint: Its checkpoint, claimed.
        reads: Its sources, in the order of its streams.

    Raises:
        SpoolShortError: The query begins now, or its checkpoint is an older one, and a spool no
            longer has all changes since; or files are missing that it has not read.
    """
    databases = {each.name: each for each in spec.sources if each.kind in CAPTURED}
    fresh = last_batch(checkpoint)[0] is None
    for index, read in enumerate(reads):
        if (source := databases.get(read.source.name)) is None:
            continue
        reader = Reader(
            query=query,
            checkpoint=str(checkpoint.absolute()),
            index=index,
            tables=tuple(read.relations),
        )
        applied = None if fresh else _files_read(reader)
        spool = SpoolFolder(spool_of(spec, source))
        _check_files(spool, reader, applied or {}, source.name)
        if not SpoolKeep(spool).note(reader, applied):
            raise _short(query, read, begins=fresh)


def _check_files(
    spool: SpoolFolder, reader: Reader, applied: Mapping[str, Collection[str]], source: str
) -> None:
    """Refuse a spool of which files are missing that a query has not read."""
    for table, numbers in missing_files(spool, reader.tables).items():
        read = {int(each.partition(".")[0]) for each in applied.get(table, ())}
        if unread := [each for each in numbers if each not in read]:
            raise SpoolShortError(
                f"the spool {spool.path} lacks {missing_text(table, unread)},"
                f' which query "{reader.query}" has not read',
                detail="Somebody or something else than Joinery removed it, with its changes.",
                hint=f"Put it back. Else run joinery source drop {source}, then joinery run"
                " --rebuild, which reads the tables again.",
            )


def _short(query: str, read: SourceRead, *, begins: bool) -> SpoolShortError:
    name = read.source.name
    if not begins:
        return SpoolShortError(
            f'the checkpoint of query "{query}" is older than what the spool of "{name}" still has',
            detail="It was restored or moved, and changes since were removed as applied.",
            hint=f"Run joinery source read-again {name}, then joinery run --rebuild.",
        )
    return SpoolShortError(
        f'query "{query}" begins, and the spool of source "{name}" no longer has all changes',
        detail="They are older than spool.keep. Of an append relation, rows that its table no"
        " longer has cannot be read again.",
        hint=f"Run joinery source read-again {name}, and wait for it: joinery source status.",
    )


def applied_files(reader: Reader) -> Mapping[str, Collection[str]]:
    """Return, by table, the files that a query has applied and never reads again.

    It reads all of them again for products that were added, until the batch that builds these is
    committed.
    """
    telling = untold(Path(reader.checkpoint))
    return {} if telling is not None and telling.part is not None else _files_read(reader)


def _files_read(reader: Reader) -> Mapping[str, Collection[str]]:
    """Return, by table, the files that a query has read whole in batches that are committed."""
    checkpoint = Path(reader.checkpoint)
    positions = committed_positions(checkpoint)
    if len(positions) <= reader.index:
        return {}
    at = positions[reader.index]
    topics = {} if at == NOWHERE else json.loads(at)["topics"]
    done = {name: numbers_of(each["done"]) for name, each in topics.items()}
    found: dict[str, set[str]] = {}
    for each in FileLabels(checkpoint, reader.index).fresh():
        if each.number in done.get(each.topic, ()):
            found.setdefault(each.topic, set()).add(each.name)
    return found
