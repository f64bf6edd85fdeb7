"""The opensearch sink keeps what every sink must, on a real OpenSearch."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import JSONSerializer, OpenSearch
from tests.services.sink_variants import parts_of

from joinery.dev.service import Service
from joinery.model.type import LONG, STRING, Field, Struct, parse_type
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Sink, SinkError, StagedBatch, make_sink, notes_of
from joinery.sinks.reader import DocumentReader, Held, make_reader
from joinery.testing.conformance import SinkCase, SinkTarget, by_tasks, sink_cases

pytestmark = pytest.mark.services
Stage = Callable[..., StagedBatch]


@pytest.fixture(scope="module")
def target(opensearch: Service) -> SinkTarget:
    """Return the sink on a node that can be killed and started again."""

    @contextmanager
    def outage() -> Iterator[None]:
        opensearch.kill()
        try:
            yield
        finally:
            opensearch.start()

    def refused(number: int, version: int) -> StagedRow:
        key = json.dumps({"owner": "ann", "number": number}, separators=(",", ":"))
        return StagedRow(key, f'{{"owner":"ann","number":{number},"done":"neither"}}', version)

    return SinkTarget(
        make=lambda name: sink_of(opensearch, name),
        read=lambda name: read(client(opensearch), name),
        outage=outage,
        refused=refused,
    )


def client(opensearch: Service) -> Any:
    return OpenSearch(opensearch.address, timeout=60, serializer=ExactJson())


def sink_of(opensearch: Service, product: str, **options: Any) -> Sink:
    return make_sink("opensearch", product, {"url": opensearch.address, **options}, Path())


class ExactJson(JSONSerializer):
    """Keeps every digit of a number."""

    def loads(self, text: str) -> Any:
        return json.loads(text, parse_float=Decimal)


def text_of(value: Any) -> str:
    if isinstance(value, dict):
        parts = (f"{json.dumps(name)}:{text_of(each)}" for name, each in value.items())
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def read(server: Any, index: str) -> Iterator[StagedRow]:
    """Yield all documents of an index, with their versions."""
    if not server.indices.exists(index=index):
        return
    server.indices.refresh(index=index)
    page = server.search(index=index, body={"size": 5000, "version": True}, scroll="1m")
    while page["hits"]["hits"]:
        for hit in page["hits"]["hits"]:
            owner, number = json.loads(hit["_id"])
            key = json.dumps({"owner": owner, "number": number})
            yield StagedRow(key, text_of(hit["_source"]), hit["_version"])
        page = server.scroll(scroll_id=page["_scroll_id"], scroll="1m")
    server.clear_scroll(scroll_id=page["_scroll_id"])


@pytest.mark.parametrize(
    "case",
    [
        # A node starts in 15 processor seconds, and what waits is the same for all sinks:
        # test_real_time_opensearch.py kills it under a run.
        pytest.param(each, marks=pytest.mark.exhaustive) if each.needs == "outage" else each
        for each in sink_cases()
    ],
    ids=str,
)
def test_opensearch(case: SinkCase, target: SinkTarget) -> None:
    keep(case, target)


@pytest.mark.parametrize("case", parts_of(each for each in sink_cases() if not each.needs))
def test_opensearch_in_parts(case: SinkCase, target: SinkTarget) -> None:
    keep(case, by_tasks(target))


def keep(case: SinkCase, target: SinkTarget) -> None:
    outcome = case.run(target)
    assert "" == outcome.problem
    if outcome.left_out:
        pytest.skip(outcome.left_out)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    def build(*lines: str, ddl: str = "id: bigint", **parts: Any) -> StagedBatch:
        file = tmp_path / f"{uuid.uuid4().hex}.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        value = parse_type(f"struct<{ddl}>")
        assert isinstance(value, Struct)
        return StagedBatch(
            product="ticket",
            query="ticket",
            query_id="q",
            batch_id=0,
            files=(file,),
            key=Struct((Field("id", LONG),)),
            value=value,
            **parts,
        )

    return build


@contextmanager
def opened(opensearch: Service, index: str, **options: Any) -> Iterator[Sink]:
    sink = sink_of(opensearch, index, refresh=True, **options)
    try:
        sink.open()
        yield sink
    finally:
        sink.close()


def found(opensearch: Service, index: str, query: dict[str, Any]) -> list[str]:
    hits = client(opensearch).search(index=index, body={"query": query})["hits"]["hits"]
    return sorted(each["_id"] for each in hits)


def test_a_list_is_searched_one_element_at_a_time(opensearch: Service, stage: Stage) -> None:
    ddl = "id: bigint, pulls: array<struct<repo: string, open: boolean>>"
    mixed = '[{"repo":"engine","open":false},{"repo":"mill","open":true}]'
    one = '[{"repo":"engine","open":true}]'
    with opened(opensearch, "pulls") as sink:
        sink.write(
            stage(
                f'{{"key":{{"id":1}},"value":{{"id":1,"pulls":{mixed}}},"version":1}}',
                f'{{"key":{{"id":2}},"value":{{"id":2,"pulls":{one}}},"version":1}}',
                ddl=ddl,
            )
        )

    both = [{"term": {"pulls.repo.keyword": "engine"}}, {"term": {"pulls.open": True}}]
    nested = {"nested": {"path": "pulls", "query": {"bool": {"filter": both}}}}
    assert ["2"] == found(opensearch, "pulls", nested)


def test_a_field_that_the_product_gains_is_added(opensearch: Service, stage: Stage) -> None:
    with opened(opensearch, "gaining") as sink:
        sink.write(stage('{"key":{"id":1},"value":{"id":1},"version":1}'))
    row = '{"key":{"id":1},"value":{"id":1,"title":"A sturdy cache"},"version":2}'
    with opened(opensearch, "gaining") as sink:
        sink.write(stage(row, ddl="id: bigint, title: string"))

    assert ["1"] == found(opensearch, "gaining", {"match": {"title": "cache"}})


def test_an_index_of_another_shape_is_told_before_anything_is_written(
    opensearch: Service, stage: Stage
) -> None:
    with opened(opensearch, "shaped") as sink:
        sink.write(stage('{"key":{"id":1},"value":{"id":1},"version":1}'))

    with (
        opened(opensearch, "shaped") as sink,
        pytest.raises(SinkError, match="maps a field differently") as refused,
    ):
        sink.write(stage('{"key":{"id":2},"value":{"id":"b"},"version":1}', ddl="id: string"))

    assert "mapper [id] cannot be changed" in refused.value.detail
    assert ["1"] == found(opensearch, "shaped", {"match_all": {}})


def test_the_users_own_mapping_and_settings_are_kept(opensearch: Service, stage: Stage) -> None:
    mapping = {"properties": {"code": {"type": "keyword"}}}
    with opened(opensearch, "chosen", mapping=mapping, settings={"number_of_replicas": 0}) as sink:
        row = '{"key":{"id":1},"value":{"id":1,"code":"A-1"},"version":1}'
        sink.write(stage(row, ddl="id: bigint, code: string"))

    assert ["1"] == found(opensearch, "chosen", {"term": {"code": "A-1"}})
    settings = client(opensearch).indices.get_settings(index="chosen")
    assert "0" == settings["chosen"]["settings"]["index"]["number_of_replicas"]


def test_a_field_of_a_name_that_an_index_cannot_have_is_told(
    opensearch: Service, stage: Stage
) -> None:
    row = '{"key":{"id":1},"value":{"id":1,"_id":"x"},"version":1}'

    with opened(opensearch, "reserved") as sink, pytest.raises(SinkError) as refused:
        sink.write(stage(row, ddl="id: bigint, _id: string"))

    assert "_id" in refused.value.detail
    assert refused.value.hint.startswith("Rename or leave out that field")


def test_a_map_with_a_long_text_is_kept_where_the_mapping_does_not_search_it(
    opensearch: Service, stage: Stage
) -> None:
    row = f'{{"key":{{"id":1}},"value":{{"id":1,"tags":{{"a.b":"{"x" * 33_000}"}}}},"version":1}}'
    batch = stage(row, ddl="id: bigint, tags: map<string,string>")
    unsearched = {"properties": {"tags": {"type": "object", "enabled": False}}}

    with opened(opensearch, "texts") as sink:
        refused = sink.write(batch).refused
    with opened(opensearch, "unsearched", mapping=unsearched) as sink:
        kept = sink.write(batch).refused

    assert (["document_refused"], ()) == ([each.reason for each in refused], kept)
    assert ["1"] == found(opensearch, "unsearched", {"match_all": {}})


def test_a_map_of_any_keys_is_one_field(opensearch: Service, stage: Stage) -> None:
    with opened(opensearch, "maps") as sink:
        row = '{"key":{"id":1},"value":{"id":1,"tags":{"a.b":"x","c":"y"}},"version":1}'
        written = sink.write(stage(row, ddl="id: bigint, tags: map<string,string>"))

    assert () == written.refused
    assert ["1"] == found(opensearch, "maps", {"term": {"tags.c": "y"}})


def test_what_goes_out_before_the_first_batch_has_no_number(
    opensearch: Service, stage: Stage
) -> None:
    with opened(opensearch, "early") as sink:
        batch = stage('{"key":{"id":1},"value":{"id":1},"version":1}')
        sink.write(replace(batch, batch_id=-1, after=1))
        notes = notes_of(sink)

        assert notes is not None
        assert notes.last_batch(batch) is None
        assert ["1"] == found(opensearch, "early", {"match_all": {}})


def test_deletes_are_forgotten_when_their_retention_is_over(
    opensearch: Service, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = "joinery-deleted.forgetful"
    with opened(opensearch, "forgetful") as sink:
        rows = (f'{{"key":{{"id":{n}}},"value":null,"version":{n}}}' for n in (10, 20))
        sink.write(stage(*rows))
        client(opensearch).indices.refresh(index=side)
        monkeypatch.setattr("joinery.sinks.opensearch._SWEEP_S", 0.0)
        sink.write(stage('{"key":{"id":3},"value":{"id":3},"version":30}', forget_before=15))

    assert wait_for(lambda: ["batch:q", "deleted:20", "epoch:q"] == found_in(opensearch, side))


def test_documents_are_read_back_as_they_were_sent(opensearch: Service, stage: Stage) -> None:
    long = "k" * 501
    price, other = '{"deep":{"_source":{"price":1.50,"far":1E+2}}}', '{"s":"\\"_source\\":{"}'
    with opened(opensearch, "read-back") as sink:
        sink.write(
            stage(
                f'{{"key":{{"id":"1"}},"value":{price},"version":5}}',
                f'{{"key":{{"id":"\\"_source\\":"}},"value":{other},"version":6}}',
                f'{{"key":{{"id":"{long}"}},"value":{{}},"version":7}}',
                '{"key":{"id":"gone"},"value":null,"version":8}',
                ddl="id: string",
            )
        )

    keys = ['{"id":"1"}', '{"id":"\\"_source\\":"}', '{"id":"gone"}', f'{{"id":"{long}"}}']
    reader = reader_of(opensearch, "read-back")
    held, known = reader.read(keys), sorted(reader.keys())
    reader.close()

    sent = {keys[0]: Held(price, 5), keys[1]: Held(other, 6), keys[3]: Held("{}", 7)}
    assert sent == held
    assert sorted(keys[:2]) == known


def test_an_index_that_cannot_be_read_back_is_told(opensearch: Service) -> None:
    reader = reader_of(opensearch, "never-written")
    with pytest.raises(SinkError, match="index never-written"):
        reader.read(['{"id":"1"}'])
    reader.close()
    with pytest.raises(SinkError, match="may not keep whole documents"):
        reader_of(opensearch, "any", mapping={"_source": {"enabled": False}})


def reader_of(opensearch: Service, index: str, **options: Any) -> DocumentReader:
    key = Struct((Field("id", STRING),))
    given = {"url": opensearch.address, **options}
    return make_reader("opensearch", given, product=index, folder=Path(), key=key, value=Struct(()))


def found_in(opensearch: Service, index: str) -> list[str]:
    client(opensearch).indices.refresh(index=index)
    return found(opensearch, index, {"match_all": {}})


def wait_for(condition: Callable[[], bool], within_s: float = 300.0) -> bool:
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
    return True
