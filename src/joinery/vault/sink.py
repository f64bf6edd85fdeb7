"""Opens sealed values on their way into a sink that may show them, and takes them out elsewhere.

What is opened is kept in memory alone until the sink has taken it: a file without a name.

What a target says of a failure may quote a document, so it goes no further than this.

Invariant: a sink without `reveal` is given null for each personal value; one with it is given a
value only as long as its key is there. All other bytes of a document pass as they are.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from joinery.errors import JoineryError, SinkError, SinkUnavailableError
from joinery.model.type import Struct, opened
from joinery.plan.product import Product
from joinery.plan.product import Sink as DeclaredSink
from joinery.project.product import ProjectSpec
from joinery.sinks.line import parse_line, read_rows
from joinery.sinks.protocol import Refusal, Sink, StagedBatch, WrappingSink, Written, whole
from joinery.vault.keys import Vault, VaultError, is_json, parse_sealed
from joinery.vault.tables import open_vault

Answer = TypeVar("Answer")
_TOKEN = re.compile(rb'(?<!\\)"(jy[12]:[A-Za-z0-9_-]{22}:[A-Za-z0-9_-]*)"')
_ERASED = re.compile(rb'(?<!\\)"jy[12]:[A-Za-z0-9_-]{22}:[A-Za-z0-9_-]{0,21}"')
"""The same of an erased subject: sealing gives no less than 22 characters."""
_CHUNK_BYTES = 4 << 20
_NULL = b"null"


class OpeningSink(WrappingSink):
    """A sink of a product with personal columns.

    Args:
        sink: Not yet opened.
        vault: Opens the vault, where the sink reveals; None where it does not.
        removes: Whether it is given a tombstone for a document with values of an erased subject.
    """

    def __init__(
        self, sink: Sink, vault: Callable[[], Vault] | None, *, removes: bool = False
    ) -> None:
        super().__init__(sink)
        self._open_vault, self._removes = vault, removes
        self._vault: Vault | None = None
        if vault is not None and not hasattr(os, "memfd_create"):
            raise VaultError(
                "reveal needs Linux",
                detail="Clear values must reach no file, which other systems cannot guarantee.",
                hint="Leave reveal out: personal columns are null then.",
            )

    def write(self, batch: StagedBatch) -> Written:
        """Write a batch, opened; what the sink refuses is told as it was staged.

        Raises:
            SinkError, SinkUnavailableError: As the sink's own, without its words where it reveals.
        """
        value = opened(batch.value)
        assert isinstance(value, Struct)  # as it was
        with _unnamed_file() as (path, write):
            for lines in _chunks(batch.files):
                write(b"".join(self._shown(lines)))
            shown = replace(batch, files=(path,), value=value)
            written = whole(self._quietly(lambda: self._sink.write(shown)))
        if not written.refused:
            return written
        return replace(written, refused=tuple(_as_staged(written.refused, batch.files)))

    def close(self) -> None:
        """Close the sink and the vault."""
        vault, self._vault = self._vault, None
        if vault is not None:
            vault.close()
        self._quietly(self._sink.close)

    def _quietly(self, act: Callable[[], Answer]) -> Answer:
        """Return what a sink answers; what one that reveals says of a failure is kept to itself."""
        try:
            return act()
        except (Exception, SystemExit) as error:
            if self._open_vault is None:
                raise
            if isinstance(error, JoineryError) and not isinstance(error, SinkError):
                raise  # of a lease or an ending, which say nothing of documents
            told = _untold(error, self._sink.target)
        raise told

    def _shown(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        """Yield lines with each sealed value in clear, or null."""
        if self._removes:
            lines = [_without_document(each) if _ERASED.search(each) else each for each in lines]
        if self._open_vault is None:
            yield from (_TOKEN.sub(_NULL, each) for each in lines)
            return
        found = {token for each in lines for token in _TOKEN.findall(each)}
        clear = self._clear(found)
        yield from (_TOKEN.sub(lambda token: clear[token[1]], each) for each in lines)

    def _clear(self, tokens: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return what takes the place of sealed values, as JSON."""
        parsed = {each: parse_sealed(each.decode()) for each in tokens}
        if not parsed:
            return {}
        if self._vault is None:
            assert self._open_vault is not None  # asked for before
            self._vault = self._open_vault()
        keys = self._vault.known(each[0] for each in parsed.values() if each is not None)
        made: dict[bytes, bytes] = {}
        for token, each in parsed.items():
            key = keys.get(each[0]) if each is not None else None
            text = self._vault.open(key, *each) if each is not None and key is not None else None
            made[token] = _NULL if text is None else _json(token, text)
        return made


def _untold(error: BaseException, target: str) -> SinkError:
    """Return what tells of a sink's failure that may quote personal values."""
    kind = SinkUnavailableError if isinstance(error, SinkUnavailableError) else SinkError
    name = type(error.__cause__ or error).__name__
    return kind(
        f"{target} failed, which is given personal values",
        detail=f"It failed with {name}; its words may hold such values, and are not kept.",
        hint="Check the log of the target itself.",
    )


def _without_document(line: bytes) -> bytes:
    return parse_line(line.decode())._replace(value=None).line().encode()


def _json(token: bytes, text: str) -> bytes:
    return (text if is_json(token) else json.dumps(text, ensure_ascii=False)).encode()


def opening_sink(spec: ProjectSpec, product: Product, declared: DeclaredSink, sink: Sink) -> Sink:
    """Return a sink as a product needs it: opening what is sealed, where anything is."""
    if all(each.personal is None for each in product.relations):
        return sink
    reveals = dict(declared.options).get("reveal") is True
    opens = partial(open_vault, spec) if reveals else None
    return OpeningSink(sink, opens, removes=product.removes_erased)


def _chunks(files: Iterable[Path]) -> Iterator[list[bytes]]:
    for file in files:
        with file.open("rb") as lines:
            while chunk := lines.readlines(_CHUNK_BYTES):
                yield chunk


@contextmanager
def _unnamed_file() -> Iterator[tuple[Path, Callable[[bytes], object]]]:
    """Give a file to write and to read by a path, which is gone with this process."""
    if not hasattr(os, "memfd_create"):
        # Only nulls are written here: a sink that reveals was refused.
        with tempfile.TemporaryDirectory(prefix="joinery-") as folder:
            path = Path(folder, "part-00000.jsonl")
            with path.open("wb", buffering=0) as file:
                yield path, file.write
        return
    with os.fdopen(os.memfd_create("joinery"), "wb", buffering=0) as file:
        yield Path(f"/proc/self/fd/{file.fileno()}"), file.write


def _as_staged(refused: Iterable[Refusal], files: Iterable[Path]) -> Iterator[Refusal]:
    """Yield what was refused with the documents as they were staged, sealed."""
    wanted = {(each.row.key, each.row.version): each for each in refused}
    for row in read_rows(files):
        if (each := wanted.get((row.key, row.version))) is not None:
            # A target's own words may quote the document.
            detail = "The target refused it; its words may hold personal values, and are not kept."
            yield replace(each, row=row, detail=detail)
