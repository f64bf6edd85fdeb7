"""What products that count page views have sent."""

from __future__ import annotations

import json
from pathlib import Path


def sent(folder: Path, product: str) -> list[tuple[str, int | None]]:
    """Return the page and the count of each line that a product sent, in order."""
    files = sorted((folder / "out" / product).glob("*.jsonl"))
    lines = [json.loads(line) for each in files for line in each.read_text().splitlines()]
    return [(each["key"]["page"], each["value"] and each["value"]["n"]) for each in lines]
