"""The console sink: one readable line a document, on standard output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import ClassVar

from joinery.project.option import Target, options
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Guarantee, Promise, StagedBatch, Written

_GUARANTEE = Guarantee(
    summary="Each document is shown at least once, in the order of batches.",
    keeps="log",
    gaps={
        Promise.REPLAY: "what was shown cannot be taken back; a batch run again is shown again",
        Promise.NEWEST: "a terminal keeps nothing",
        Promise.DELETES: "a terminal keeps nothing",
        Promise.FENCE: "a terminal cannot refuse a writer; the lease is checked before each write",
        Promise.ATOMIC: "lines appear one after the other",
    },
)


class ConsoleSink:
    """Shows each emission; remembers nothing, so a replayed batch is shown again."""

    guarantee = _GUARANTEE
    target = "console"

    def open(self) -> None:
        """Nothing to open."""

    def write(self, batch: StagedBatch) -> Written:
        """Print the documents of `batch`."""
        batch.check()
        shown = "".join(f"{_shown(batch.product, each)}\n" for each in read_rows(batch.files))
        sys.stdout.write(shown)
        sys.stdout.flush()
        return Written()

    def close(self) -> None:
        """Nothing to close."""


def _shown(product: str, row: StagedRow) -> str:
    key = ", ".join(f"{name}={_text(value)}" for name, value in row.key_values().items())
    if row.value is None:
        return f"{product} {key} deleted"
    return f"{product} {key} {row.value}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


@options
class ConsoleOptions:
    """`{console: {}}`."""

    keeps_all: ClassVar[bool] = True

    def make(self, product: str, folder: Path) -> ConsoleSink:
        """Return the sink."""
        return ConsoleSink()

    def target(self, product: str, folder: Path) -> Target | None:
        """Nothing stands on a terminal."""
        return None
