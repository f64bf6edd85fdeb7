"""Askers that hear of the rows which a sink of the same run has written.

A sink that keeps the very table that a lookup asks for tells its keys after each batch, so a
cached answer is not used again once its row has changed there.

Invariant: keys are told only after the sink has written them, so who asks anew reads the
new row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from joinery.lookups.asker import Asker
from joinery.lookups.protocol import Key, LookupTable
from joinery.lookups.value import RowReader
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import Guarantee, ListingSink, Sink, StagedBatch, Written, listing_of

Place = tuple[str, str, str]
_ADDRESSES = {"postgres": "url", "redis": "url", "sqlite": "path"}
_TABLES = {"postgres": "table", "redis": "prefix", "sqlite": "table"}


def place_of(kind: str, options: Mapping[str, object], name: str, folder: Path) -> Place | None:
    """Return which table a store or a sink means; None where that cannot be told.

    Args:
        kind: Of the store or the sink.
        options: Its own.
        name: The relation's or the product's, which the table has unless an option says else.
        folder: Where relative paths begin.
    """
    address = options.get(_ADDRESSES.get(kind, ""))
    if not isinstance(address, str):
        return None
    where = str((folder / address).absolute()) if kind == "sqlite" else address
    schema = options.get("schema")
    table = str(options.get(_TABLES[kind]) or name)
    return kind, where, f"{schema}.{table}" if schema else table


class Coherence:
    """Who asks for which table, in one run."""

    def __init__(self) -> None:
        self._askers: dict[Place, list[tuple[Asker, LookupTable]]] = {}

    def add(self, place: Place | None, asker: Asker, table: LookupTable) -> None:
        """Let `asker` hear of the rows that are written to `place`."""
        if place is not None:
            self._askers.setdefault(place, []).append((asker, table))

    def heard(self, sink: Sink, place: Place | None) -> Sink:
        """Return a sink that tells what it writes to `place`."""
        return sink if place is None else TellingSink(sink, self, place)

    def wrote(self, place: Place, files: Sequence[Path]) -> None:
        """Tell who asks for `place` of the keys in staged files."""
        for asker, table in self._askers.get(place, ()):
            asker.invalidate(_keys(table, files))


class TellingSink:
    """Writes to `sink`, then tells the keys."""

    def __init__(self, sink: Sink, coherence: Coherence, place: Place) -> None:
        self._sink = sink
        self._coherence = coherence
        self._place = place

    def listing(self) -> ListingSink | None:
        """That of the wrapped sink."""
        return listing_of(self._sink)

    @property
    def guarantee(self) -> Guarantee:
        """That of the wrapped sink."""
        return self._sink.guarantee

    @property
    def target(self) -> str:
        """That of the wrapped sink."""
        return self._sink.target

    def open(self) -> None:
        """Open the sink."""
        self._sink.open()

    def write(self, batch: StagedBatch) -> Written:
        """Write `batch`, then tell its keys; also where only some of it may have been written."""
        try:
            return self._sink.write(batch)
        finally:
            self._coherence.wrote(self._place, batch.files)

    def close(self) -> None:
        """Close the sink."""
        self._sink.close()


def _keys(table: LookupTable, files: Sequence[Path]) -> Iterator[Key]:
    reader = RowReader(table.key)
    for row in read_rows(files):
        key = reader.named(row.key_values())
        if isinstance(key, tuple):
            yield key
