"""An editor completes the public calls, and a type checker checks them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Required, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import joinery as jn
from joinery.project import grammar, typing
from joinery.project.kinds import (
    FORMATS,
    LOOKUP_STORES,
    SINKS,
    SOLUTIONS,
    SOURCES,
    VAULTS,
    Registry,
)
from joinery.project.node import NodeSpec
from joinery.project.option import Names, fragments
from joinery.project.part import keys_of, names_of
from joinery.project.product import ProductSpec
from joinery.project.relation import RelationSpec
from joinery.project.schema_registry import RegistryOptions
from joinery.project.step import LookupSpec

ROOT = Path(__file__).parents[3]
BY_CALLS = ("relations", "products", "streams")
COMMON = keys_of(ProductSpec).keys() - {"erased", "personal_key"}
PROGRAM = """\
from pyspark.sql import DataFrame, SparkSession

import joinery as jn

spark = SparkSession.builder.getOrCreate()
user = jn.relation("user", key="id", fields={"id": "long"}, images="key")
star = jn.relation("star", key=["id"], fields={"id": "long", "user_id": "long"})
jn.relation("user", key="id", fields={"id": "long"}, imges="key")  # call-arg
jn.relation("user", key="id", fields={"id": "long"}, images="none")  # arg-type
profile = jn.document("profile", user, sink={"files": {"path": "out"}}, emit={"settle": "2s"})
profile = profile.embed_many("stars", star, on={"user_id": "id"}, limit=3, overflow="fail")
profile.embed_many("stars", star, on={"user_id": "id"}, limit="3")  # arg-type
profile.embed_many("stars", star, on={"user_id": "id"}, as_="set")  # arg-type
profile.embed_one("star", star, on={"user_id": "id"}, limit=3)  # call-arg
jn.one(star)  # call-arg
project = jn.Project("people", products=[profile], run={"trigger": "5s", "spark": {"a": 1}})
jn.Project("people", products=[profile], run={"triger": "5s"})  # arg-type
frames = {"user": spark.table("user")}
documents: DataFrame = project.products["profile"].documents(spark, frames, format="json")
project.products["profile"].documents(spark, frames, format="text")  # arg-type
run = jn.run(spark, project, once=True, on_batch=lambda batch: print(batch.query))
rows: int = run.progress.totals.read
jn.run(spark, project, onse=True)  # call-arg
jn.documant  # attr-defined

app = jn.App("coffee", source={"kafka": {"bootstrap": "host:9092"}}, format="json")
app.table("customers", key="id", fields={"id": "long"}, database=True, time="since")
app.table("customers", fields={"id": "long"})  # call-arg
orders = app.stream("orders", fields={"customer_id": "long"}, watermark={"delay": "1m"})
app.stream("orders", fields={"id": "long"}, watermark={"wait": ""})  # arg-type
named = orders.lookup_join(
    "customers", "customer_id", ["name"], read="database", on_miss="drop", cache={"ttl": "5s"}
)
orders.lookup_join("customers", "customer_id", on_mis="drop")  # call-arg
orders.lookup_join("customers", "customer_id", as_of="now")  # arg-type
orders.lookup_join("customers", "customer_id", store=lambda keys: {})
named.filter("customer_id > 0").sink(files={"path": "out"}, name="named")
named.sink("database", {"my_package": {"anything": 1}})
named.sink(kafak={"topic": "out"})  # call-arg
named.sink(kafka={"topic": "out", "partitions": 3}, postgres={"url": "postgresql://h/d"})
named.sink(kafka={"partitions": 3})  # typeddict-item
named.sink(sqlite={"path": "a.db", "mode": "jsonb"})  # typeddict-item
hours = orders.group_by("customer_id").window(tumbling="1h").aggregate(n="count(*)")
hours.emit("closed", late="drop", allowed="10s").sink(files={"path": "out"}, group="orders")
hours.window(tumbling=60)  # arg-type
hours.window(rolling="1h")  # call-arg
hours.emit("once")  # arg-type
hours.sink(kafka={"partitions": 3})  # typeddict-item
orders.group_by(3)  # arg-type
app.group_by("customers", "id").filter("id > 0").aggregate({"n": "count(*)"}).named("all")
days = jn.aggregate("days", jn.document("d", "customers"), by=["id"], window={"tumbling": "1d"})
jn.relation("taps", fields={"id": "long"}, time={"event": "a", "sent": "b", "received": "c"})
jn.relation("taps", fields={"id": "long"}, time={"event": "a"})  # arg-type
events: DataFrame = named.to_dataframe(spark=spark)
app.run(spark, once=True).await_termination()
app.run(spark, twice=True)  # call-arg
"""


def test_a_type_checker_finds_each_wrong_call_and_no_other(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")

    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml"]
    made = subprocess.run([*command, str(program)], cwd=ROOT, capture_output=True, text=True)

    found = re.findall(r"program\.py:(\d+): error: .*\[([\w-]+)\]", made.stdout)
    lines = enumerate(PROGRAM.splitlines(), 1)
    wanted = [(str(number), line.split("# ")[1]) for number, line in lines if "# " in line]
    assert wanted == found, made.stdout + made.stderr


def public() -> list[tuple[str, Callable[..., object]]]:
    """Return every function and method that a user calls, with its name."""
    classes = [jn.App, jn.Project, jn.Stream, jn.Table, *map(type, (document(), product()))]
    functions: list[Callable[..., object]] = [
        jn.aggregate,
        jn.document,
        jn.load,
        jn.many,
        jn.one,
        jn.outbox,
        jn.relation,
        jn.run,
    ]
    functions += [jn.testing.insert, jn.testing.update, jn.testing.delete, jn.testing.tombstone]
    found = [(each.__name__, each) for each in functions]
    for each in classes:
        members = inspect.getmembers(each, callable)
        own = [pair for pair in members if pair[0] == "__init__" or not pair[0].startswith("_")]
        found += [(f"{each.__name__}.{name}", member) for name, member in own]
    return found


def document() -> object:
    return jn.document("person", "user")


def product() -> object:
    user = jn.relation("user", key="id", fields={"id": "long"})
    return jn.Project(products=[jn.document("person", user)]).products["person"]


@pytest.mark.parametrize(("name", "function"), public())
def test_a_public_call_has_typed_arguments_and_a_typed_result(
    name: str, function: Callable[..., object]
) -> None:
    signature = inspect.signature(function)
    given = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]

    untyped = [each.name for each in given if each.annotation in (inspect.Parameter.empty, "Any")]

    assert [] == untyped
    assert signature.return_annotation not in (inspect.Signature.empty, "Any")


def shaped(kinds: object) -> dict[str, dict[str, bool]]:
    """Return the options of each kind, and whether it cannot do without."""
    hints = get_type_hints(kinds)
    return {kind: options(each) for kind, each in hints.items() if is_typeddict(each)}


def options(kind: object) -> dict[str, bool]:
    """Return the keys of a typed map, and whether each is required."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: get_origin(each) is Required for name, each in hints.items()}


