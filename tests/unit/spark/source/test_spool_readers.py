"""What a query has applied of a spool is read from its checkpoint."""

from __future__ import annotations

from pathlib import Path

from joinery.capture.keep import Reader
from joinery.spark.source.spool_readers import applied_files


def committed(checkpoint: Path, *positions: str) -> None:
    """Have a batch be committed, with the position of each source."""
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
    (checkpoint / "offsets" / "0").write_text("\n".join(("v1", "{}", *positions)))
    (checkpoint / "commits" / "0").touch()


def reader(checkpoint: Path, index: int) -> Reader:
    return Reader(query="profile", checkpoint=str(checkpoint), index=index, tables=("public.user",))


def test_of_a_spool_that_had_nothing_yet_nothing_is_applied(tmp_path: Path) -> None:
    committed(tmp_path, '{"topics": {"public.user": {"done": "0"}}}', "-")
    labels = tmp_path / "sources" / "0"
    labels.mkdir(parents=True)
    file = '{"topic": "public.user", "file": "0001.jsonl", "number": 0, "size": 9}'
    (labels / "0.labels").write_text(f"v1\n{file}\n")

    assert {"public.user": {"0001.jsonl"}} == applied_files(reader(tmp_path, 0))
    assert {} == applied_files(reader(tmp_path, 1))
