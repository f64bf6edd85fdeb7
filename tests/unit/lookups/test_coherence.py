"""A cached answer is not used again once the table's own sink has written its row anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joinery.lookups.asker import Asker
from joinery.lookups.coherence import Coherence
from joinery.lookups.protocol import LookupTable
from joinery.lookups.registry import make_store
from joinery.model.type import LONG, STRING, Field, Struct
from joinery.project.kinds import LOOKUP_STORES, SINKS
from joinery.project.option import Target
from joinery.project.step import Cache
from joinery.sinks.protocol import Sink, StagedBatch, make_sink

COLUMNS = (Field("id", LONG), Field("name", STRING))
TABLE = LookupTable("customers", COLUMNS[:1], COLUMNS)
OPTIONS = {"path": "shop.db"}


def write(sink: Sink, folder: Path, version: int, **names: str | None) -> None:
    file = folder / f"{version}.jsonl"
    rows = [
        {
            "key": {"id": int(number[1:])},
            "value": None if name is None else {"id": int(number[1:]), "name": name},
            "version": version,
        }
        for number, name in names.items()
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    batch = StagedBatch(
        product="customers",
        query="customers",
        query_id="q",
        batch_id=version,
        files=(file,),
        key=Struct(COLUMNS[:1]),
        value=Struct(COLUMNS),
    )
    sink.write(batch)


def test_a_row_that_the_sink_writes_anew_is_asked_anew(tmp_path: Path) -> None:
    target = SINKS.target("sqlite", OPTIONS, "customers", tmp_path)
    coherence = Coherence()
    sink = coherence.heard(make_sink("sqlite", "customers", OPTIONS, tmp_path), target)
    sink.open()
    write(sink, tmp_path, 1, c1="ada", c2="bob", c3="cyd")
    asker = Asker(make_store("sqlite", TABLE, OPTIONS, tmp_path), Cache(ttl_ms=10**9))
    asker.open()
    coherence.add(target, asker, TABLE)
    asker.ask([(1,), (2,), (3,), (4,)])

    write(sink, tmp_path, 2, c1="ada lovelace", c2=None, c4="dov")

    answers = asker.ask([(1,), (2,), (3,), (4,)])
    asker.close()
    sink.close()
    assert {
        (1,): (1, "ada lovelace"),
        (2,): None,
        (3,): (3, "cyd"),
        (4,): (4, "dov"),
    } == answers
    assert 1 == asker.progress().hits
    assert 3 == asker.progress().invalidated


@pytest.mark.parametrize(
    ("kind", "options", "target"),
    [
        ("sqlite", {"path": "a.db"}, Target("sqlite", "/shop/a.db", "t")),
        ("sqlite", {"path": "/b.db", "table": "u"}, Target("sqlite", "/b.db", "u")),
        (
            "postgres",
            {"url": "postgresql://h/d", "schema": "s"},
            Target("postgres", ("postgresql://h/d", "s"), "t"),
        ),
        ("redis", {"url": "redis://h", "prefix": "p"}, Target("redis", "redis://h", "p")),
    ],
)
def test_a_store_and_a_sink_of_one_table_have_one_target(
    kind: str, options: dict[str, object], target: Target
) -> None:
    assert target == SINKS.target(kind, options, "t", Path("/shop"))
    assert target == LOOKUP_STORES.target(kind, options, "t", Path("/shop"))


def test_what_a_service_reads_is_not_known() -> None:
    assert LOOKUP_STORES.target("http", {"url": "http://h"}, "t", Path("/shop")) is None
