"""The fluent door: it declares what a project file would, and refuses the same."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from joinery.app.declarations import Database
from joinery.app.stream import Stream
from joinery.errors import JoineryError, ProjectErrors, SpecError
from joinery.plan.step import Filter
from joinery.testing import StreamDriver, insert, upsert

Warned = Callable[[], list[logging.LogRecord]]
FILE = """\
joinery: 1
name: coffee
sources: {source: {files: {path: data}}}
defaults: {source: source}
relations:
  customers: {key: [id], fields: {id: long, name: string, tier: string}}
  products: {key: [sku], fields: {sku: string, price: double}}
  prices:
    key: [sku]
    fields: {sku: string, price: double, since: timestamp}
    time: since
    watermark: {delay: 1m}
  orders:
    append: true
    key: [order_id]
    time: at
    fields: {order_id: long, customer_id: long, sku: string, quantity: int, at: timestamp}
products:
  customers: {root: customers, sink: database}
streams:
  enriched_orders:
    from: orders
    correction: corrected
    steps:
      - lookup: products
        on: [sku]
        on_miss: "wait:5m"
        on_change: re_emit
        for: 7d
        where: quantity > 1
      - lookup: customers
        on: {id: customer_id}
        fields: [{customer_name: name}, tier]
        read: database
        cache: {ttl: 5s}
        store: {sqlite: {path: coffee.db, table: customers}}
      - filter: quantity > 0
      - with_columns: {total: quantity * price}
      - select: [order_id, customer_name, {double: total * 2}]
      - map: {function: "tests.unit.app.test_app:labelled", output: {label: string}}
    sink: {files: {path: out}}
  priced:
    from: orders
    steps:
      - {lookup: prices, on: [sku], fields: [price], as_of: event, late: correct}
    sink: [{console: {}}, database]
sinks: {database: {sqlite: {path: coffee.db, mode: columns}}}
"""


def labelled(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event's label."""
    return {"label": str(event["order_id"])}


def coffee(folder: Path) -> jn.App:
    """Declare what FILE declares."""
    app = jn.App("coffee", folder=folder)
    app.table(
        "customers",
        key="id",
        fields={"id": "long", "name": "string", "tier": "string"},
        database=True,
    )
    app.table("products", key=["sku"], fields={"sku": "string", "price": "double"})
    prices = app.table(
        "prices",
        key="sku",
        fields={"sku": "string", "price": "double", "since": "timestamp"},
        time="since",
        watermark={"delay": "1m"},
    )
    orders = app.stream(
        "orders",
        key="order_id",
        time="at",
        fields={
            "order_id": "long",
            "customer_id": "long",
            "sku": "string",
            "quantity": "int",
            "at": "timestamp",
        },
    )
    (
        orders.lookup_join(
            "products",
            on=["sku"],
            on_miss="wait:5m",
            on_change="re_emit",
            for_="7d",
            where="quantity > 1",
        )
        .lookup_join(
            "customers",
            on={"id": "customer_id"},
            fields=[{"customer_name": "name"}, "tier"],
            read="database",
            cache={"ttl": "5s"},
        )
        .filter("quantity > 0")
        .with_columns(total="quantity * price")
        .select("order_id", "customer_name", double="total * 2")
        .map(labelled, {"label": "string"})
        .sink(files={"path": "out"}, correction="corrected")
    )
    orders.lookup_join(prices, "sku", ["price"], as_of="event", late="correct").sink(
        {"console": {}}, "database", name="priced"
    )
    return app


def load(folder: Path, text: str) -> jn.Project:
    file = folder / "joinery.yaml"
    file.write_text(text, encoding="utf-8")
    return jn.load(file)


def test_both_doors_give_equal_specs_and_plans(tmp_path: Path) -> None:
    app, project = coffee(tmp_path), load(tmp_path, FILE)

    assert project.spec == app.spec
    assert project.plan == app.project.plan
    assert project.to_yaml() == app.to_yaml()
    assert [str(each.explain()) for each in project.streams.values()] == [
        str(each.explain()) for each in app.streams.values()
    ]


def test_what_an_app_writes_reads_back_as_an_equal_project(tmp_path: Path) -> None:
    app = coffee(tmp_path)

    again = load(tmp_path, app.to_yaml())

    assert app.spec == again.spec
    assert repr(app.project.plan) == repr(again.plan)


def test_each_stream_is_one_of_the_project(tmp_path: Path) -> None:
    app = coffee(tmp_path)

    assert ["enriched_orders", "priced"] == list(app.streams)
    assert app.project.streams["priced"].plan == app.streams["priced"].plan
    assert "-- how it runs" in str(app.streams["priced"].explain(why=True))


