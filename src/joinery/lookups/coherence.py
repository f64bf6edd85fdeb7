"""Askers that hear of the rows which a sink of the same run has written.

A sink that keeps the very table that a lookup asks for tells its keys after each batch, so a
cached answer is not used again once its row has changed there.

Invariant: keys are told only after the sink has written them, so who asks again reads the
new row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from joinery.lookups.asker import Asker
from joinery.lookups.protocol import Key, LookupTable
from joinery.lookups.value import RowReader
from joinery.project.option import Target
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import Sink, StagedBatch, WrappingSink, Written


class Coherence:
    """Who asks for which table, in one run."""

    def __init__(self) -> None:
        self._askers: dict[Target, list[tuple[Asker, LookupTable]]] = {}

    def add(self, target: Target | None, asker: Asker, table: LookupTable) -> None:
        """Let `asker` hear of the rows that are written to `target`."""
        if target is not None:
            self._askers.setdefault(target, []).append((asker, table))

    def heard(self, sink: Sink, target: Target | None) -> Sink:
        """Return a sink that tells what it writes to `target`."""
        return sink if target is None else TellingSink(sink, self, target)

    def wrote(self, target: Target, files: Sequence[Path]) -> None:
        """Tell who asks for `target` of the keys in staged files."""
        for asker, table in self._askers.get(target, ()):
            asker.invalidate(_keys(table, files))


class TellingSink(WrappingSink):
    """Writes to `sink`, then tells the keys."""

    def __init__(self, sink: Sink, coherence: Coherence, target: Target) -> None:
        super().__init__(sink)
        self._coherence = coherence
        self._target = target

    def write(self, batch: StagedBatch) -> Written:
        """Write `batch`, then tell its keys; also where only some of it may have been written."""
        try:
            return super().write(batch)
        finally:
            self._coherence.wrote(self._target, batch.files)


def _keys(table: LookupTable, files: Sequence[Path]) -> Iterator[Key]:
    reader = RowReader(table.key)
    for row in read_rows(files):
        key = reader.named(row.key_values())
        if isinstance(key, tuple):
            yield key
