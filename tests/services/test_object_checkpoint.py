"""A run whose checkpoint is in an object store: killed, and over a bad network."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.chaos.world import World, assert_documents, make_world
from tests.services.by_tasks import assert_tasks_write, kept
from tests.services.remote_run import (
    COMMAND,
    POISON,
    Begin,
    declare,
    ended,
    kill,
    one_line,
    until_committed,
    until_there,
)
from tests.services.rescaled import BrokenOffError, break_off, declare_shop, state_goes_on
from tests.services.s3_server import BUCKET, BadNetwork, S3Server, s3_settings
from tests.session_run import run_to_end
from tests.spark.shop import CUSTOMERS, feed, run_once
from tests.unit.cli.command import joinery as joinery_here

import joinery as jn
from joinery.dev.service import Service
from joinery.errors import RunError, StateMismatchError
from joinery.place.remote_path import RemotePath
from joinery.place.s3 import S3Options
from joinery.spark.batch.query import QueryRun
from joinery.spark.jar import s3_jars
from joinery.spark.jvm import add_jars
from joinery.spark.launch import checkpoint_settings
from joinery.testing.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=17)


def reaching(spark: SparkSession, folder: Path) -> SparkSession:
    """Return a session beside that of all tests which keeps a project's checkpoint in its store.

    Hadoop keeps the client that a process first made for a bucket, so its server must stay.
    """
    spec = jn.load(folder / "joinery.yaml").spec
    add_jars(spark, s3_jars())
    session = spark.newSession()
    for name, value in {**checkpoint_settings(spec), **dict(spec.run.spark)}.items():
        if not name.startswith("spark.driver."):
            session.conf.set(name.removeprefix("spark.hadoop."), value)
    return session


def declare_at(port: int, folder: Path, world: World) -> RemotePath:
    """Write a project whose checkpoint is at a server; return where."""
    settings = s3_settings(port)
    place = RemotePath(BUCKET, folder.name, S3Options.of(settings))
    declare(folder, world, place, settings)
    return place


def joinery(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


HERE_AND_ON_A_CLUSTER = pytest.mark.parametrize("where", ["here", "cluster"])


@pytest.fixture
def master(request: pytest.FixtureRequest, where: str) -> list[str]:
    """What a command says of where Spark runs."""
    return ["--master", request.getfixturevalue("cluster").url] if where == "cluster" else []


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.mark.parametrize("where", ["here", pytest.param("cluster", marks=pytest.mark.exhaustive)])
def test_of_two_runs_one_is_refused_and_one_that_is_killed_goes_on_and_leaves_no_trace(
    spark: SparkSession, tmp_path: Path, world: World, s3: S3Server, master: list[str], begin: Begin
) -> None:
    checkpoint = declare_at(s3.port, tmp_path, world)
    user = sorted((tmp_path / "data" / "user").iterdir())[-1]
    user.write_text(user.read_text() + POISON)

    runs = [begin(tmp_path, *master, once=False), begin(tmp_path, *master, once=False)]
    while all(each.poll() is None for each in runs):
        time.sleep(0.05)
    (refused,) = (each for each in runs if each.poll() is not None)
    (first,) = (each for each in runs if each is not refused)
    until_committed(checkpoint, first)
    kill(first)
    run_to_end(reaching(spark, tmp_path), tmp_path)

    code, errors = ended(refused)
    assert (1, True) == (code, 'another run of "profile" is active' in errors), errors
    assert_documents(tmp_path, world.documents())
    (shown,) = json.loads(joinery(tmp_path, "status", "--json"))["products"]
    assert shown["state"] == "ended"
    assert "wrong_type" in joinery(tmp_path, "dlq", "list")
    assert not (tmp_path / ".joinery" / "checkpoint").exists()
    assert not (tmp_path / ".joinery" / "dead_letters").exists()
    assert not (checkpoint / "_staging").exists()


@pytest.mark.chaos
@HERE_AND_ON_A_CLUSTER
def test_nothing_is_lost_over_a_network_that_refuses_cuts_and_loses(
    tmp_path: Path, world: World, s3: S3Server, master: list[str], begin: Begin
) -> None:
    with BadNetwork(s3.port).open() as network:
        declare_at(network.port, tmp_path, world)
        network.refused, network.cut, network.lost, network.slow_s = 0.03, 0.02, 0.02, 0.02
        codes: list[int] = []
        while not codes or codes[-1]:
            code, errors = ended(begin(tmp_path, *master))
            codes.append(code)
            assert code == 0 or one_line(errors), errors
            if len(codes) > 2:
                network.mend()

        assert network.spoilt > 10
        assert len(codes) < 6, codes
    assert_documents(tmp_path, world.documents())


def test_tasks_of_a_cluster_write_what_they_staged_in_the_store(
    tmp_path: Path, cluster: Cluster, s3: S3Server, redis: Service
) -> None:
    with BadNetwork(s3.port).open() as network:
        network.refused, network.cut = 0.02, 0.02
        checkpoint = f"s3a://{BUCKET}/{tmp_path.name}"
        assert_tasks_write(tmp_path, cluster, redis, checkpoint, s3_settings(network.port))


@pytest.mark.exhaustive
def test_two_checkpoints_of_one_project_in_one_bucket_stage_apart(
    tmp_path: Path, world: World, s3: S3Server, begin: Begin
) -> None:
    checkpoint = declare_at(s3.port, tmp_path, world)
    said = (tmp_path / "joinery.yaml").read_text()
    other = said.replace(f"'{checkpoint}'", f"'{checkpoint}-other'").replace("out", "other/out")
    (tmp_path / "other.yaml").write_text(other)

    runs = [begin(tmp_path), begin(tmp_path, "other.yaml")]

    assert [0, 0] == [ended(each)[0] for each in runs]
    for folder in (tmp_path, tmp_path / "other"):
        assert_documents(folder, world.documents())


def test_a_store_that_goes_away_ends_the_run_with_one_line_and_nothing_is_lost(
    spark: SparkSession, tmp_path: Path, world: World, s3: S3Server, begin: Begin
) -> None:
    with BadNetwork(s3.port).open() as network:
        checkpoint = declare_at(network.port, tmp_path, world)
        behind = RemotePath(BUCKET, checkpoint.key, S3Options.of(s3.settings))
        first = begin(tmp_path)
        until_committed(behind, first)
        network.cut = 1.0
        code, errors = ended(first)
        port = network.port
    file = tmp_path / "joinery.yaml"
    file.write_text(file.read_text().replace(f":{port}", f":{s3.port}"))
    run_to_end(reaching(spark, tmp_path), tmp_path)

    assert (code, True) == (1, one_line(errors)), errors
    assert_documents(tmp_path, world.documents())


def test_a_rebuild_takes_the_place_of_a_checkpoint_in_a_store(
    spark: SparkSession, tmp_path: Path, world: World, s3: S3Server, begin: Begin
) -> None:
    checkpoint = declare_at(s3.port, tmp_path, world)
    session = reaching(spark, tmp_path)
    file = tmp_path / "joinery.yaml"
    wanted = file.read_text()
    file.write_text(wanted.replace("pull_revs: sum", "other: count(pulls), pull_revs: sum"))
    run_to_end(session, tmp_path)
    file.write_text(wanted)
    rebuilt = checkpoint / "_rebuild" / "profile"

    with pytest.raises(StateMismatchError) as refused:
        run_to_end(session, tmp_path)
    broken = begin(tmp_path, "--rebuild")
    until_there(rebuilt / "commits" / "0", broken)
    kill(broken)
    code, errors = ended(begin(tmp_path, "--rebuild"))

    assert "joinery run --rebuild" in refused.value.hint
    assert 0 == code, errors
    assert_documents(tmp_path, world.documents())
    assert not (checkpoint / "_rebuild").exists()
    (kept,) = (checkpoint / "_replaced").iterdir()
    assert (kept / "commits" / "0").is_file()
    assert not list((tmp_path / ".joinery/local").glob("*/_rebuild/*"))


@pytest.mark.exhaustive
def test_documents_that_wait_are_sent_by_a_run_on_another_machine(
    tmp_path: Path, world: World, s3: S3Server, begin: Begin
) -> None:
    checkpoint = declare_at(s3.port, tmp_path, world)
    file = tmp_path / "joinery.yaml"
    held = "    root: user\n    ready: [user, repo]\n    emit: {settle: 5m}"
    file.write_text(file.read_text().replace("    root: user", held))
    first = begin(tmp_path)
    until_committed(checkpoint, first)
    kill(first)
    assert not list((tmp_path / "out").glob("profile/*.jsonl"))

    shutil.rmtree(tmp_path / ".joinery")
    code, errors = ended(begin(tmp_path))

    assert 0 == code, errors
    assert_documents(tmp_path, world.documents())


def test_state_goes_on_in_another_number_of_partitions(
    tmp_path: Path, spark: SparkSession, s3: S3Server
) -> None:
    add_jars(spark, s3_jars())
    place = RemotePath.of(f"s3a://{BUCKET}/{tmp_path.name}", S3Options.of(s3.settings))

    state_goes_on(tmp_path, spark, place, s3.settings)


ADDED = """\
  totals:
    group: shop
    aggregate: order
    by: [customer_id]
    values: {total: sum(total)}
    sink: {redis: {url: URL, prefix: PREFIX-totals, parallel: tasks}}
