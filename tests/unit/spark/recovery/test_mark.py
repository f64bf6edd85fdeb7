"""What a mark keeps of a checkpoint, and for how long."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from tests.unit.spark.recovery.committed import commit

from joinery.cli.mark import MarkArgumentError, run_mark
from joinery.delivery.query_paths import rebuild_paths
from joinery.model.marks import KeptMarks
from joinery.spark.recovery.mark import (
    MarkError,
    bytes_by_mark,
    kept_marks,
    mark_if_due,
    mark_last,
    marked,
    marks_of,
)
from joinery.spark.recovery.replacement import mark_done

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations: {order: {key: [id], fields: {id: long}}}
products:
  orders: {root: order, sink: {files: {path: out}}}
  totals: {aggregate: order, values: {n: count(*)}, sink: {files: {path: out}}}
"""


def held(checkpoint: Path) -> int:
    """Return the bytes that only marks hold."""
    return sum(bytes_by_mark(checkpoint).values())


def state_of(folder: Path) -> set[str]:
    """Return the files of the only partition."""
    partition = folder / "state" / "0" / "0"
    return {each.relative_to(partition).as_posix() for each in partition.rglob("*")} - {"SSTs"}


def test_a_mark_has_what_the_last_batch_needs(tmp_path: Path) -> None:
    for batch in range(6):
        commit(tmp_path, batch, whole=batch in (0, 2, 4))

    made = mark_last(tmp_path, keep=24)

    assert (5, 1_005) == (made.batch, made.at_ms)
    assert made.folder == marked(tmp_path, 5)
    logs = {f"{n}_a.changelog" for n in (3, 4, 5, 6)}
    expected = {*logs, *(f".{each}.crc" for each in logs), "3_a.zip", "5_a.zip"}
    assert expected | {"SSTs/2.sst", "SSTs/4.sst"} == state_of(made.folder)


def test_a_batch_that_was_begun_alone_is_not_marked(tmp_path: Path) -> None:
    commit(tmp_path, 0)
    commit(tmp_path, 1)
    (tmp_path / "commits" / "1").unlink()

    assert 0 == mark_last(tmp_path, keep=24).batch
    assert not any(each.startswith("2_") for each in state_of(tmp_path / "joinery.marks" / "0"))


def test_the_oldest_marks_go(tmp_path: Path) -> None:
    for batch in range(3):
        commit(tmp_path, batch)
        mark_last(tmp_path, keep=2)

    assert [1, 2] == [each.batch for each in marks_of(tmp_path)]


def test_a_mark_costs_what_the_run_has_removed_since(tmp_path: Path) -> None:
    commit(tmp_path, 0, whole=True)
    mark_last(tmp_path, keep=24)
    logged = held(tmp_path)
    commit(tmp_path, 1)
    mark_last(tmp_path, keep=24)

    (tmp_path / "state" / "0" / "0" / "SSTs" / "0.sst").unlink()

    assert logged < 500
    assert 1_000 + 2 * logged == held(tmp_path)
    assert {0: logged, 1: 1_000 + logged} == bytes_by_mark(tmp_path)  # the younger needs it, too


def test_a_batch_is_due_once_it_is_so_much_later_than_the_last_mark(tmp_path: Path) -> None:
    mark_if_due(tmp_path, 2, keep=24)
    assert kept_marks(tmp_path) is None
    for batch in range(4):  # one a millisecond
        commit(tmp_path, batch)
        mark_if_due(tmp_path, 2, keep=24)

    assert [0, 2] == [each.batch for each in marks_of(tmp_path)]
    told = kept_marks(tmp_path)
    assert told == KeptMarks(count=2, batch=2, at=1.002, bytes=held(tmp_path))


def test_marks_are_listed_with_what_each_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT + "run: {marks: {keep: 2}}\n", encoding="utf-8")
    checkpoint = tmp_path / ".joinery" / "checkpoint" / "totals"
    for batch in range(3):
        commit(checkpoint, batch, whole=True)
        run_mark(file, ["totals"], keep=None, listed=False)
    (checkpoint / "state" / "0" / "0" / "SSTs" / "2.sst").unlink()
    capsys.readouterr()

    run_mark(file, ["totals"], keep=None, listed=True)

    first, second, total = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"totals: batch 1  1970-01-01 00:00:01Z  \d+ B", first)
    assert re.fullmatch(r"totals: batch 2  1970-01-01 00:00:01Z  1\.\d+ kB", second)
    assert re.fullmatch(r"totals: 2 marks, 1\.\d+ kB beyond what the checkpoint holds", total)


def test_a_batch_is_marked_once(tmp_path: Path) -> None:
    commit(tmp_path, 0)

    assert mark_last(tmp_path, keep=1) == mark_last(tmp_path, keep=1)


def test_without_a_batch_there_is_nothing_to_mark(tmp_path: Path) -> None:
    with pytest.raises(MarkError, match="has no state in files"):
        mark_last(tmp_path, keep=1)


def test_what_a_killed_command_left_goes_once_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tmp_path, 0)
    left = tmp_path / "joinery.marks" / ".0.1"
    left.mkdir(parents=True)

    mark_last(tmp_path, keep=1)
    assert left.exists()  # It may be made now.
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86_400)
    mark_last(tmp_path, keep=1)

    assert ["0"] == [each.name for each in (tmp_path / "joinery.marks").iterdir()]


def test_of_two_commands_that_mark_a_batch_one_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tmp_path, 0)
    link = os.link

    def meanwhile(*names: Path) -> None:
        monkeypatch.setattr(os, "getpid", lambda: 1)
        monkeypatch.setattr(os, "link", link)
        mark_last(tmp_path, keep=1)
        link(*names)

    monkeypatch.setattr(os, "link", meanwhile)

    assert 0 == mark_last(tmp_path, keep=1).batch
    assert ["0"] == [each.name for each in (tmp_path / "joinery.marks").iterdir()]
    assert state_of(marks_of(tmp_path)[0].folder)


def test_without_names_queries_that_remember_nothing_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    with pytest.raises(MarkError, match='query "orders" has no state in files'):
        run_mark(file, (), keep=1, listed=False)
    commit(tmp_path / ".joinery" / "checkpoint" / "totals", 3)

    run_mark(file, (), keep=1, listed=False)

    assert capsys.readouterr().out.startswith("totals: the state after batch 3 is kept\n")
    with pytest.raises(MarkError, match='query "orders" has no state in files'):
        run_mark(file, ["totals", "orders"], keep=1, listed=False)
    with pytest.raises(MarkArgumentError, match='no product or stream "order" to run'):
        run_mark(file, ["order"], keep=1, listed=False)


def test_the_state_that_waits_to_replace_a_querys_is_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    waiting = rebuild_paths(tmp_path / ".joinery" / "checkpoint", "totals").on_disk("a test")
    commit(waiting, 3)
    mark_done(waiting)  # as a rescale leaves it that is killed between its two renames

    run_mark(file, (), keep=1, listed=False)

    assert capsys.readouterr().out.startswith("totals: the state after batch 3 is kept\n")
