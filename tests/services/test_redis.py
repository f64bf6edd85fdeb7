"""The redis sink keeps what every sink must, on a real Redis."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from tests.services.sink_variants import parts_of

import joinery as jn
from joinery.dev.redis import redis as redis_service
from joinery.dev.service import Service
from joinery.model.type import LONG, Field, Struct
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Sink, SinkError, SinkUnavailableError, StagedBatch, make_sink
from joinery.sinks.reader import Held, make_reader
from joinery.testing.conformance import SinkCase, SinkTarget, by_tasks, sink_cases
from joinery.vault.prove import prove_erased
from joinery.vault.tables import open_vault

pytestmark = pytest.mark.services
Stage = Callable[..., StagedBatch]


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A Redis that loses nothing when it is killed."""
    folder = tmp_path_factory.mktemp("redis")
    with redis_service(folder, settings={"appendfsync": "always"}).started() as service:
        yield service


@pytest.fixture(scope="module")
def target(redis: Service) -> SinkTarget:
    """Return the sink on a Redis that can be killed and started again."""

    @contextmanager
    def outage() -> Iterator[None]:
        redis.kill()
        try:
            yield
        finally:
            redis.start()

    def read(product: str) -> Iterator[StagedRow]:
        with client(redis) as server:
            for place in server.scan_iter(f"{product}:*", count=5000):
                owner, number = json.loads(place.decode().removeprefix(f"{product}:"))
                version = server.get(b"joinery:version:" + place)
                key = json.dumps({"owner": owner, "number": number})
                yield StagedRow(key, server.get(place).decode(), int(version))

    return SinkTarget(make=lambda name: sink_of(redis, name), read=read, outage=outage)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    def build(*lines: str, **parts: Any) -> StagedBatch:
        file = tmp_path / f"{uuid.uuid4().hex}.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return StagedBatch(
            product="ticket",
            query="ticket",
            query_id="q",
            batch_id=0,
            files=(file,),
            key=Struct((Field("id", LONG),)),
            value=Struct((Field("n", LONG),)),
            **parts,
        )

    return build


def client(redis: Service) -> Any:
    return Redis.from_url(redis.address)


def sink_of(redis: Service, product: str) -> Sink:
    return make_sink("redis", product, {"url": redis.address}, Path())


@pytest.mark.parametrize("case", sink_cases(), ids=str)
def test_redis(case: SinkCase, target: SinkTarget) -> None:
    keep(case, target)


@pytest.mark.parametrize("case", parts_of())
def test_redis_in_parts(case: SinkCase, target: SinkTarget) -> None:
    keep(case, by_tasks(target))


def keep(case: SinkCase, target: SinkTarget) -> None:
    outcome = case.run(target)
    assert "" == outcome.problem
    if outcome.left_out:
        pytest.skip(outcome.left_out)


def test_a_delete_is_forgotten_when_its_retention_is_over(redis: Service, stage: Stage) -> None:
    now_us = time.time_ns() // 1000
    sink = sink_of(redis, "ticket")
    sink.open()
    sink.write(stage('{"key":{"id":1},"value":null,"version":5}', forget_before=now_us - 10**9))

    with client(redis) as server:
        remaining_ms = server.pttl("joinery:version:ticket:1")

    sink.close()
    assert 0 < remaining_ms <= 10**6 + 60_000


def test_a_wrong_password_is_told_without_showing_it(redis: Service) -> None:
    with client(redis) as server:
        server.acl_setuser("writer", enabled=True, passwords=["+right"])
    url = redis.address.replace("redis://", "redis://writer:wrong@")

    with pytest.raises(SinkError) as refused:
        make_sink("redis", "ticket", {"url": url}, Path()).open()

    told = f"{refused.value} {refused.value.detail} {refused.value.hint}"
    assert not isinstance(refused.value, SinkUnavailableError)
    assert "refused a request" in told
    assert "writer:wrong" not in told


def test_a_server_without_memory_is_waited_for_and_told_without_documents(
    redis: Service, stage: Stage
) -> None:
    sink = sink_of(redis, "full")
    sink.open()
    batch = stage('{"key":{"id":1},"value":{"n":417},"version":1}')
    with client(redis) as server:
        server.config_set("maxmemory", 1)
        try:
            with pytest.raises(SinkUnavailableError) as full:
                sink.write(batch)
        finally:
            server.config_set("maxmemory", 0)

    sink.write(batch)
    sink.close()
    assert "OOM command not allowed" in full.value.detail
    assert "417" not in full.value.detail


def test_versions_beyond_what_a_double_holds_are_compared_exactly(
    redis: Service, stage: Stage
) -> None:
    sink = sink_of(redis, "exact")
    sink.open()
    sink.write(stage(f'{{"key":{{"id":1}},"value":{{"n":2}},"version":{2**62 + 1}}}'))

    written = sink.write(stage(f'{{"key":{{"id":1}},"value":{{"n":1}},"version":{2**62}}}'))

    sink.close()
    assert 1 == written.older
    with client(redis) as server:
        assert b'{"n":2}' == server.get("exact:1")


def test_documents_are_read_back_with_their_versions(redis: Service, stage: Stage) -> None:
    sink = sink_of(redis, "read-back*")
    sink.open()
    sink.write(stage('{"key":{"id":1},"value":{"n":1},"version":5}'))
    sink.write(stage('{"key":{"id":2},"value":{"n":2},"version":6}'))
    sink.write(stage('{"key":{"id":2},"value":null,"version":7}'))
    sink.close()
    with client(redis) as server:
        server.set("read-back*:3", "{}")
        server.set("read-back*:no number", "{}")

    key = Struct((Field("id", LONG),))
    reader = make_reader(
        "redis",
        {"url": redis.address, "prefix": "read-back*"},
        product="ticket",
        folder=Path(),
        key=key,
        value=Struct(()),
    )
    found, keys = reader.read(['{"id":1}', '{"id":2}', '{"id":3}']), sorted(reader.keys())
    reader.close()

    assert {'{"id":1}': Held('{"n":1}', 5), '{"id":3}': Held("{}", 0)} == found
    assert ['"no number"', '{"id":1}', '{"id":3}'] == keys


PERSONAL = """\
name: shop
sources: {{changes: {{files: {{path: data}}}}}}
vault: {{sqlite: {{path: vault.db}}, master: "not a secret, since this is only a test"}}
relations:
  person:
    key: [id]
    fields: {{id: long, email: string}}
    personal: {{subject: id, fields: [email]}}
products:
  profile: {{root: person, sink: {{redis: {{url: "{url}", prefix: {prefix}, reveal: true}}}}}}
"""


def test_a_proof_looks_into_its_documents(redis: Service, tmp_path: Path) -> None:
    prefix = f"proof{uuid.uuid4().hex}"
    text = PERSONAL.format(url=redis.address, prefix=prefix)
    (tmp_path / "joinery.yaml").write_text(text)
    project = jn.load(tmp_path / "joinery.yaml")
    vault = open_vault(project.spec)
    with client(redis) as server:
        server.set(f"{prefix}:7", json.dumps({"id": 7, "email": "añn@example.org"}))

    def found(value: str) -> tuple[str, ...]:
        name = vault.name_of("person", "7")
        proof = prove_erased(project.spec, project.plan, vault, name, value)
        assert not proof.unlooked
        return proof.found

    assert ("sink redis of profile: 1 of its documents",) == found("añn@example.org")
    assert () == found("bob@example.org")
    vault.close()
