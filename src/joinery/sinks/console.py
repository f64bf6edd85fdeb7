"""The console sink: one readable line a document, on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.option import check_names
from joinery.sinks.protocol import Guarantee, Promise, StagedBatch, Written

_GUARANTEE = Guarantee(
    summary="Each document is shown at least once, in the order of batches.",
    keeps="log",
    gaps={
        Promise.REPLAY: "what was shown cannot be taken back; a batch run again is shown again",
        Promise.NEWEST: "a terminal keeps nothing",
        Promise.DELETES: "a terminal keeps nothing",
        Promise.FENCE: "a terminal knows no runs; the lease is checked before it is written to",
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


def console_sink(product: str, options: Mapping[str, object], folder: Path) -> ConsoleSink:
    """Make the sink `{console: {}}`."""
    check_names("console", options, ())
    return ConsoleSink()
