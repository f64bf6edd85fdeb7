"""The files sink keeps one file a batch, in emission order by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import SinkOptionError
from joinery.model.type import LONG, Field, Struct
from joinery.sinks.protocol import FencedError, SinkError, StagedBatch, make_sink

SHAPE = Struct((Field("id", LONG),))


def staged(folder: Path, *parts: str, batch_id: int = 0, query_id: str = "q1") -> StagedBatch:
    files = []
    for at, text in enumerate(parts):
        file = folder / f"staged-{at}.jsonl"
        file.write_text(text)
        files.append(file)
    return StagedBatch(
        product="p",
        query="p",
        query_id=query_id,
        batch_id=batch_id,
        files=tuple(files),
        key=SHAPE,
        value=SHAPE,
    )


def contents(tmp_path: Path) -> list[str]:
    return [file.read_text() for file in sorted((tmp_path / "out/p").glob("*.jsonl"))]


def test_a_batch_is_one_file_of_all_its_parts(tmp_path: Path) -> None:
    sink = make_sink("files", "p", {"path": "out"}, tmp_path)

    sink.write(staged(tmp_path, "a\n", "b\n"))

    assert ["a\nb\n"] == contents(tmp_path)


def test_a_batch_without_documents_leaves_no_file(tmp_path: Path) -> None:
    sink = make_sink("files", "p", {"path": "out"}, tmp_path)
    sink.open()

    sink.write(staged(tmp_path, "", ""))
    sink.write(staged(tmp_path))

    assert [] == list((tmp_path / "out/p").iterdir())


def test_name_order_is_batch_order(tmp_path: Path) -> None:
    sink = make_sink("files", "p", {"path": "out"}, tmp_path)

    sink.write(staged(tmp_path, "ten\n", batch_id=10))
    sink.write(staged(tmp_path, "nine\n", batch_id=9))

    assert ["nine\n", "ten\n"] == contents(tmp_path)


def test_a_batch_that_runs_again_replaces_its_file(tmp_path: Path) -> None:
    make_sink("files", "p", {"path": "out"}, tmp_path).write(staged(tmp_path, "a\n"))

    make_sink("files", "p", {"path": "out"}, tmp_path).write(staged(tmp_path, "a\n"))

    assert ["a\n"] == contents(tmp_path)


def test_a_fresh_checkpoint_sorts_after_and_overwrites_nothing(tmp_path: Path) -> None:
    sink = make_sink("files", "p", {"path": "out"}, tmp_path)
    sink.write(staged(tmp_path, "old\n", batch_id=7))

    make_sink("files", "p", {"path": "out"}, tmp_path).write(
        staged(tmp_path, "new\n", query_id="q2")
    )
    sink.write(staged(tmp_path, "old too\n", batch_id=8))

    assert ["old\n", "old too\n", "new\n"] == contents(tmp_path)


def test_a_lost_memory_of_generations_still_overwrites_nothing(tmp_path: Path) -> None:
    make_sink("files", "p", {"path": "out"}, tmp_path).write(staged(tmp_path, "old\n"))
    (tmp_path / "out/p/.generations.json").unlink()

    make_sink("files", "p", {"path": "out"}, tmp_path).write(
        staged(tmp_path, "new\n", query_id="q2")
    )

    assert ["old\n", "new\n"] == contents(tmp_path)


def test_a_fenced_run_leaves_nothing_visible(tmp_path: Path) -> None:
    def taken_over() -> None:
        raise FencedError("taken over")

    batch = staged(tmp_path, "a\n")
    fenced = StagedBatch(
        product="p",
        query="p",
        query_id="q1",
        batch_id=0,
        files=batch.files,
        key=SHAPE,
        value=SHAPE,
        check=taken_over,
    )

    with pytest.raises(FencedError):
        make_sink("files", "p", {"path": "out"}, tmp_path).write(fenced)

    assert [] == contents(tmp_path)


def test_an_unknown_option_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(SinkOptionError) as refused:
        make_sink("files", "p", {"path": "out", "pth": "x"}, tmp_path)

    assert 'sink "files" has no option "pth"' == refused.value.message
    assert refused.value.hint == 'Use "path".'


def test_a_missing_path_is_told(tmp_path: Path) -> None:
    with pytest.raises(SinkOptionError, match='needs "path"'):
        make_sink("files", "p", {}, tmp_path)


def test_a_file_in_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    sink = make_sink("files", "p", {"path": "out"}, tmp_path)

    with pytest.raises(SinkError, match=r"could not write into .*out/p: Not a"):
        sink.open()
    with pytest.raises(SinkError, match="could not write into"):
        sink.write(staged(tmp_path, "{}\n"))
