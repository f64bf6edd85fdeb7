"""A query goes on from its state once products of it are added, changed, removed or reordered."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.compare import each_seed
from tests.services.captured import until
from tests.spark.killed import KilledError, killed
from tests.spark.shop import PROJECT, documents, feed, run_once
from tests.unit.cli.command import joinery

from bench.fleet.compare import differences, sent
from bench.fleet.log import History, LogFiles
from bench.fleet.shape import declared, make_fleet
from joinery.app.project import load
from joinery.delivery.action_log import ActionLog
from joinery.delivery.outlet import DirectOutlet
from joinery.errors import RunError, StateMismatchError
from joinery.spark.batch import query_start
from joinery.spark.batch.query import QueryRun
from joinery.spark.batch.query_start import QueryStarter
from joinery.spark.batch.run import run
from joinery.spark.recovery import apply
from joinery.spark.recovery.rescale import rescale

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from bench.fleet.shape import Fleet, Product

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROWS = 600


def test_products_of_a_group_are_removed_and_reordered_and_the_others_go_on(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What goes on is compared with a statement over all rows; documents are not sent again."""
    fleet, random = make_fleet(3, relations=10, products=9), Random(1)
    history, log = History(fleet), LogFiles(tmp_path / "data")
    project = tmp_path / "joinery.yaml"
    monkeypatch.chdir(tmp_path)

    for left in (9, 4):
        fleet = replace(fleet, products=tuple(random.sample(fleet.products, left)))
        project.write_text(declared(fleet, out="out"), encoding="utf-8")
        if left < 9:
            with pytest.raises(StateMismatchError):
                run_once(spark, tmp_path)
            assert 3 == joinery(monkeypatch, "plan")
            assert f"{left} unchanged, {9 - left} removed" in capsys.readouterr().out
            with monkeypatch.context() as broken:
                broken.setattr(apply, "write_whole", killed)
                assert 1 == joinery(monkeypatch, "apply")
            assert 3 == joinery(monkeypatch, "plan"), "the checkpoint is as it was"
            assert 0 == joinery(monkeypatch, "apply")
            assert 0 == joinery(monkeypatch, "plan")
            assert not any(run_once(spark, tmp_path).values()), "nothing is sent again"
        log.write(history.lines(ROWS), files=2, total=ROWS)
        run_once(spark, tmp_path)

    history.write_rows(tmp_path / "rows")
    assert {} == differences(fleet, tmp_path / "rows", tmp_path / "out")
    assert not any(sent(tmp_path / "out" / each.name).falling for each in fleet.products)
    (noted,) = ActionLog(load(project).spec.checkpoint).actions()
    assert ("apply", 5) == (noted.verb, noted.told.count(" removed"))


@pytest.mark.parametrize("seed", each_seed((1, 0, 3, 9, 10), few=1))
def test_products_that_are_added_are_built_from_the_rows_of_the_others(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seed: int,
) -> None:
    """All are compared with a statement over all rows; no document is sent twice."""
    every, random = make_fleet(seed, relations=6, products=8), Random(seed)
    history, log = History(every), LogFiles(tmp_path / "data")
    project = tmp_path / "joinery.yaml"
    monkeypatch.chdir(tmp_path)
    order = random.sample(every.products, len(every.products))
    members, left = order[:5], order[5:]
    log.write(history.lines(ROWS), files=2, total=ROWS)

    def declare_all(products: Sequence[Product]) -> Fleet:
        fleet = replace(every, products=tuple(products))
        project.write_text(declared(fleet, out="out"), encoding="utf-8")
        return fleet

    declare_all(members)
    run_once(spark, tmp_path)
    added = 0
    while left:
        one = left.pop()
        members.insert(random.randrange(len(members) + 1), one)
        declare_all(members)
        capsys.readouterr()
        joinery(monkeypatch, "plan", "--json")
        if not json.loads(capsys.readouterr().out)[0]["apply"]:
            members.remove(one)
            continue
        if added == 1:
            members.remove(next(each for each in members if each is not one))
            declare_all(members)
        assert 0 == joinery(monkeypatch, "apply")
        with monkeypatch.context() as broken:
            # Before the batch that tells the rows runs, and before it is committed.
            if added == 0:
                broken.setattr(query_start, "open_sources", killed)
            else:
                broken.setattr(DirectOutlet, "write", killed)
            with pytest.raises((KilledError, RunError)):
                run_once(spark, tmp_path)
        if added == 1:
            declare_all([each for each in members if each is not one])
            assert 0 == joinery(monkeypatch, "apply"), "though its batch has begun"
            assert not any(run_once(spark, tmp_path).values())
            declare_all(members)
            assert 0 == joinery(monkeypatch, "apply")
        assert {one.name} == {name for name, count in run_once(spark, tmp_path).items() if count}
        added += 1
        log.write(history.lines(ROWS), files=2, total=ROWS)
        run_once(spark, tmp_path)

    fleet = declare_all(members)
    assert added > 1
    history.write_rows(tmp_path / "rows")
    assert {} == differences(fleet, tmp_path / "rows", tmp_path / "out")


