"""A checkpoint in HDFS: what a run keeps there, and a run that is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.chaos.world import World, assert_documents, make_world
from tests.services import test_object_hold as hold
from tests.services import test_object_lease as lease_tests
from tests.services import test_object_letters as letters
from tests.services import test_object_rebuild as rebuild
from tests.services import test_object_store as store
from tests.services.by_tasks import assert_tasks_write
from tests.services.hdfs_server import hdfs as hdfs_service
from tests.services.hdfs_server import hdfs_settings
from tests.services.object_folder import contents, finished_rebuild
from tests.services.remote_run import (
    POISON,
    Begin,
    declare,
    ended,
    kill,
    one_line,
    until_committed,
)
from tests.services.rescaled import declare_shop, state_goes_on
from tests.services.s3_server import BadNetwork
from tests.session_run import run_to_end
from tests.spark.shop import CUSTOMERS, ORDERS, feed, run_once

import joinery as jn
from joinery.delivery.lease import Lease
from joinery.delivery.lease_file import LeaseHeldError, holder_in
from joinery.dev.port import HOST
from joinery.dev.service import Service
from joinery.errors import FencedError
from joinery.files import append_line, write_whole
from joinery.place.hdfs import HdfsOptions
from joinery.place.remote_path import RemotePath
from joinery.place.store import StorageError
from joinery.spark.recovery.replacement import put_in_place
from joinery.testing.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

AWAY_S, LIMIT_S = 4.0, 300

# What holds in an object store holds here, too.
test_a_file_reads_as_it_was_written = store.test_a_file_reads_as_it_was_written
test_a_folder_lists_what_is_in_it = store.test_a_folder_lists_what_is_in_it
test_a_folder_is_copied_in_part = store.test_a_folder_is_copied_without_what_is_left_out
test_a_folder_is_removed = store.test_a_folder_is_removed_with_all_that_is_in_it
test_lines_of_many_writers_all_stand = store.test_lines_of_many_writers_all_stand
test_of_those_who_ask_one_is_first = store.test_of_those_who_ask_the_same_one_is_first
test_dead_letters_stand_once = letters.test_dead_letters_of_a_batch_that_runs_again_stand_once
test_open_dead_letters_are_told = letters.test_open_dead_letters_are_told_to_who_looks
test_replaced_letters = letters.test_dead_letters_of_a_run_that_was_replaced_are_not_kept
test_of_two_drivers_at_once_one_writes = (
    lease_tests.test_of_two_drivers_that_start_at_once_one_writes
)
test_of_two_one_has_what_was_released = (
    lease_tests.test_of_two_drivers_one_takes_over_a_lease_that_was_released
)
test_of_two_one_has_what_lapsed = (
    lease_tests.test_of_two_drivers_one_takes_over_a_lease_that_has_lapsed
)
test_a_lease_is_kept_where_answers_are_lost = (
    lease_tests.test_a_lease_is_kept_where_answers_are_lost
)
test_a_file_is_put_first_by_one = store.test_a_file_is_put_first_by_one
test_an_empty_batch = rebuild.test_an_empty_batch_does_not_take_the_place_of_another_run_s
test_a_run_removes_its_own_parts = rebuild.test_a_run_that_ends_removes_its_own_parts_alone
test_who_clears_leaves_what_is_new = (
    rebuild.test_a_run_that_is_replaced_while_it_clears_leaves_what_another_has_staged
)
test_documents_that_are_gone_are_told = hold.test_documents_that_wait_and_are_gone_are_told
test_of_two_that_hold_one_is_told = (
    hold.test_of_two_runs_that_hold_documents_one_is_told_of_the_other
)
test_what_waits_goes_along = rebuild.test_documents_that_wait_go_along_with_state_that_was_moved
test_a_rebuild_asks_a_run_to_end = lease_tests.test_a_rebuild_asks_a_run_to_end_through_the_store
test_a_run_that_was_replaced_is_told_so = lease_tests.test_a_run_that_was_replaced_is_told_so


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """HDFS; `hdfs.address` is that of its root."""
    with hdfs_service(tmp_path_factory.mktemp("hdfs")).started() as service:
        yield service


@pytest.fixture
def settings(hdfs: Service) -> dict[str, str]:
    """What `run.spark` says of HDFS."""
    return hdfs_settings(hdfs)


@pytest.fixture
def folder(hdfs: Service, settings: dict[str, str], request: pytest.FixtureRequest) -> RemotePath:
    """A folder of the test's own."""
    return place(f"{hdfs.address}/{request.node.name}", settings)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=17)


