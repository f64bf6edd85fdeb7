"""Batches of documents with a number as their key, and what files got of them."""

from __future__ import annotations

from pathlib import Path

from joinery.model.type import LONG, Field, Struct
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import StagedBatch

KEY = Struct((Field("id", LONG),))


def row(id: int, version: int, name: str = "") -> StagedRow:
    return StagedRow(f'{{"id":{id}}}', f'{{"id":{id},"name":"{name}"}}', version)


def batch(folder: Path, batch_id: int, *rows: StagedRow, query_id: str = "q2") -> StagedBatch:
    part = folder / f"{query_id}-{batch_id}.jsonl"
    part.write_text("".join(each.line() for each in rows))
    return StagedBatch(
        product="p",
        query="p",
        query_id=query_id,
        batch_id=batch_id,
        files=(part,),
        key=KEY,
        value=KEY,
    )


def sent(folder: Path) -> list[list[tuple[str, bool]]]:
    """Return the files in order: each line's key, and whether it has a document."""
    return [
        [(each.key, each.value is not None) for each in read_rows([file])]
        for file in sorted((folder / "out").glob("*.jsonl"))
    ]