@pytest.mark.parametrize("seed", each_seed((2, 4, 7, 12), few=1))
def test_products_are_added_changed_and_removed_as_a_group_goes_on(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seed: int,
) -> None:
    """All are compared with a statement over all rows; each batch that builds breaks off once."""
    every, random = make_fleet(seed, relations=6, products=14), Random(seed)
    history, log = History(every), LogFiles(tmp_path / "data")
    project = tmp_path / "joinery.yaml"
    monkeypatch.chdir(tmp_path)
    order = random.sample(every.products, len(every.products))
    members, left, done = order[:4], order[4:], dict.fromkeys(("add", "change", "remove"), 0)

    def declare_all(products: Sequence[Product]) -> Fleet:
        fleet = replace(every, products=tuple(products))
        project.write_text(declared(fleet, out="out"), encoding="utf-8")
        return fleet

    def write_more() -> None:
        log.write(history.lines(ROWS), files=2, total=ROWS)

    write_more()
    declare_all(members)
    run_once(spark, tmp_path)
    steps = ["add", "change", "remove", "change"]
    while steps and left:
        step, one = steps[0], left.pop()
        wanted = [*members]
        if step == "remove":
            left.append(one)
            wanted.remove(random.choice(members))
        elif step == "change":
            place = random.randrange(len(members))
            wanted[place] = replace(one, name=members[place].name)
        else:
            wanted.insert(random.randrange(len(members) + 1), one)
        declare_all(wanted)
        capsys.readouterr()
        joinery(monkeypatch, "plan", "--json")
        (told,) = json.loads(capsys.readouterr().out)
        if not told["apply"]:
            continue
        assert 0 == joinery(monkeypatch, "apply")
        built = {name for name, what in told["products"].items() if what in ("added", "changed")}
        with monkeypatch.context() as broken:
            broken.setattr(DirectOutlet, "write", killed)
            if built:
                with pytest.raises((KilledError, RunError)):
                    run_once(spark, tmp_path)
        assert built >= {name for name, count in run_once(spark, tmp_path).items() if count}
        if step == "add" and not done["add"]:
            products = list(load(project).plan.products)
            rescale(load(project).spec, products[0].group or "", products, 3, lambda: spark)
        members, steps, done[step] = wanted, steps[1:], done[step] + 1
        write_more()
        run_once(spark, tmp_path)

    fleet = declare_all(members)
    assert all(done.values())
    history.write_rows(tmp_path / "rows")
    assert {} == differences(fleet, tmp_path / "rows", tmp_path / "out")
    assert not any(sent(tmp_path / "out" / each.name).falling for each in fleet.products)


