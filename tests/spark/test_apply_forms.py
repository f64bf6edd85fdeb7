"""Products of any form are added to a query, removed and go on: `joinery apply`."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.compare import each_seed
from tests.spark.killed import KilledError, killed
from tests.spark.shop import documents, feed, run_once
from tests.unit.cli.command import joinery
from tests.unit.solutions.spark_state.frozen import PRODUCTS, RELATIONS

from joinery.app.project import load
from joinery.delivery.outlet import DirectOutlet
from joinery.errors import RunError
from joinery.spark.batch.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
SOURCES = """\
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
run: {spark: {spark.sql.shuffle.partitions: "2"}}
relations:"""
MEMBER = "{group: g, sink: {files: {path: out}}, "
FORMS = {name.replace(" ", "_").replace("-", "_"): text for name, (text, _) in PRODUCTS.items()}
HEAD = RELATIONS.partition("products:")[0].replace("relations:", SOURCES)


def declare(folder: Path, names: Sequence[str], head: str = HEAD) -> None:
    forms = {
        **FORMS,
        "fold_soon": FORMS["fold_at_once"].replace("0s", "3 events"),
        "names": FORMS["nested"].replace("root: city,", "root: city, fields: [name],"),
    }
    grouped = {name: forms[name].strip().replace("{", MEMBER, 1) for name in names}
    products = "".join(f"  {name}: {text}\n" for name, text in grouped.items())
    (folder / "joinery.yaml").write_text(f"{head}products:\n{products}", encoding="utf-8")


def rows_of_batch(random: Random, number: int) -> dict[str, list[dict[str, Any]]]:
    """Return rows that are inserted, changed and deleted, later ones at later times."""

    def at(most: int) -> str:
        minute = number * 30 + random.randrange(most)
        return f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00Z"

    def some(count: int, row: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
        return [row() for _ in range(count)]

    def person() -> int:
        return random.randrange(6)

    cities = [f"c{each}" for each in range(4)]
    events = [
        {"id": number * 100 + i, "user": person(), "no": number * 100 + i, "type": "In"}
        | {"amount": random.randrange(4), "at": at(30)}
        for i in range(25)
    ]
    return {
        "user": some(
            5,
            lambda: (
                {"id": person(), "name": f"n{person()}", "city": random.choice(cities)}
                | {"at": at(30)}
            ),
        ),
        "post": some(
            12,
            lambda: (
                {"id": random.randrange(20), "user": person(), "score": person(), "at": at(30)}
                | {"text": random.choice(cities), "__deleted": random.random() < 0.2}
            ),
        ),
        "follow": some(
            6,
            lambda: {"id": random.randrange(9), "follower": person(), "followee": person()},
        ),
        "city": some(
            4, lambda: {"name": random.choice(cities), "country": f"x{person()}", "at": at(30)}
        ),
        "query": some(
            2,
            lambda: {
                "id": person(),
                "city": random.choice(cities),
                "text": f"name = 'n{person()}'",
            },
        ),
        "event": events,
    }


@pytest.mark.parametrize("seed", each_seed((18, 31, 21, 5, 13, 8, 29), few=1))
def test_products_of_any_form_go_on_as_if_the_others_had_never_been(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """What goes on sends what a project that never had the others sends, batch by batch."""
    random = Random(seed)
    names = random.sample(sorted(FORMS), 9)
    left = random.sample(names, 4)
    kept, plain = tmp_path / "kept", tmp_path / "plain"
    batches = [rows_of_batch(random, number) for number in range(4)]
    for folder in (kept, plain):
        folder.mkdir()

    for number, batch in enumerate(batches):
        for folder, products in ((kept, names if number < 2 else left), (plain, left)):
            declare(folder, products)
            feed(folder, number, **batch)
        if number == 2:
            monkeypatch.chdir(kept)
            assert 0 == joinery(monkeypatch, "apply")
        run_once(spark, kept)
        run_once(spark, plain)
        expected = {name: documents(plain, name) for name in left}
        assert expected == {name: documents(kept, name) for name in left}

    assert sum(map(bool, expected.values())) > 1, "most of them have documents"


@pytest.mark.parametrize("seed", each_seed((3, 11, 54, 1), few=1))
def test_products_of_any_form_that_are_added_are_as_if_they_had_been_there(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seed: int,
) -> None:
    random = Random(seed)
    names = random.sample(sorted(FORMS), 9)
    there, joining = names[:6], names[6:]
    kept, plain = tmp_path / "kept", tmp_path / "plain"
    batches = [rows_of_batch(random, number) for number in range(4)]
    declare_in = {kept: [*there], plain: [*there]}
    for folder in (kept, plain):
        folder.mkdir()
    monkeypatch.chdir(kept)
    for number, batch in enumerate(batches[:2]):
        declare(kept, there)
        feed(kept, number, **batch)
        run_once(spark, kept)
    for one in joining:
        declare(kept, [*declare_in[kept], one])
        capsys.readouterr()
        joinery(monkeypatch, "plan", "--json")
        if json.loads(capsys.readouterr().out)[0]["apply"]:
            for members in declare_in.values():
                members.append(one)
            assert 0 == joinery(monkeypatch, "apply")
            run_once(spark, kept)
    added = declare_in[kept][6:]

    declare(kept, declare_in[kept])
    declare(plain, declare_in[plain])
    for number, batch in enumerate(batches):
        feed(plain, number, **batch)
        run_once(spark, plain)
        if number > 0:
            if number > 1:
                feed(kept, number, **batch)
                run_once(spark, kept)
            expected = {name: documents(plain, name) for name in added}
            found = {name: documents(kept, name) for name in added}
            assert there_of(expected) == there_of(found)

    assert len(added) > 1


@pytest.mark.parametrize("seed", each_seed((1, 2, 3, 4, 5), few=1))
def test_versions_and_folds_that_are_built_from_the_log_are_as_if_they_had_been_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The batch that builds them breaks off once; what comes later may be of any time before."""
    random, head = Random(seed), HEAD.replace("    watermark: {delay: 10s}\n", "")
    there = ("to_many", "windows", "names")  # which reads no time of a city
    joining = ("history", "as_of", "fold_at_once", "fold_soon", "aggregate")
    kept, plain = tmp_path / "kept", tmp_path / "plain"
    batches = [rows_of_batch(random, number) for number in random.sample(range(4), 4)]
    for each in batches:
        each["city"].append({**random.choice(each["city"]), "__deleted": True})
    for folder, names in ((kept, there), (plain, (*there, *joining))):
        folder.mkdir()
        declare(folder, names, head)
    monkeypatch.chdir(kept)
    for number, batch in enumerate(batches):
        for folder in (kept, plain):
            feed(folder, number, **batch)
            run_once(spark, folder)
        if number == 1:
            declare(kept, (*there, *joining), head)
            assert 0 == joinery(monkeypatch, "apply")
            with monkeypatch.context() as broken:
                broken.setattr(DirectOutlet, "write", killed)
                with pytest.raises((KilledError, RunError)):
                    run_once(spark, kept)
            ended = run(spark, load(kept / "joinery.yaml"), once=True)
            ended.await_termination()
            assert {"late", "overtaken"}.isdisjoint(ended.progress.counters.get("aggregate", {}))
        if number > 0:
            every = (*there, *joining)
            expected = there_of({name: documents(plain, name) for name in every})
            assert expected == there_of({name: documents(kept, name) for name in every})
            assert all(expected.values())


