"""What is sought in change files is what a decoding of all of them finds, however they are written.

They also have blank lines, marks in front, and lines that are put back.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from tests.oracle.compare import each_seed
from tests.oracle.sought import Writer, agrees, relations_of, sought_of, writers_of, written

from joinery.spark.source.file_feed import read_files
from joinery.spark.source.log_search import log_search


def put(folder: Path, random: Random, writers: Sequence[Writer]) -> None:
    """Write some files, and one that puts lines of them back."""

    def line() -> str:
        return random.choice(writers).line()

    folder.mkdir(parents=True)
    end = random.choice(["\n", "\r\n"])
    for name in ("1", "2", "3"):
        lines = [random.choice(["", "  ", line()]) if i % 9 == 0 else line() for i in range(60)]
        data = "\ufeff" * random.randrange(2) + end.join(lines) + end * random.randrange(2)
        (folder / f"{name}.jsonl").write_bytes(data.encode())
    lines = [f"{random.randrange(1, 60)}\t{line()}\n" for _ in range(20)]
    replay = folder / "2.jsonl.20260301T120000000000Z.replay.jsonl"
    replay.write_bytes("".join(lines).encode())
    for each in folder.iterdir():
        at = random.randrange(1_000, 1_005)
        os.utime(each, (at, at))


@pytest.mark.parametrize("format_", ["json", "debezium-json"])
@pytest.mark.parametrize("seed", each_seed(range(12), few=2))
def test_what_is_sought_is_what_all_records_tell(
    seed: int, format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.spark.source.log_search._PART_BYTES", 2_000)
    random = Random(seed)
    source = "{files: {path: data}}"
    spec = written(tmp_path, format_, append=seed % 2 == 1, source=source)
    for topic, writers in writers_of(spec, random).items():
        put(tmp_path / "data" / topic, random, writers)
    relations, most = relations_of(spec), random.choice([150, 1_000])
    told: dict[str, list[str]] = {each.name: [] for each in relations}

    found = read_files(spec, relations, most=most, told=told)
    asked = sought_of(relations)
    with log_search(
        spec, relations, most=most, told=told, seen={}, begun={}, columns=asked
    ) as search:
        moments = [*(f"1970-01-01T00:16:4{at}Z" for at in range(5)), "500", "900"]
        agrees(search, spec, relations, found, moments)
