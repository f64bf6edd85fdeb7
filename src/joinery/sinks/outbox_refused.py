"""Which events of a batch were refused, on the disk before the others are sent for good.

The transaction that takes the others also notes the batch's number, so a batch that runs again
sends nothing and would not hear of its refusals: they are read here.

Invariant: when a batch's number is noted at the brokers, what it could not send stands here, or
is a dead letter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from joinery.files import sync_folder, write_whole
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Refusal

_NAME = "refused.jsonl"


class RefusedEvents:
    """The refused events of the batch that was tried last; `folder` is a query's own."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _NAME

    def keep(self, batch_id: int, refused: Iterable[Refusal]) -> None:
        """Keep what a batch could not send, in place of what stands here; durable on return."""
        lines = [f"{_line(batch_id, each)}\n" for each in refused]
        if lines:
            write_whole(self._file, "".join(lines), synced=True)
        elif self._file.exists():
            self._file.unlink()
        else:
            return
        sync_folder(self._file.parent)

    def of(self, batch_id: int) -> tuple[Refusal, ...]:
        """Return what a batch could not send; nothing where another was tried last."""
        try:
            text = self._file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        told = (json.loads(line) for line in text.split("\n") if line)
        return tuple(
            Refusal(
                StagedRow(each["key"], each["value"], each["version"]),
                each["reason"],
                each["detail"],
            )
            for each in told
            if each["batch"] == batch_id
        )


def _line(batch_id: int, refusal: Refusal) -> str:
    row = refusal.row
    return json.dumps(
        {
            "batch": batch_id,
            "key": row.key,
            "value": row.value,
            "version": row.version,
            "reason": refusal.reason,
            "detail": refusal.detail,
        }
    )
