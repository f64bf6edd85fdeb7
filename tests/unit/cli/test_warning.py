"""What a run warns of."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.cli.warning import Warnings
from joinery.model.progress import BatchProgress
from joinery.spec.product import (
    NodeSpec,
    ProductSpec,
    ProjectSpec,
    RelationSpec,
    SinkSpec,
    SourceSpec,
)
from joinery.spec.stream import StreamSpec, UnionSpec


def batch(**counts: int) -> BatchProgress:
    return BatchProgress(
        query="q",
        batch_id=0,
        relations={"user": counts},
        documents={},
        counters={},
        dead=0,
        seconds=1.0,
        ended_at=0.0,
    )


def test_a_truncated_table_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    warnings = Warnings()

    warnings.note(batch(read=2, truncates=1))
    warnings.note(batch(read=1, truncates=1))

    told = capsys.readouterr().err
    assert 1 == told.count("truncated")
    assert 'relation "user"' in told


def test_values_lost_by_a_change_of_key_name_the_replica_identity(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Warnings().note(batch(unavailable_values=3))

    assert "REPLICA IDENTITY FULL" in capsys.readouterr().err


def test_a_quiet_batch_warns_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Warnings().note(batch(read=5))

    assert "" == capsys.readouterr().err


def test_a_folder_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there").mkdir()
    sources = tuple(SourceSpec(name, "files", (("path", name),)) for name in ("there", "elsewhere"))

    Warnings().begin(ProjectSpec("shop", sources, folder=tmp_path))

    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f'warning: source "elsewhere": there is no folder {tmp_path}/elsewhere')


def test_files_that_are_not_read_for_their_names_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data/user"
    folder.mkdir(parents=True)
    for name in ("1.jsonl", "2.json", "3.jsonl.gz", "_SUCCESS", ".4.json"):
        (folder / name).touch()
    sources = (SourceSpec("changes", "files", (("path", "data"),)),)
    user = RelationSpec("user", ("id",), (("id", "long"),))

    Warnings().begin(ProjectSpec("shop", sources, relations=(user,), folder=tmp_path))

    assert (
        'warning: relation "user": files of other names than *.jsonl are not read:'
        f" 2 in {folder}, such as 2.json.\n"
    ) == capsys.readouterr().err


def test_what_goes_nowhere_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    sink = SinkSpec("console")
    page = ProductSpec("page", NodeSpec("page", "root", "user"))
    streams = (
        StreamSpec("clean", "clicks"),
        StreamSpec("all", "clean", steps=(UnionSpec("more"),), sinks=(sink,)),
        StreamSpec("more", "clicks"),
        StreamSpec("lost", "clicks"),
    )

    Warnings().begin(ProjectSpec("shop", products=(page,), streams=streams))

    assert [
        'warning: product "page" has no sink, so what it gives is kept nowhere.',
        'warning: stream "lost" has no sink, so what it gives is kept nowhere.',
    ] == capsys.readouterr().err.splitlines()