def test_an_added_product_is_built_from_rows_and_columns_that_nobody_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are read again up to the checkpoint, for it alone; then both go on without that."""
    told = {
        "cities": "{aggregate: customer, by: [city], values: {n: count(*)}",
        "cards": "{root: customer, fields: [name], embed: {orders: {many: order, on:"
        " {customer_id: id}, fields: [total]}}",
    }

    def declare_products(*names: str) -> None:
        end = ", group: shop, sink: {files: {path: out}}}"
        products = "".join(f"  {name}: {told[name]}{end}\n" for name in names)
        head, _, rest = PROJECT.partition("products:")
        run = rest[rest.index("run:") :]
        (tmp_path / "joinery.yaml").write_text(f"{head}products:\n{products}{run}")

    monkeypatch.chdir(tmp_path)
    declare_products("cities")
    feed(tmp_path, 0, customer=[{"id": i, "name": f"a{i}", "city": "x"} for i in range(4)])
    feed(tmp_path, 0, order=[{"id": 1, "customer_id": 1, "total": 5}])
    run_once(spark, tmp_path)
    feed(tmp_path, 1, customer=[{"id": 1, "name": "b", "city": "y"}, {"id": 2, "__deleted": True}])
    run_once(spark, tmp_path)
    declare_products("cities", "cards")
    assert 0 == joinery(monkeypatch, "apply")
    feed(tmp_path, 2, customer=[{"id": 3, "name": "later", "city": "x"}])
    begun: list[int | None] = []
    start = QueryStarter.start

    def started(self: QueryStarter, query: QueryRun) -> StreamingQuery:
        active = start(self, query)
        begun.append(query.built_in)
        return active

    with monkeypatch.context() as watched:
        watched.setattr(QueryStarter, "start", started)
        going = run(spark, load(tmp_path / "joinery.yaml"))
        until(lambda: len(begun) == 2 and sum(map(len, orders_of(tmp_path))) == 1)
        going.stop()
        going.await_termination()

    assert [2, None] == begun
    sent = {name: each["upserts"] for name, each in going.progress.documents.items()}
    assert {"cards": 5} == sent, "three from the log, then what came, and an order"
    feed(tmp_path, 3, customer=[{"id": 4, "city": "y", "name": "new"}])
    feed(tmp_path, 3, order=[{"id": 1, "customer_id": 3, "total": 6}])
    run_once(spark, tmp_path)
    names = {key: (card["name"], card["orders"]) for key, card in there(tmp_path, "cards").items()}
    expected = {0: ("a0", []), 1: ("b", []), 3: ("later", [{"total": 6}]), 4: ("new", [])}
    assert {f'{{"id": {key}}}': each for key, each in expected.items()} == names
    cities = {key: each["n"] for key, each in there(tmp_path, "cities").items()}
    assert {'{"city": "x"}': 2, '{"city": "y"}': 2} == cities


def orders_of(folder: Path) -> list[list[dict[str, Any]]]:
    return [each["orders"] for each in there(folder, "cards").values()]


def test_a_changed_product_is_built_anew_and_what_it_sent_before_goes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch that builds it breaks off before and behind its writing; versions rise."""
    cards = "cards: {root: customer, fields: [name]"
    cities = "cities: {aggregate: customer, by: [city], values: {n: count(*)}"
    orders = "orders: {root: order, fields: [total]"

    def declare_products(*told: str) -> None:
        products = "".join(
            f"  {each}, group: shop, sink: {{files: {{path: out}}}}}}\n" for each in told
        )
        head, _, rest = PROJECT.partition("products:")
        run = rest[rest.index("run:") :]
        (tmp_path / "joinery.yaml").write_text(f"{head}products:\n{products}{run}")

    monkeypatch.chdir(tmp_path)
    declare_products(cards, cities, orders)
    feed(tmp_path, 0, customer=[{"id": i, "name": f"n{i}", "city": "xy"[i % 2]} for i in range(6)])
    feed(tmp_path, 0, order=[{"id": 1, "customer_id": 1, "total": 5}])
    run_once(spark, tmp_path)
    feed(tmp_path, 1, customer=[{"id": 1, "name": "b", "city": "x"}, {"id": 2, "__deleted": True}])
    run_once(spark, tmp_path)
    lists = "{many: order, on: {customer_id: id}, fields: [id, total]}"
    cards = f"cards: {{root: customer, fields: [name], where: city = 'x', embed: {{o: {lists}}}"
    declare_products(orders, cards, cities)
    assert 0 == joinery(monkeypatch, "apply")
    for of, step in ((DirectOutlet, "write"), (QueryRun, "note_sent")):
        with monkeypatch.context() as broken:
            broken.setattr(of, step, killed)
            with pytest.raises((KilledError, RunError)):
                run_once(spark, tmp_path)

    assert {"cards": 3} == {name: each for name, each in run_once(spark, tmp_path).items() if each}

    ordered = [{"id": 1, "total": 5}]
    expected = {0: {"name": "n0", "o": []}, 1: {"name": "b", "o": ordered}}
    expected |= {4: {"name": "n4", "o": []}}
    found = documents(tmp_path, "cards")
    assert {f'{{"id": {key}}}': each for key, each in expected.items()} == there(tmp_path, "cards")
    assert ['{"id": 2}', '{"id": 3}', '{"id": 5}'] == sorted({*found} - {*there(tmp_path, "cards")})
    project = load(tmp_path / "joinery.yaml")
    rescale(project.spec, "shop", list(project.plan.products), 3, lambda: spark)
    feed(tmp_path, 2, customer=[{"id": 3, "name": "c", "city": "x"}, {"id": 0, "__deleted": True}])
    feed(tmp_path, 2, order=[{"id": 1, "customer_id": 3, "total": 6}])
    run_once(spark, tmp_path)
    expected = {1: ("b", []), 3: ("c", [{"id": 1, "total": 6}]), 4: ("n4", [])}
    cards_there = {key: (each["name"], each["o"]) for key, each in there(tmp_path, "cards").items()}
    assert {f'{{"id": {key}}}': each for key, each in expected.items()} == cards_there
    counts = {key: each["n"] for key, each in there(tmp_path, "cities").items()}
    assert {'{"city": "x"}': 3, '{"city": "y"}': 1} == counts
    assert [0, 0, 0] == [
        sent(tmp_path / "out" / each).falling for each in ("cards", "cities", "orders")
    ]