def test_a_step_leaves_the_stream_it_was_made_from_alone(tmp_path: Path) -> None:
    clicks = jn.App("web", folder=tmp_path).stream("clicks", fields={"page": "string"})

    small = clicks.filter("page = 'a'")

    assert (0, 1) == (len(clicks.steps), len(small.steps))


def test_one_name_is_compared_with_the_only_key_column() -> None:
    app = jn.App("a")
    app.table("customers", key="id", fields={"id": "long", "name": "string"})
    orders = app.stream("orders", fields={"customer_id": "long"})

    (lookup,) = orders.lookup_join("customers", "customer_id").plan.lookups

    assert [("id", "customer_id")] == [(pair.child, pair.parent) for pair in lookup.on]


def test_sides_that_look_swapped_are_told() -> None:
    app = jn.App("a")
    app.table("customers", key="id", fields={"id": "long", "name": "string"})
    orders = app.stream("orders", fields={"customer_id": "long"})

    with pytest.raises(ProjectErrors) as caught:
        _ = orders.lookup_join("customers", {"customer_id": "id"}).plan

    (problem,) = caught.value.problems
    assert "PLAN_ON_SWAPPED" == problem.code
    assert "Write on: {id: customer_id}." == problem.hint


def test_the_old_order_of_on_is_told_where_the_types_differ_too() -> None:
    app = jn.App("a")
    app.table("customers", key="id", fields={"id": "long", "name": "string"})
    orders = app.stream("orders", fields={"customer_id": "string"})

    with pytest.raises(ProjectErrors) as caught:
        _ = orders.lookup_join("customers", {"customer_id": "id"}).plan

    assert ["PLAN_ON_SWAPPED"] == [each.code for each in caught.value.problems]


def test_sides_that_are_columns_of_both_go_by_the_key() -> None:
    app = jn.App("a")
    app.table("customers", key="id", fields={"id": "long", "customer_id": "long"})
    orders = app.stream("orders", fields={"id": "long", "customer_id": "long"})

    with pytest.raises(ProjectErrors) as caught:
        _ = orders.lookup_join("customers", {"customer_id": "id"}).plan

    assert ["PLAN_ON_SWAPPED"] == [each.code for each in caught.value.problems]


def test_branches_divide_the_events() -> None:
    app = jn.App("a")
    orders = app.stream("orders", key="id", fields={"id": "long", "amount": "double"})
    dear, fair, rest = (StreamDriver(each) for each in orders.branch("amount > 9", "amount > 5"))
    events = [
        insert("orders", id=number, amount=amount)
        for number, amount in enumerate((10.0, 7.0, 1.0, None))
    ]

    sent = [[each.key for each in driver.send(events)] for driver in (dear, fair, rest)]

    assert [[0], [1], [2, 3]] == sent


def orders_of(app: jn.App) -> Stream:
    return app.stream("orders", key="id", fields={"id": "long", "amount": "double"})


def test_a_named_stream_takes_a_sink() -> None:
    app = jn.App("a")

    orders_of(app).filter("amount > 1").named("dear").sink(files={"path": "out"})

    (dear,) = app.streams.values()
    assert ("dear", 1) == (dear.name, len(dear.sinks))


def test_a_cell_that_runs_twice_makes_one_stream(warned: Warned) -> None:
    app = jn.App("a")

    for _ in range(3):
        orders_of(app).filter("amount > 1").sink(files={"path": "out"})
        orders_of(app).filter("amount > 2").named("dear").sink(files={"path": "out"})

    assert ["enriched_orders", "dear"] == list(app.streams)
    assert [] == warned()


def test_a_cell_that_runs_again_changed_replaces_its_stream(warned: Warned) -> None:
    app = jn.App("a")

    orders_of(app).filter("amount > 1").sink(files={"path": "out"})
    orders_of(app).filter("amount > 2").sink(files={"path": "out"})

    assert ["enriched_orders"] == list(app.streams)
    (step,) = app.streams["enriched_orders"].plan.steps
    assert isinstance(step, Filter)
    assert "amount > 2" == step.where.sql
    (told,) = [each.getMessage() for each in warned()]
    assert 'the stream "enriched_orders" replaces the one declared before' in told
    assert "[WARN_REPLACED]" in told


