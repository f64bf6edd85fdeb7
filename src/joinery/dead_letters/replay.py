"""Puts dead letters back: records to where they are read, documents to the sink that refused.

A record is put back at its first place in the log, so it is applied where nothing newer of
its key was, and changes nothing where it was applied already. Rows that are only ever added have
no such memory, so a record that stands put back since its letter is not put back again. A document
keeps its version, so the sink leaves it out where it has a newer one; one that comes too late for
that is not sent.

Invariant: putting a letter back twice leaves what doing it once leaves.
"""

from __future__ import annotations

import codecs
import json
import tempfile
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from glob import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from joinery.dead_letters.dead_letter import DeadLetter, moment
from joinery.dead_letters.overtaken import overtaken
from joinery.errors import RunError
from joinery.files import write_whole
from joinery.plan.product import Product
from joinery.plan.stream import Stream
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Sink, SinkError, StagedBatch

_STAMP = "%Y%m%dT%H%M%S%fZ"
_REPLAY = ".replay.jsonl"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ReplayError(RunError):
    """A dead letter cannot be put back."""

    code = "RUN_REPLAY"


def _as_it_is(line: bytes) -> bytes:
    return line


def replay_files(
    root: Path,
    letters: Sequence[DeadLetter],
    *,
    sealed: Callable[[bytes], bytes] = _as_it_is,
) -> None:
    """Put records back into the topic folders of a files source, in the order of their lines.

    Args:
        root: The source's folder.
        letters: Records of this source, each with file and line.
        sealed: Returns a line as it may stand there.
    """
    for (topic, name), group in groupby(letters, _file_of):
        some = sorted(group, key=lambda each: (int(each.facts["line"]), moment(each.time)))
        file = root / topic / name
        lines = [(int(each.facts["line"]), sealed(_whole_line(file, each))) for each in some]
        standing = _put_back(root / topic, name, frozenset(lines))
        left = {  # once also where queries refused it for two reasons
            line: moment(letter.time)
            for letter, line in zip(some, lines, strict=True)
            if not is_put_back(letter, standing.get(line))
        }
        if left:
            _write_replay(root / topic, name, left, max(_EPOCH, *left.values()))


def _file_of(letter: DeadLetter) -> tuple[str, str]:
    return str(letter.facts["topic"]), str(letter.facts["file"])


def _write_replay(
    folder: Path, name: str, lines: Iterable[tuple[int, bytes]], newest: datetime
) -> None:
    """Write the file that the files source reads as lines of another.

    Args:
        folder: Where the other is.
        name: Its name.
        lines: With their numbers there.
        newest: The time of the newest letter, by the clock of the run that wrote it: what is
            refused again is later by the same clock, whatever that of this machine says.
    """
    content = b"".join(b"%d\t%s\n" % (number, raw) for number, raw in lines)
    while (file := folder / f"{name}.{newest.strftime(_STAMP)}{_REPLAY}").exists():
        newest += timedelta(microseconds=1)
    write_whole(file, content, synced=True)


def is_put_back(letter: DeadLetter, since: datetime | None) -> bool:
    """Return whether a record stands put back, so that to do it again would add it once more.

    Args:
        letter: Of the record.
        since: The time of the letter for which it was put back last; None where it never was.
    """
    return since is not None and moment(letter.time) <= since


def _put_back(
    folder: Path, name: str, lines: Collection[tuple[int, bytes]]
) -> dict[tuple[int, bytes], datetime]:
    """Return which lines stand put back of a file, and since when.

    Args:
        folder: Where the file is.
        name: Its name.
        lines: That are asked for, with their numbers there.
    """
    found: dict[tuple[int, bytes], datetime] = {}
    for file in sorted(folder.glob(f"{escape(name)}.*{_REPLAY}")):
        stamp = file.name.removeprefix(f"{name}.").removesuffix(_REPLAY)
        try:
            since = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
        except ValueError:  # somebody else's
            continue
        for line in file.read_bytes().split(b"\n"):
            number, _, raw = line.partition(b"\t")
            if number.isdigit() and (each := (int(number), raw)) in lines:
                found[each] = since
    return found


def _whole_line(file: Path, letter: DeadLetter) -> bytes:
    """Return the line to be read again: of the letter, or of its file where it was cut."""
    if not letter.cut:
        key, value = letter.raw("key"), letter.raw("value")
        if key is None and value is not None and letter.facts.get("whole"):
            return value.replace(b"\n", b" ")
        return line_of(key, value)
    wanted = int(letter.facts["line"])
    try:
        with file.open("rb") as lines:
            found = next((line for at, line in enumerate(lines, 1) if at == wanted), None)
    except FileNotFoundError:
        found = None
    if found is None:
        raise ReplayError(
            f"dead letter {letter.id} holds {kept_words(letter)} its record, which is gone",
            detail=f"It was in {file}, line {wanted}.",
            hint="Drop the dead letter, or give the whole record with --value.",
        )
    found = found.rstrip(b"\r\n")
    return found.removeprefix(codecs.BOM_UTF8) if wanted == 1 else found


