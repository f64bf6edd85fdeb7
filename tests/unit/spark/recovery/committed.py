"""What a run leaves of a batch in its checkpoint, without a run."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile


def commit(checkpoint: Path, batch: int, *, whole: bool = False) -> None:
    """Write what a run leaves of a batch: one partition, whose only table is its number."""
    for kind in ("offsets", "commits"):
        (checkpoint / kind).mkdir(parents=True, exist_ok=True)
        told = json.dumps({"batchTimestampMs": 1_000 + batch, "conf": {}})
        (checkpoint / kind / str(batch)).write_text(f"v1\n{told}\n", encoding="utf-8")
    for note in ("metadata", "joinery.json"):
        (checkpoint / note).write_text("{}", encoding="utf-8")
    partition = checkpoint / "state" / "0" / "0"
    (partition / "SSTs").mkdir(parents=True, exist_ok=True)
    (partition / f"{batch + 1}_a.changelog").write_text("changes", encoding="utf-8")
    (partition / f".{batch + 1}_a.changelog.crc").write_text("sum", encoding="utf-8")
    if whole:
        table = f"{batch}.sst"
        (partition / "SSTs" / table).write_text("x" * 1_000, encoding="utf-8")
        with ZipFile(partition / f"{batch + 1}_a.zip", "w") as archive:
            files = {"sstFiles": [{"localFileName": "1.sst", "dfsSstFileName": table}]}
            archive.writestr("metadata", f"v1\n{json.dumps(files)}")