def test_streams_into_other_sinks_or_under_other_names_stand_beside_each_other() -> None:
    app = jn.App("a")

    orders_of(app).filter("amount > 1").sink(files={"path": "dear"})
    orders_of(app).filter("amount < 1").sink(files={"path": "cheap"})
    orders_of(app).filter("amount = 1").sink(files={"path": "dear"}, name="even")

    orders_of(app).filter("amount > 1").sink(files={"path": "also"})

    names = ["enriched_orders", "enriched_orders_2", "even", "enriched_orders_3"]
    assert names == list(app.streams)


def test_a_table_declared_anew_replaces_the_one_before(warned: Warned) -> None:
    app = jn.App("a")

    app.table("customers", key="id", fields={"id": "long"}, database=True)
    app.table("customers", key="id", fields={"id": "long"}, database=True)
    app.table("customers", key="id", fields={"id": "int"})

    assert (("id", "int"),) == app.spec.relations[0].fields
    assert () == app.spec.products
    assert ["WARN_REPLACED"] == [vars(each)["code"] for each in warned()]


def test_streams_united_by_a_cell_that_runs_twice_stay_one() -> None:
    app = jn.App("a")

    for _ in range(2):
        web = app.stream("web", key="id", fields={"id": "long"})
        shop = app.stream("shop", key="id", fields={"id": "long", "till": "string"})
        web.union(shop.select("id")).sink(files={"path": "out"})

    assert ["shop_part", "enriched_web"] == list(app.streams)


def test_united_streams_run_as_one() -> None:
    app = jn.App("a")
    web = app.stream("web", key="id", fields={"id": "long"})
    shop = app.stream("shop", key="id", fields={"id": "long", "till": "string"}).select("id")

    both = StreamDriver(web.union(shop).filter("id > 1"))

    assert [upsert(2, {"id": 2})] == both.send(insert("web", id=1), insert("shop", id=2))
    assert ["shop_part"] == list(app.streams)


def test_a_url_gives_postgres_with_a_column_a_field() -> None:
    app = jn.App("a", database="postgresql://localhost/shop", source="kafka://localhost:9092")
    customers = app.table("customers", key="id", fields={"id": "long"}, database=True)
    orders = app.stream("orders", fields={"customer_id": "long"})

    (lookup,) = orders.lookup_join(customers, "customer_id", [], read="database").plan.lookups

    assert lookup.store
    assert ("postgres", "customers") == (lookup.store.kind, dict(lookup.store.options)["table"])
    (product,) = app.project.plan.products
    assert ("postgres", "columns") == (
        product.sinks[0].kind,
        dict(product.sinks[0].options)["mode"],
    )
    assert "kafka" == app.spec.sources[0].kind


def test_without_a_url_the_database_is_a_file_beside_the_app(tmp_path: Path) -> None:
    app = jn.App("shop", folder=tmp_path)
    app.table("customers", key="id", fields={"id": "long"}, database=True)

    (sink,) = app.project.plan.products[0].sinks

    assert ("sqlite", str(tmp_path / "shop.db")) == (sink.kind, dict(sink.options)["path"])
    assert Database("shop.db") == app.declarations.database


def test_a_path_is_a_folder_or_a_file_as_a_text_is() -> None:
    app = jn.App("coffee", source=Path("data"), database=Path("coffee.db"))

    assert jn.App("coffee", source="data").spec == app.spec
    assert "coffee.db" == app.declarations.database.place


def test_a_table_that_is_no_longer_kept_in_the_database_is_not() -> None:
    app = jn.App("shop")
    app.table("user", key="id", fields={"id": "long"}, database=True)

    app.table("user", key="id", fields={"id": "long"})

    assert () == app.spec.products


def test_tables_are_relations_of_documents_embeds_and_groups() -> None:
    app = jn.App("shop")
    users = app.table("users", key="id", fields={"id": "long"})
    orders = app.table("orders", key="id", fields={"id": "long", "user_id": "long"})
    counted = app.group_by(orders, "user_id").aggregate(n="count(*)").named("counted", group="g")

    app.add(
        jn.document("profile", users, group="g")
        .embed_many("orders", orders, on={"user_id": "id"})
        .embed_one("counted", counted, on={"user_id": "id"})
    )

    profile = app.project.products["profile"]
    assert ["id", "orders", "counted"] == [each.name for each in profile.plan.output.fields]


def test_a_stream_stands_for_its_log_in_a_join() -> None:
    app = jn.App("shop")
    searches = app.stream("searches", fields={"v": "long", "at": "timestamp"}, time="at")
    clicks = app.stream("clicks", fields={"v": "long", "at": "timestamp"}, time="at")

    joined = [searches.join(each, ["v"], ["0s", "1m"], []).steps for each in (clicks, "clicks")]

    assert joined[0] == joined[1]