@pytest.fixture
def rounds() -> int:
    """How often two drivers are started at once."""
    return 20


@pytest.fixture
def network(hdfs: Service) -> Iterator[BadNetwork]:
    """What is between here and the name node."""
    with BadNetwork(hdfs.ports["web"]).open() as opened:
        yield opened


@pytest.fixture
def spoilt(network: BadNetwork, folder: RemotePath) -> RemotePath:
    """The folder as it is seen through the network."""
    return over(network, folder)


def place(address: str, settings: dict[str, str]) -> RemotePath:
    authority = address.removeprefix("hdfs://").partition("/")[0]
    return RemotePath.of(address, HdfsOptions.of(authority, settings))


def over(network: BadNetwork, folder: RemotePath) -> RemotePath:
    """Return a folder as it is seen through a network."""
    return at(network.port, folder)


def at(port: int, folder: RemotePath) -> RemotePath:
    """Return a folder as a name node at a port shows it."""
    return replace(folder, options=HdfsOptions((f"{HOST}:{port}",), user="root"))


def test_a_file_that_is_changed_on_a_condition_is_one_file(folder: RemotePath) -> None:
    append_line(folder / "a" / "lines", "one")
    append_line(folder / "a" / "lines", "two")
    write_whole(folder / "a" / "b" / "other", "x", synced=True)

    found = {str(each): listed.size for each, listed in folder.listed()}

    assert {f"{folder}/a/lines": 10, f"{folder}/a/b/other": 1} == found
    assert (folder / "a" / "lines").is_file()
    assert not (folder / "a" / "b").is_file()
    assert [folder / "a" / "lines"] == list(folder.glob("a/l*"))
    (folder / "a" / "lines").unlink()
    assert not (folder / "a" / "lines").exists()


def test_what_is_under_way_is_not_there(folder: RemotePath) -> None:
    write_whole(folder / "a" / ".joinery-1", "x", synced=True)

    assert [] == list((folder / "a").iterdir())
    assert [] == list(folder.listed())


def test_lines_stand_once_where_answers_are_lost(folder: RemotePath, network: BadNetwork) -> None:
    network.lost = 0.3
    lines = over(network, folder).within(10.0, 9) / "lines"

    for each in range(10):
        append_line(lines, str(each))

    assert [str(each) for each in range(10)] == (folder / "lines").read_text().split()


def test_the_other_name_node_is_asked_where_one_does_not_answer(
    folder: RemotePath, network: BadNetwork
) -> None:
    write_whole(folder / "file", "x", synced=True)
    network.refused = 1.0
    web = folder.options
    assert isinstance(web, HdfsOptions)
    both = (f"{HOST}:{network.port}", *web.name_nodes)

    read = [(replace(folder, options=replace(web, name_nodes=both)) / "file").read_bytes()] * 2

    assert [b"x", b"x"] == read
    assert network.asked == 1


def test_a_name_node_that_is_away_is_told_in_one_line(
    folder: RemotePath, network: BadNetwork
) -> None:
    network.cut = 1.0
    away = over(network, folder).within(1.0, 2)

    with pytest.raises(StorageError) as told:
        write_whole(away / "file", "1", synced=True)

    assert told.value.message == f"could not write {folder}/file"
    assert f"{HOST}:{network.port}: " in told.value.detail
    assert "dfs.namenode.http-address" in told.value.hint
    assert isinstance(told.value, OSError)


@pytest.mark.parametrize("broken_at", range(2))
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
    before = dict.fromkeys(("offsets/0", "offsets/1", "state/0/old.zip"), "old")
    assert before == contents(kept)
    assert not (folder / "_rebuild" / "q").exists()
    assert not put_in_place(folder, "q")