def line_of(key: bytes | None, value: bytes | None) -> bytes:
    """Return the line of a files source that has this key and value.

    A line end within them becomes a space, which means the same to JSON.

    Example:
        >>> line_of(b'{"id":1}', None)
        b'{"key":{"id":1},"value":null}'
        >>> line_of(None, b"{broken")
        b'{broken'
    """
    key, value = (each and each.replace(b"\n", b" ") for each in (key, value))
    if key is None and value is not None and not _is_keyed(value):
        return value
    parts = (b"null" if each is None else each for each in (key, value))
    return b'{"key":%s,"value":%s}' % tuple(parts)


def kept_words(letter: DeadLetter) -> str:
    """Return what a letter that was cut, or sealed, holds of its record."""
    return "nothing but the seal of" if letter.sealed else "only the beginning of"


def _is_keyed(value: bytes) -> bool:
    """Return whether a value would be read as a line with a key."""
    try:
        read: Any = json.loads(value)
    except (ValueError, RecursionError):  # what nests that deep, no format reads
        return False
    return isinstance(read, dict) and read.keys() == {"key", "value"}


def why_unfit(letter: DeadLetter) -> str:
    """Return why the document of a letter cannot be sent as it is; empty where it can.

    Sinks take a document unread, so what is broken would be sent broken.
    """
    if letter.cut:
        return (
            f"dead letter {letter.id} holds {kept_words(letter)} its document."
            " Give the whole document with --value, or have all documents sent again by"
            " joinery run --rebuild."
        )
    if not _is_document(letter.facts["value"]):
        return "the value is not a JSON object. Give the whole document with --value."
    return ""


def _is_document(value: str | None) -> bool:
    """Return whether a text is a document, or stands for none."""
    try:
        return value is None or isinstance(json.loads(value), dict | None)
    except (ValueError, RecursionError):
        return False


def replay_documents(
    sink: Sink, product: Product, letters: Sequence[DeadLetter], *, deletes_ms: int
) -> dict[str, str]:
    """Send documents to the sink that refused them; return the keys of those not sent, and why.

    Of each key the newest is sent, unless it comes too late or the sink refuses it still.

    Args:
        sink: Not yet opened; closed in the end.
        product: Whose documents they are.
        letters: The refused documents.
        deletes_ms: How long sinks remember a delete, in milliseconds.

    Raises:
        ReplayError: The sink cannot be written, or cannot be read first.
    """
    now = time.time_ns() // 1000
    memory = None if isinstance(product.form, Stream) else deletes_ms  # a stream deletes nothing
    rows = _newest(letters)
    with tempfile.TemporaryDirectory(prefix="joinery-replay-") as folder:
        batch = _batch(product, Path(folder, "part-00000.jsonl"))
        try:
            sink.open()
            why = overtaken(sink, batch, rows, deletes_ms=memory, now_us=now)
            sent = "".join(row.line() for row in rows if row.key not in why)
            batch.files[0].write_text(sent, encoding="utf-8")
            refused = sink.write(batch).refused if sent else ()
        except SinkError as error:
            raise ReplayError(error.message, detail=error.detail, hint=error.hint) from error
        finally:
            sink.close()
    return why | {each.row.key: each.detail for each in refused}


def _batch(product: Product, file: Path) -> StagedBatch:
    return StagedBatch(
        product=product.name,
        query=product.name,
        query_id=f"replay-{uuid.uuid4()}",
        batch_id=0,
        files=(file,),
        key=product.key,
        value=product.output,
        nullable_key=product.nullable_key,
    )


def _newest(letters: Sequence[DeadLetter]) -> list[StagedRow]:
    """Return the newest document of each key: a batch holds a key once."""
    rows: dict[str, StagedRow] = {}
    for letter in letters:
        row = row_of(letter.facts)
        if row.key not in rows or rows[row.key].version < row.version:
            rows[row.key] = row
    return list(rows.values())


def row_of(facts: Mapping[str, Any]) -> StagedRow:
    """Return the document that a letter of a sink holds, on one line as sinks read it."""
    value = facts["value"]
    line = None if value is None else value.replace("\r", " ").replace("\n", " ")
    return StagedRow(facts["key"], line, int(facts["version"]))