def test_a_sink_that_is_not_there_is_refused_before_the_stream_has_its_place() -> None:
    app = jn.App("web", sinks={"archive": {"files": {"path": "out"}}})
    clicks = app.stream("clicks", fields={"id": "long"})

    for call in (clicks.sink, clicks.group_by("id").aggregate(n="count(*)").sink):
        for sink in ("archiv", {"use": "archiv"}):
            with pytest.raises(SpecError, match='the app has no sink "archiv"') as refused:
                call(sink)
            assert 'Use "archive".' == refused.value.hint

    assert ({}, ()) == (app.streams, app.spec.products)


def test_what_a_wrong_cell_declared_can_be_dropped() -> None:
    app = jn.App("web")
    clicks = app.stream("clicks", fields={"id": "long"})
    clicks.filter("idd > 1").sink(console={}, name="wrong")
    right = clicks.filter("id > 1").sink(console={}, name="right")

    app.drop("wrong")

    assert ["id"] == [each.name for each in right.plan.columns]
    with pytest.raises(KeyError, match='no table, stream or product "rihgt"') as refused:
        app.drop("rihgt")
    assert isinstance(refused.value, JoineryError)
    assert 'Use "right".' == refused.value.hint


def test_an_app_has_sources_windows_and_a_vault() -> None:
    app = jn.App(
        "web",
        sources={"kafka": {"kafka": {"bootstrap": "host:9092"}}},
        windows={"hour": {"tumbling": "1h"}},
        vault={"sqlite": {"path": "vault.db"}, "master": "m" * 32},
    )
    app.table(
        "users",
        key="id",
        fields={"id": "long", "name": "string"},
        personal={"subject": "id", "fields": ["name"]},
    )
    views = app.stream("views", fields={"at": "timestamp"}, time="at", source="kafka")
    views.group_by().window("hour").aggregate(n="count(*)").named("hours")

    assert "window_start" in str(app.project.products["hours"].explain())
    assert ["source", "kafka"] == [each.name for each in app.spec.sources]


def test_a_log_without_columns_has_been_declared_before() -> None:
    app = jn.App("a")

    with pytest.raises(SpecError, match="is not declared") as refused:
        app.stream("clicks")

    assert "SPEC_MISSING_KEY" == refused.value.code


def test_a_notebook_shows_pictures(tmp_path: Path) -> None:
    app = coffee(tmp_path)

    shown = app._repr_html_()

    assert 2 == shown.count("<svg ")
    assert "kept in the database" in shown


def test_a_notebook_shows_what_is_wrong_with_a_stream() -> None:
    clicks = jn.App("web").stream("clicks", fields={"id": "long"})

    assert "PLAN_UNKNOWN_COLUMN" in clicks.filter("idd > 1")._repr_html_()
    assert "&quot;idd&quot;" in clicks.filter("idd > 1")._repr_html_()
    assert "<svg " in clicks.group_by("id").aggregate(n="count(*)")._repr_html_()


def test_a_plan_is_shown_as_text_and_in_a_notebook_as_a_picture() -> None:
    app = jn.App("shop")
    app.add(jn.document("profile", app.table("users", key="id", fields={"id": "long"})))

    plan = app.project.products["profile"].explain()

    assert str(plan) == repr(plan)
    assert "<svg " in plan._repr_html_()


def test_a_declaration_is_shown_in_a_line_and_without_secrets() -> None:
    sink = {"postgres": {"url": "postgresql://me:secret@host/shop"}}
    made = jn.document("p", "user", sink=sink).embed_many("stars", "star", on=["id"])
    fold = jn.fold("account", "entry", sequence="no", state={"n": "long = 0"})

    shown = [repr(each) for each in (made, fold, jn.many("star", on=["id"]))]

    assert ["<product p of user>", "<product account of entry>", "<many star>"] == shown


def test_an_app_without_a_sink_is_refused_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = jn.App("shop")
    app.stream("clicks", fields={"x": "long"}).filter("x > 1")
    monkeypatch.setattr(jn.App, "session", lambda self: pytest.fail("Spark was started"))

    with pytest.raises(SpecError) as told:
        app.run(once=True)

    assert "RUN_SELECTION" == told.value.code
    assert ".sink(…)" in told.value.hint


def test_a_name_that_an_app_does_not_have_is_told_with_those_that_it_has() -> None:
    app = jn.App("shop")
    app.table("users", key="id", fields={"id": "long"})

    with pytest.raises(JoineryError, match='the project has no table "user"') as refused:
        app.tables["user"]
    with pytest.raises(JoineryError, match='the project has no stream "users"'):
        app.streams["users"]

    assert 'Use "users".' == refused.value.hint