def test_a_name_node_that_stands_still_for_a_while_does_not_end_a_run(
    folder: RemotePath, hdfs: Service
) -> None:
    lost = threading.Event()
    lease = Lease(folder / "q.lease", "q", lost.set)
    lease.take()

    away(hdfs)
    lease.check()

    standing = holder_in(folder / "q.lease")
    assert standing is not None
    assert standing.owner == lease.owner
    assert not lost.is_set()
    lease.release()


def away(hdfs: Service) -> None:
    """Let HDFS stand still for longer than a renewal waits for an answer."""
    hdfs.suspend()
    time.sleep(AWAY_S)
    hdfs.resume()


def test_a_run_that_is_killed_goes_on_and_loses_nothing_while_hdfs_stands_still(
    tmp_path: Path,
    spark: SparkSession,
    world: World,
    hdfs: Service,
    folder: RemotePath,
    settings: dict[str, str],
    begin: Begin,
) -> None:
    declare(tmp_path, world, folder, settings)
    user = sorted((tmp_path / "data" / "user").iterdir())[-1]
    user.write_text(user.read_text() + POISON)

    first = begin(tmp_path, once=False)
    until_committed(folder, first)
    with pytest.raises(LeaseHeldError, match='another run of "profile" is active'):
        run_to_end(spark, tmp_path)
    away(hdfs)
    until_committed(folder, first, batch=1)
    kill(first)
    run_to_end(spark, tmp_path)

    assert_documents(tmp_path, world.documents())
    (shown,) = jn.status(tmp_path).products
    assert shown.state == "ended"
    assert shown.dead == 1
    assert not (tmp_path / ".joinery" / "checkpoint").exists()
    assert not (tmp_path / ".joinery" / "dead_letters").exists()


@pytest.mark.exhaustive  # in test_object_checkpoint.py a store goes, here one stands still
def test_hdfs_that_is_killed_ends_the_run_with_one_line_and_nothing_is_lost(
    tmp_path: Path,
    spark: SparkSession,
    world: World,
    hdfs: Service,
    folder: RemotePath,
    settings: dict[str, str],
    begin: Begin,
) -> None:
    declare(tmp_path, world, folder, settings)

    first = begin(tmp_path)
    until_committed(folder, first)
    hdfs.kill()
    code, errors = ended(first)
    hdfs.start()
    run_to_end(spark, tmp_path)

    assert (1, True) == (code, one_line(errors)), errors
    assert_documents(tmp_path, world.documents())


@pytest.mark.exhaustive  # test_object_checkpoint.py moves one that cannot be renamed
def test_state_goes_on_in_another_number_of_partitions(
    tmp_path: Path, spark: SparkSession, folder: RemotePath, settings: dict[str, str]
) -> None:
    state_goes_on(tmp_path, spark, folder, settings)


def test_a_run_goes_on_from_a_rebuild(
    tmp_path: Path, spark: SparkSession, folder: RemotePath, settings: dict[str, str]
) -> None:
    declare_shop(tmp_path, folder, settings)
    run_once(spark, tmp_path)

    rebuilt = jn.run(spark, jn.load(tmp_path / "joinery.yaml"), once=True, rebuild=True)
    assert rebuilt.await_termination(LIMIT_S)
    feed(tmp_path, 2, order=ORDERS[60:], customer=[{**CUSTOMERS[7], "city": "city 0"}])
    sent = run_once(spark, tmp_path)

    assert {"profile": 30, "cities": 2} == sent
    assert 1 == len(list((folder / "_replaced").iterdir()))
    file = next(iter((folder / "shop").glob("state/*/_metadata/*/0")))
    assert "/_rebuild/" not in file.read_text()


@pytest.mark.exhaustive
def test_tasks_of_a_cluster_write_what_they_staged_in_hdfs(
    tmp_path: Path, redis: Service, folder: RemotePath, settings: dict[str, str]
) -> None:
    with Cluster(tmp_path) as cluster:
        assert_tasks_write(tmp_path, cluster, redis, str(folder), settings)

    assert not (folder / "_staging").exists()