VAULT = """\
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
run: {spark: {spark.sql.shuffle.partitions: "2"}}
relations:
  person:
    key: [id]
    fields: {id: long, email: string}
    personal: {subject: id, fields: [email]}
  sale: {key: [id], fields: {id: long, city: string, total: long}}
products:
  people: {root: person, group: g, sink: {files: {path: out}}}
  cities: {aggregate: sale, by: [city], values: {n: count(*)}, group: g, sink: {files: {path: out}}}
"""


def test_a_product_is_built_from_the_log_beside_personal_columns(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that is read again is personal, but the program has a relation that is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "joinery.yaml").write_text(VAULT, encoding="utf-8")
    feed(tmp_path, 0, person=[{"id": 1, "email": "a@example.org"}])
    feed(tmp_path, 0, sale=[{"id": 1, "city": "Ulm", "total": 5}])
    run_once(spark, tmp_path)
    added = "  sales: {root: sale, fields: [total], group: g, sink: {files: {path: out}}}\n"
    (tmp_path / "joinery.yaml").write_text(VAULT + added, encoding="utf-8")
    assert 0 == joinery(monkeypatch, "apply")

    built = run_once(spark, tmp_path)

    assert {"sales": 1} == {name: count for name, count in built.items() if count}
    feed(tmp_path, 1, person=[{"id": 2}], sale=[{"id": 1, "city": "Ulm", "total": 6}])
    run_once(spark, tmp_path)
    assert [{"total": 6}] == [*there(tmp_path, "sales").values()]
    assert [None, None] == [each["email"] for each in there(tmp_path, "people").values()]


def there(folder: Path, product: str) -> dict[str, Any]:
    found = documents(folder, product)
    return {key: each for key, each in found.items() if each is not None}
