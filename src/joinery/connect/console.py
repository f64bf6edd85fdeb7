"""The console sink: one readable line a document, on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from joinery.connect.line import DocumentLine, read_lines
from joinery.connect.option import check_names
from joinery.connect.protocol import StagedBatch


class ConsoleSink:
    """Shows each emission; remembers nothing, so a replayed batch is shown again."""

    def open(self) -> None:
        """Nothing to open."""

    def write(self, batch: StagedBatch) -> None:
        """Print the documents of `batch`."""
        batch.check()
        shown = "".join(f"{_shown(batch.product, each)}\n" for each in read_lines(batch.files))
        sys.stdout.write(shown)
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing to close."""


def _shown(product: str, line: DocumentLine) -> str:
    key = ", ".join(f"{name}={_text(value)}" for name, value in line.key.items())
    if line.document is None:
        return f"{product} {key} deleted"
    return f"{product} {key} {line.document}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def console_sink(product: str, options: Mapping[str, object], folder: Path) -> ConsoleSink:
    """Make the sink `{console: {}}`."""
    check_names("console", options, ())
    return ConsoleSink()