def known(registry: Registry) -> dict[str, dict[str, bool]]:
    """Return the options of each kind as the reader knows them."""
    return {
        kind: {name: each.needed for name, each in (registry.known(kind) or {}).items()}
        for kind in registry.built_in
    }


def test_what_python_offers_for_sinks_stores_and_sources_is_what_the_reader_knows() -> None:
    assert known(SINKS) == shaped(typing.SinkMap)
    assert known(SOURCES) == shaped(typing.SourceMap)
    assert known(LOOKUP_STORES) == shaped(typing.StoreMap)


def test_what_python_offers_for_solutions_is_what_the_reader_knows() -> None:
    offered = {kind: set(each) for kind, each in shaped(typing.SolutionMap).items()}

    assert offered == {
        kind: set(fragments(SOLUTIONS.known(kind) or {})) for kind in SOLUTIONS.built_in
    }


def parameters(call: Callable[..., object]) -> set[str]:
    """Return what a call takes by name, as a project file spells it."""
    return {name.rstrip("_") for name in inspect.signature(call).parameters}


@pytest.mark.parametrize(
    ("call", "keys"),
    [
        (jn.Project, grammar.PROJECT.keys() - {"joinery"}),
        (jn.App, grammar.PROJECT.keys() - {"joinery", "defaults", *BY_CALLS}),
        (jn.relation, set(keys_of(RelationSpec))),
        (jn.App.table, keys_of(RelationSpec).keys() - {"append", "product"}),
        (jn.many, set(keys_of(NodeSpec))),
        (jn.Stream.lookup_join, keys_of(LookupSpec).keys() - {"lookup"}),
        (jn.document, {*COMMON, *grammar.FORM_KEYS["root"]}),
        (jn.aggregate, {*COMMON, *grammar.FORM_KEYS["aggregate"]}),
        (jn.history, {*COMMON, *grammar.FORM_KEYS["history"]}),
        (jn.search, {*COMMON, *grammar.FORM_KEYS["search"]}),
        (jn.pattern, {*COMMON, *grammar.FORM_KEYS["pattern"]}),
        (jn.fold, {*COMMON, *grammar.FORM_KEYS["fold"]}),
        (jn.outbox, {"sink", "expect", *grammar.OUTBOX}),
    ],
)
def test_python_says_all_that_a_project_file_can(
    call: Callable[..., object], keys: set[str]
) -> None:
    assert set() == keys - parameters(call)


def test_the_vaults_that_python_offers_are_those_there_are() -> None:
    assert known(VAULTS) == shaped(typing.VaultMap)


def test_the_formats_that_python_offers_are_those_there_are() -> None:
    assert tuple(FORMATS) == get_args(typing.Format)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (names_of(RegistryOptions), typing.RegistryMap),
        *(
            (names_of(grammar.PARTS[name]), each)
            for name, each in (
                ("defaults", typing.DefaultsMap),
                ("emit", typing.EmitMap),
                ("watermark", typing.WatermarkMap),
                ("clocks", typing.ClocksMap),
                ("personal", typing.PersonalMap),
                ("hot", typing.HotMap),
                ("expect", typing.ExpectMap),
                ("audit", typing.AuditMap),
                ("marks", typing.MarksMap),
                ("run", typing.RunMap),
                ("lineage", typing.LineageMap),
                ("cache", typing.CacheMap),
                ("limits", typing.LimitsMap),
            )
        ),
    ],
)
def test_what_python_offers_for_a_map_is_what_the_reader_knows(names: Names, kind: object) -> None:
    assert set(names) == set(options(kind))
