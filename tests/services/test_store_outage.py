"""A run outlives the store of its join state: away at the start, and killed under it."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.services.command import Command, joinery_run
from tests.session_run import LIMIT_S, run_to_end

import joinery as jn
from joinery.dev.postgres import postgres as postgres_service
from joinery.dev.redis import redis as redis_service
from joinery.dev.service import Service
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.batch.watch import WaitedTooLongError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.slow]

PROJECT = """\
name: outage
sources: {{changes: {{files: {{path: data}}}}}}
relations:
  user: {{key: [id], fields: {{id: long, name: string}}}}
  star: {{key: [id], fields: {{id: long, user_id: long, repo: string}}}}
products:
  profile:
    root: user
    embed: {{stars: {{many: star, on: {{user_id: id}}, fields: [repo]}}}}
    sink: {{files: {{path: out}}}}
    solution: {solution}
run: {{trigger: 100ms}}
"""
USERS, ROUNDS = 40, 3


@pytest.fixture(params=["postgres", pytest.param("redis", marks=pytest.mark.exhaustive)])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A server of the test's own, stopped, that keeps all it has confirmed."""
    folder = tmp_path_factory.mktemp(request.param)
    folder.chmod(0o755)
    if request.param == "postgres":
        service = postgres_service(folder)
    else:
        service = redis_service(folder, settings={"appendfsync": "always"})
    with service.started():
        service.stop()
        yield service
        service.start()


def declare(folder: Path, server: Service) -> None:
    kept = (
        f"{{rdbms-store: {{database: '{server.address}'}}}}"
        if server.name == "postgres"
        else f"{{kv: {{store: redis, url: '{server.address}'}}}}"
    )
    (folder / "joinery.yaml").write_text(PROJECT.format(solution=kept), encoding="utf-8")


def put(folder: Path, relation: str, rows: list[dict[str, object]]) -> None:
    """Add one complete file of changes."""
    place = folder / "data" / relation
    place.mkdir(parents=True, exist_ok=True)
    part = place / f".{uuid.uuid4().hex}"
    part.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    part.rename(place / f"{len(list(place.glob('*.jsonl'))):06}.jsonl")


def put_round(folder: Path, number: int, random: Random) -> None:
    """Add changes of both relations, new rows and moved ones."""
    stars = [(each, random.randrange(USERS)) for each in random.sample(range(400), 60)]
    put(
        folder,
        "star",
        [{"id": at, "user_id": who, "repo": f"repo {number}.{at}"} for at, who in stars],
    )
    users = random.sample(range(USERS), 10)
    put(folder, "user", [{"id": each, "name": f"name {number}"} for each in users])


def documents(folder: Path) -> Mapping[str, object]:
    """Return the newest document of each key; versions only rise."""
    newest: dict[str, tuple[int, str | None]] = {}
    for row in read_rows(sorted((folder / "out/profile").glob("*.jsonl"))):
        stood = newest.get(row.key)
        assert stood is None or row.version > stood[0]
        newest[row.key] = row.version, row.value
    return {key: value for key, (_, value) in newest.items()}


def expected(folder: Path) -> Mapping[str, object]:
    """Return what the same changes give, computed plainly."""
    users: dict[int, str] = {}
    stars: dict[int, tuple[int, str]] = {}
    for part in sorted((folder / "data/user").glob("*.jsonl")):
        for row in map(json.loads, part.read_text().splitlines()):
            users[row["id"]] = row["name"]
    for part in sorted((folder / "data/star").glob("*.jsonl")):
        for row in map(json.loads, part.read_text().splitlines()):
            stars[row["id"]] = row["user_id"], row["repo"]

    def document(user: int, name: str) -> str:
        shown = [{"repo": repo} for _, (who, repo) in sorted(stars.items()) if who == user]
        return json.dumps({"id": user, "name": name, "stars": shown}, separators=(",", ":"))

    return {f'{{"id":{user}}}': document(user, name) for user, name in users.items()}


def waits_for_store(run: Command) -> int:
    return sum(each["target"] == "the store of profile" for each in run.told("waiting"))


def test_a_run_waits_for_its_store_and_the_next_goes_on_as_if_there_had_been_no_outage(
    spark: SparkSession, server: Service, tmp_path: Path
) -> None:
    random = Random(5)
    declare(tmp_path, server)
    put_round(tmp_path, 0, random)
    with joinery_run(tmp_path) as run:
        run.wait_for(lambda: waits_for_store(run) == 1)
        server.start()
        run.wait_for(lambda: run.told("back") and documents(tmp_path) == expected(tmp_path))
        for number in range(1, ROUNDS):
            killer = threading.Timer(random.uniform(0, 0.4), server.kill)
            killer.start()
            put_round(tmp_path, number, random)
            killer.join()
            put_round(tmp_path, number + 100, random)
            run.wait_for(lambda: waits_for_store(run) > len(run.told("back")))
            server.start()
            run.wait_for(lambda: documents(tmp_path) == expected(tmp_path))

        server.kill()
        put_round(tmp_path, 1000, random)
        run.wait_for(lambda: waits_for_store(run) > len(run.told("back")))
        code, errors = run.end()

    assert (1, 1) == (code, errors.count("\n"))
    assert "stopped before its batch was finished" in errors
    server.start()
    run_to_end(spark, tmp_path)
    assert expected(tmp_path) == documents(tmp_path)


@pytest.mark.parametrize("server", ["redis"], indirect=True)
def test_a_store_that_is_away_at_the_start_is_given_up_on_and_the_next_start_goes_on(
    spark: SparkSession, server: Service, tmp_path: Path
) -> None:
    declare(tmp_path, server)
    put_round(tmp_path, 0, Random(6))
    project = jn.load(tmp_path / "joinery.yaml")
    run = Run(project.spec, project.plan, RunOptions(once=True, wait_ms=2000))
    run.prepare()
    run.start(spark)
    with pytest.raises(WaitedTooLongError, match="waited 2s for the store of profile"):
        run.await_termination(LIMIT_S)
    server.start()

    run_to_end(spark, tmp_path)

    assert expected(tmp_path) == documents(tmp_path)