def there_of(products: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the documents that are there: who was added hears of none that went before."""
    return {
        name: {key: value for key, value in each.items() if value is not None}
        for name, each in products.items()
    }


CARD = """\
  card:
    root: event
    fields: [id]
    embed: {by: {one: user, on: {id: user}, fields: [name]}}
    where: by.name <> 'b' and soundex(by.name) is not null
    MORE
"""
READERS = """\
  types: {aggregate: card, values: {n: count(*)}, MORE}
  events: {root: user, embed: {events: {many: event, on: {user: id}, fields: [no]}}, MORE}
"""


def test_documents_go_on_once_the_products_that_read_them_are_removed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def declare_products(text: str) -> None:
        inline = text.replace("    MORE\n", "    group: g\n    sink: {files: {path: out}}\n")
        products = inline.replace("MORE", "group: g, sink: {files: {path: out}}")
        (tmp_path / "joinery.yaml").write_text(f"{HEAD}products:\n{products}", encoding="utf-8")

    declare_products(CARD + READERS)
    feed(tmp_path, 0, user=[{"id": 1, "name": "a"}], event=[{"id": i, "user": 1} for i in (1, 2)])
    run_once(spark, tmp_path)
    declare_products(CARD)
    monkeypatch.chdir(tmp_path)
    assert 0 == joinery(monkeypatch, "apply")

    feed(tmp_path, 1, user=[{"id": 1, "name": "b"}], event=[{"id": 3, "user": 1}])
    run_once(spark, tmp_path)
    gone = documents(tmp_path, "card")
    feed(tmp_path, 2, user=[{"id": 1, "name": "c"}])
    run_once(spark, tmp_path)

    assert {'{"id": 1}': None, '{"id": 2}': None} == gone
    there = documents(tmp_path, "card")
    assert {f'{{"id": {i}}}': {"id": i, "by": {"name": "c"}} for i in (1, 2, 3)} == there
