"""Documents that a target will never take, as dead letters of their batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from joinery.connect.protocol import Refusal


class SinkLetters:
    """The dead letters that the sinks of one batch give; `file` appears with the first."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, product: str, target: str, refused: Sequence[Refusal]) -> None:
        """Add what `target` refused of `product`."""
        if not refused:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as lines:
            lines.writelines(f"{_line(product, target, each)}\n" for each in refused)


def _line(product: str, target: str, refusal: Refusal) -> str:
    letter = {
        "reason": refusal.reason,
        "detail": refusal.detail,
        "product": product,
        "sink": target,
        "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        "key": refusal.row.key,
        "value": refusal.row.value,
        "version": refusal.row.version,
    }
    return json.dumps(letter, ensure_ascii=False)