"""


def test_products_are_added_and_changed_where_tasks_write_and_the_checkpoint_is_in_a_store(
    spark: SparkSession,
    tmp_path: Path,
    s3: S3Server,
    redis: Service,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The batch that builds them breaks off once, behind the writing of its documents."""
    monkeypatch.chdir(tmp_path)
    prefix = tmp_path.name
    place = RemotePath.of(f"s3a://{BUCKET}/{prefix}", S3Options.of(s3.settings))
    declare_shop(tmp_path, place, s3.settings)
    file = tmp_path / "joinery.yaml"
    by_tasks = f"{{redis: {{url: '{redis.address}', prefix: {prefix}, parallel: tasks}}}}"
    text = file.read_text().replace("sink: {files: {path: out}}", f"sink: {by_tasks}", 1)
    file.write_text(text)
    session = reaching(spark, tmp_path)
    run_once(session, tmp_path)
    assert len(CUSTOMERS) == len(kept(redis, prefix))
    added = ADDED.replace("URL", f"'{redis.address}'").replace("PREFIX", prefix)
    orders = "embed: {orders: {many: order, on: {customer_id: id}, fields: [id, total]}}"
    assert orders in text
    few = (
        "where: city = 'city 1'\n    embed: {o: {many: order, on: {customer_id: id}, fields: [id]}}"
    )
    file.write_text(text.replace(orders, few).replace("run: {", f"{added}run: {{"))
    assert 0 == joinery_here(monkeypatch, "apply")
    with monkeypatch.context() as broken:
        broken.setattr(QueryRun, "note_sent", break_off)
        with pytest.raises((BrokenOffError, RunError)):
            run_once(session, tmp_path)

    sent = run_once(session, tmp_path)
    feed(tmp_path, 2, order=[{"id": 91, "customer_id": 1, "total": 7}])
    later = run_once(session, tmp_path)

    assert ({"profile": 6, "totals": 30}, {"profile": 1, "totals": 1}) == (
        {name: count for name, count in sent.items() if count},
        later,
    )
    profiles = {each["id"]: [one["id"] for one in each["o"]] for each in kept(redis, prefix)}
    assert {i: [i, i + 30] + [91] * (i == 1) for i in range(1, 30, 5)} == profiles
    totals = {each["customer_id"]: each["total"] for each in kept(redis, f"{prefix}-totals")}
    assert {i: i + i + 30 + 7 * (i == 1) for i in range(30)} == totals


def test_what_needs_a_disk_is_refused_by_name(tmp_path: Path, world: World) -> None:
    declare_at(1, tmp_path, world)
    file = tmp_path / "joinery.yaml"
    text = file.read_text().replace("    root: user", "    root: user\n    solution: kv")
    file.write_text(text)

    check = subprocess.run([*COMMAND, "check"], cwd=tmp_path, capture_output=True, text=True)

    needs = "needs a checkpoint on a disk, and run.checkpoint is at s3a://"
    assert f'PLAN_NOT_YET solution: kv of product "profile" {needs}' in check.stdout + check.stderr
    assert 2 == check.returncode
