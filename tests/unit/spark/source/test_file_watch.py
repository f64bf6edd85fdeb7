"""Change files that are no longer as they were when a run saw them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from joinery.model.warning import RunWarning
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.project.run import RunSpec
from joinery.spark.source.file_labels import FileLabels
from joinery.spark.source.file_watch import FileSizes, FileWatch
from joinery.spark.source.source import SourceRead

CHANGES = SourceSpec("changes", "files", (("path", "data"),))
READ = SourceRead(CHANGES, {"customer": ("customer", "payer"), "order": ("order",)})


def note(folder: Path, segment: int, sizes: Mapping[str, int]) -> None:
    """Write what the kernel notes of files of the topic `customer`."""
    labels = folder / "checkpoint/sources/0"
    labels.mkdir(parents=True, exist_ok=True)
    lines: list[Mapping[str, object]] = [{"format": 1, "all": False}]
    for name, size in sizes.items():
        lines.append({"topic": "customer", "number": 0, "file": name, "label": 1, "size": size})
    text = "".join(f"{json.dumps(each)}\n" for each in lines)
    (labels / f"{segment:09d}.labels").write_text(text)


def put(folder: Path, **sizes: int) -> None:
    topic = folder / "data/customer"
    topic.mkdir(parents=True, exist_ok=True)
    for name, size in sizes.items():
        (topic / f"{name}.jsonl").write_bytes(b"x" * size)


def told(sizes: FileSizes) -> list[RunWarning]:
    return list(sizes.warnings())


def sizes_of(folder: Path) -> FileSizes:
    return FileSizes(folder / "data", READ, FileLabels(folder / "checkpoint", 0))


def test_a_file_that_grew_is_told_of_each_relation_that_reads_it(tmp_path: Path) -> None:
    note(tmp_path, 0, {"a.jsonl": 5, "b.jsonl": 6, "c.jsonl": 7})
    put(tmp_path, a=5, b=8, c=3, unseen=9)

    first, second = told(sizes_of(tmp_path))

    assert ('relation "customer"', 'relation "payer"') == (first.about, second.about)
    assert "WARN_FILE_CHANGED" == first.code
    assert f"{tmp_path}/data/customer/b.jsonl was changed" in first.message
    assert "had 6 bytes then, and has 8 now. 1 more" in first.detail


def test_the_bytes_that_were_added_are_counted(tmp_path: Path) -> None:
    note(tmp_path, 0, {"a.jsonl": 5, "b.jsonl": 6, "shorter.jsonl": 7})
    put(tmp_path, a=9, b=8, shorter=3)
    sizes = sizes_of(tmp_path)

    told(sizes)

    assert {"customer": 6, "payer": 6} == sizes.added


def test_files_as_they_were_and_files_that_are_gone_are_not_told(tmp_path: Path) -> None:
    note(tmp_path, 0, {"a.jsonl": 5, "gone.jsonl": 6})
    sizes = sizes_of(tmp_path)

    assert [] == told(sizes)
    put(tmp_path, a=5)
    assert [] == told(sizes)


def test_what_is_seen_while_a_run_goes_on_is_compared_too(tmp_path: Path) -> None:
    note(tmp_path, 0, {"a.jsonl": 5})
    put(tmp_path, a=5, b=5)
    sizes = sizes_of(tmp_path)
    assert [] == told(sizes)
    note(tmp_path, 1, {"b.jsonl": 4})

    assert ["b.jsonl" in each.message for each in told(sizes)] == [True, True]


def test_a_watch_that_closes_at_once_has_looked(tmp_path: Path) -> None:
    note(tmp_path, 0, {"a.jsonl": 5})
    put(tmp_path, a=6)
    spec = ProjectSpec("shop", (CHANGES,), run=RunSpec(), folder=tmp_path)
    found: list[RunWarning] = []
    ignored: dict[str, int] = {}
    checkpoints = {"q": tmp_path / "checkpoint"}

    FileWatch(spec, {"q": (READ,)}, checkpoints, found.append, ignored.update).close()

    assert {'relation "customer"', 'relation "payer"'} == {each.about for each in found}
    assert {"customer": 1, "payer": 1} == ignored


def test_the_files_of_a_spool_are_not_looked_at(tmp_path: Path) -> None:
    note(tmp_path, 0, {"a.jsonl": 5})
    put(tmp_path, a=6)
    spool = SourceSpec("changes", "files", (("path", "data"), ("spool", "id")))
    spec = ProjectSpec("shop", (spool,), run=RunSpec(), folder=tmp_path)
    reads = {"q": (SourceRead(spool, READ.relations),)}
    found: list[RunWarning] = []
    ignored: dict[str, int] = {}

    FileWatch(spec, reads, {"q": tmp_path / "checkpoint"}, found.append, ignored.update).close()

    assert ([], {}) == (found, ignored)
