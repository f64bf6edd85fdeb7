"""A checkpoint in an object store that another takes the place of, and what runs have staged."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from tests.services import object_folder
from tests.services.object_folder import contents, finished_rebuild, over
from tests.services.s3_server import BadNetwork

from joinery.delivery.query_paths import SWAPPED, rebuild_paths
from joinery.files import write_whole
from joinery.place.remote_path import RemotePath
from joinery.place.store import StorageError
from joinery.sinks.protocol import FencedError
from joinery.spark.batch.staging import Staging
from joinery.spark.recovery.checkpoint import begin_empty_batch
from joinery.spark.recovery.replacement import RESCALED, _Mark, mark_done, put_in_place

pytestmark = pytest.mark.services
folder = object_folder.folder
network = object_folder.network


def test_an_empty_batch_does_not_take_the_place_of_another_run_s(folder: RemotePath) -> None:
    settings = json.dumps({"batchTimestampMs": 1})
    write_whole(folder / "offsets" / "7", f"v1\n{settings}\n{{}}", synced=True)

    def another_begins() -> None:
        write_whole(folder / "offsets" / "8", "another", synced=True)

    with pytest.raises(FencedError, match="was started by another run"):
        begin_empty_batch(folder, 2, another_begins)

    assert (folder / "offsets" / "8").read_text() == "another"


@pytest.mark.parametrize("broken_at", range(9))
def test_a_rebuild_that_is_interrupted_while_it_takes_its_place_is_whole_afterwards(
    folder: RemotePath, broken_at: int
) -> None:
    finished_rebuild(folder)
    checks = count()

    def check() -> None:
        if next(checks) == broken_at:
            raise FencedError("another run has taken over")

    with pytest.raises(FencedError):
        put_in_place(folder, "q", check)
    assert put_in_place(folder, "q")

    assert {"offsets/0": "new", "state/0/new.zip": "new"} == contents(folder / "q")
    (kept,) = (folder / "_replaced").iterdir()
    assert dict.fromkeys(("offsets/0", "offsets/1", "state/0/old.zip"), "old") == contents(kept)
    assert not (folder / "_rebuild").exists()
    assert not put_in_place(folder, "q")


def test_documents_that_wait_go_along_with_state_that_was_moved(folder: RemotePath) -> None:
    held = {"offsets/0": "moved", "joinery-held/settle-p/000000000000": "waits"}
    for name in held:
        write_whole(folder / "q" / name, "before", synced=True)
    fresh = rebuild_paths(folder, "q").checkpoint
    for name, content in {RESCALED: "", **held}.items():
        write_whole(fresh / name, content, synced=True)
    mark_done(fresh)

    put_in_place(folder, "q")

    assert held == contents(folder / "q")
    assert not fresh.exists()


@pytest.mark.parametrize("away_at", [1, 4, 6, 7, 9])
def test_a_run_that_is_replaced_while_its_store_is_away_removes_nothing_of_the_other_s(
    folder: RemotePath, network: BadNetwork, away_at: int
) -> None:
    finished_rebuild(folder)
    checks, replaced = count(1), threading.Event()

    def another_goes_on() -> None:
        put_in_place(folder, "q")
        write_whole(folder / "q" / "offsets/1", "run", synced=True)
        replaced.set()
        network.mend()

    def check() -> None:
        if replaced.is_set():
            raise FencedError("another run has taken over")
        if next(checks) == away_at:
            network.cut = 1.0
            pool.submit(another_goes_on)

    with ThreadPoolExecutor(1) as pool, suppress(FencedError, StorageError):
        put_in_place(over(network, folder), "q", check)

    assert replaced.is_set()
    expected = {"offsets/0": "new", "offsets/1": "run", "state/0/new.zip": "new"}
    assert expected == contents(folder / "q")
    assert not (folder / "_rebuild").exists()


def test_a_step_that_is_noted_late_is_not_noted(folder: RemotePath) -> None:
    """Else the next run would put what is left of a rebuild in the place of a checkpoint."""
    finished_rebuild(folder)
    mark = rebuild_paths(folder, "q").checkpoint / SWAPPED
    assert isinstance(mark, RemotePath)
    late = _Mark.of(mark)
    put_in_place(folder, "q")

    with pytest.raises(FencedError):
        late.noting("kept")

    assert not mark.exists()


def test_a_run_that_ends_removes_its_own_parts_alone(folder: RemotePath, tmp_path: Path) -> None:
    staging = Staging(tmp_path, folder)
    for name in ("1-0-mine/7/p", "1-0-mine/8/p", "2-0-other/9/p"):
        write_whole(folder / name, "x", synced=True)

    staging.remove_of("mine")

    assert {"2-0-other/9/p": "x"} == contents(folder)


def test_a_run_that_is_replaced_while_it_clears_leaves_what_another_has_staged(
    folder: RemotePath, tmp_path: Path
) -> None:
    write_whole(folder / "1-0-before/7/p", "x", synced=True)
    checks = iter((lambda: None, lambda: write_whole(folder / "3-0-new/1/p", "x", synced=True)))

    Staging(tmp_path, folder).clear(lambda: next(checks)())

    assert {"3-0-new/1/p": "x"} == contents(folder)
