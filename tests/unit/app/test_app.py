"""The fluent door: it declares what a project file would, and refuses the same."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import joinery as jn
from joinery.app.declarations import Database
from joinery.app.stream import Stream
from joinery.errors import JoineryError, ProjectErrors, SpecError
from joinery.plan.step import Filter
from joinery.testing import StreamDriver, insert, upsert

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

loose: Any = jn
"""For calls that are wrong on purpose, as somebody makes them who runs no type checker."""
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


def nobody(keys: Sequence[Any]) -> dict[Any, dict[str, Any]]:
    """Return the rows of keys that no table has."""
    return {}


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


def test_a_lambda_runs_and_has_no_place_in_a_file(tmp_path: Path) -> None:
    app = jn.App("a", folder=tmp_path)
    orders = app.stream("orders", key="id", fields={"id": "long"})
    twice = orders.map(lambda event: {"twice": event["id"] * 2}, {"twice": "long"})
    twice.sink("database")

    assert [upsert(2, {"twice": 4})] == StreamDriver(twice).send(insert("orders", id=2))
    with pytest.raises(SpecError, match="cannot be written to a project file") as caught:
        app.to_yaml()
    assert "SPEC_FUNCTION" == caught.value.code


class Scale:
    """A model with a method."""

    def times(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an event's id, scaled."""
        return {"scaled": event["id"] * 3}


def fails(event: Mapping[str, Any]) -> dict[str, Any]:
    raise RuntimeError(f"never told: {event}")


def leaves(event: Mapping[str, Any]) -> dict[str, Any]:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (fails, f"{__name__}:fails raised RuntimeError at test_app.py:"),
        (leaves, f"{__name__}:leaves raised SystemExit at test_app.py:"),
        (lambda event: [event["id"]], "gave a list, no row."),
        (lambda event: {"twcie": event["id"]}, 'no column of its output; did it mean "twice"?'),
    ],
)
def test_an_event_on_which_a_function_fails_is_a_dead_letter(
    function: Callable[..., Any], told: str
) -> None:
    orders = jn.App("shop").stream("orders", key="id", fields={"id": "long"})
    driver = StreamDriver(orders.map(function, {"twice": "long"}))

    assert driver.send(insert("orders", id=1)) == []

    (dead,) = driver.dead_letters
    assert (dead.reason, told in dead.detail) == ("map_failed", True)


def test_a_bound_method_is_called_on_its_object() -> None:
    orders = jn.App("a").stream("orders", key="id", fields={"id": "long"})

    scaled = orders.map(Scale().times, {"scaled": "long"})

    assert [upsert(2, {"scaled": 6})] == StreamDriver(scaled).send(insert("orders", id=2))


def test_a_function_may_be_the_store() -> None:
    app = jn.App("a")
    customers = app.table("customers", key="id", fields={"id": "long", "name": "string"})
    orders = app.stream("orders", fields={"customer_id": "long"})

    def rows(keys: Sequence[Any]) -> dict[Any, dict[str, Any]]:
        return {}

    named, inner = (
        orders.lookup_join(customers, "customer_id", read="database", store=each).plan.lookups[0]
        for each in (nobody, rows)
    )

    assert named.store
    assert {"function": "tests.unit.app.test_app:nobody"} == dict(named.store.options)
    assert inner.store
    assert {"function": rows} == dict(inner.store.options)


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


@dataclass
class FakeType:
    """A type as PySpark tells it."""

    text: str

    def simpleString(self) -> str:
        """Return its text."""
        return self.text


@dataclass
class Column:
    """A column of a frame."""

    name: str
    dataType: FakeType


@dataclass
class Frame:
    """The part of a DataFrame that a declaration reads."""

    columns: tuple[tuple[str, str], ...]

    @property
    def schema(self) -> Frame:
        """The frame itself."""
        return self

    @property
    def fields(self) -> list[Column]:
        """The columns with their types."""
        return [Column(name, FakeType(text)) for name, text in self.columns]


NO_SESSION = cast("SparkSession", object())


def frame_of(*columns: tuple[str, str]) -> DataFrame:
    """Return what declares columns as a DataFrame does."""
    return cast("DataFrame", Frame(columns))


@pytest.mark.parametrize(
    ("source", "database"), [("mysql://host/shop", None), (None, "sqlite:///coffee.db")]
)
def test_a_url_that_means_nothing_is_no_path(source: str | None, database: str | None) -> None:
    with pytest.raises(SpecError, match="cannot be a URL of") as refused:
        jn.App("coffee", source=source, database=database)

    assert "SPEC_VALUE" == refused.value.code


def test_a_path_is_a_folder_or_a_file_as_a_text_is() -> None:
    app = jn.App("coffee", source=Path("data"), database=Path("coffee.db"))

    assert jn.App("coffee", source="data").spec == app.spec
    assert "coffee.db" == app.declarations.database.place


@pytest.mark.parametrize("name", ["source", "database"])
def test_a_place_that_is_neither_text_nor_path_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match=f'"{name}" cannot be of type int') as refused:
        loose.App("coffee", **{name: 5})

    assert refused.value.hint


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: loose.relation("user", key="id", fields={"id": "long"}, imges="key"), "images"),
        (lambda: loose.document("p", "user", emitt={"settle": "2s"}), "emit"),
        (lambda: loose.document("p", "user").embed_one("a", "b", onn={"id": "id"}), "on"),
        (lambda: loose.App("coffee", sorce="data"), "source"),
        (lambda: loose.App("coffee").table("a", key="id", field={"id": "long"}), "fields"),
        (lambda: loose.Project("people", product=[]), "products"),
        (lambda: loose.Stream.from_dataframe(None, "clicks", frames=None), "frame"),
    ],
)
def test_a_misspelled_argument_names_the_nearest(call: Callable[[], object], near: str) -> None:
    with pytest.raises(TypeError, match=f"Did you mean '{near}'"):
        call()


@pytest.mark.parametrize(
    ("call", "title"),
    [
        (
            lambda: loose.App("a").stream("b", fields={"id": "long"}).join("c", fild=[]),
            "Stream.join",
        ),
        (lambda: loose.document("p", "user").embed_one("a", "b", onn=[]), "Document.embed_one"),
        (lambda: loose.Stream.from_dataframe(None, frames=None), "Stream.from_dataframe"),
        (lambda: loose.App("coffee", sorce="data"), "App.__init__"),
    ],
)
def test_a_misspelled_argument_names_the_class_that_the_method_is_called_on(
    call: Callable[[], object], title: str
) -> None:
    with pytest.raises(TypeError, match=rf"^{title}\(\) got an unexpected keyword argument"):
        call()


def test_the_columns_of_a_dataframe_are_those_of_the_stream() -> None:
    frame = frame_of(("id", "bigint"), ("at", "timestamp"), ("__op", "string"))

    stream = jn.Stream.from_dataframe(frame, "clicks", key="id", time="at")

    assert "struct<id: long, at: timestamp>" == str(stream.plan.output)
    assert frame is stream.declared.frames["clicks"]


def test_a_frame_that_is_no_dataframe_of_spark_is_refused_in_one_line() -> None:
    with pytest.raises(SpecError, match='the frame of "clicks" is not a Spark DataFrame') as told:
        loose.Stream.from_dataframe([1, 2], "clicks")

    assert "createDataFrame" in told.value.hint


def test_a_log_that_is_declared_anew_without_its_frame_has_none() -> None:
    app = jn.App("web")
    app.stream("clicks", frame=frame_of(("id", "bigint")), key="id")

    app.stream("clicks", fields={"id": "long"}, key="id")

    assert {} == app.declarations.frames


def test_a_table_that_is_no_longer_kept_in_the_database_is_not() -> None:
    app = jn.App("shop")
    app.table("user", key="id", fields={"id": "long"}, database=True)

    app.table("user", key="id", fields={"id": "long"})

    assert () == app.spec.products


def test_a_run_refuses_what_was_declared_with_a_dataframe() -> None:
    app = jn.App("web")
    app.stream("clicks", frame=frame_of(("id", "bigint"))).sink(files={"path": "out"})

    with pytest.raises(JoineryError, match='reads "clicks", which was declared with a DataFrame'):
        app.run(NO_SESSION, once=True)


def test_frames_and_sources_are_not_mixed_in_silence() -> None:
    app = jn.App("web")
    app.table("users", key="id", fields={"id": "long", "name": "string"})
    clicks = app.stream("clicks", frame=frame_of(("user_id", "bigint")))

    with pytest.raises(JoineryError, match='reads "users" from a source') as told:
        clicks.lookup_join("users", "user_id").preview(spark=NO_SESSION)

    assert 'Declare "users" with frame=…' in told.value.hint


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


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda app, log: jn.document("a", log), 'Write the name of its log, "clicks".'),
        (lambda app, log: loose.document("a", None), "Pass what jn.relation or app.table gives"),
        (lambda app, log: app.group_by(5, "id"), "Pass what jn.relation or app.table gives"),
        (lambda app, log: app.add(log), "Pass what jn.document"),
        (lambda app, log: log.union("clicks"), "Pass one such as app.stream"),
        (lambda app, log: log.lookup_join(None, "id"), "Write app.table("),
        (
            lambda app, log: log.join(log.filter("id > 1"), ["id"], ["0s", "1m"]),
            "Pass the log itself",
        ),
        (lambda app, log: jn.document(log, "a"), "Its name comes first."),
        (lambda app, log: loose.document("a", "b", embed={"c": "d"}), "jn.many(RELATION, on=…)"),
        (
            lambda app, log: loose.document("a", "b", embed=[loose.one("c", on=["d"])]),
            "jn.many(",
        ),
        (lambda app, log: loose.pattern("a", "b", match="A", rules={"r": "c"}), "jn.many("),
        (lambda app, log: loose.many(loose.one("a", on=["b"]), on=["b"]), "Use embed_one"),
        (lambda app, log: log.lookup_join({}, "id"), "Write app.table("),
        (lambda app, log: loose.many("a", on=["b"], through=["c"]), "Write through={…}."),
        (lambda app, log: loose.App("a", sources=["b"]), "Write sources={…}."),
        (lambda app, log: log.with_columns(columns=loose.__all__), "Write columns={…}."),
        (lambda app, log: loose.load(5), 'Write jn.load("joinery.yaml").'),
        (lambda app, log: loose.load("a", settings=5), 'Write settings="run.trigger=5s".'),
        (lambda app, log: loose.load("a", settings=[5]), 'Write settings="run.trigger=5s".'),
        (lambda app, log: loose.document("a", "b").embed_one(5, "c", on=["d"]), "Its name comes"),
        (lambda app, log: loose.row({}, "a > 1"), "Its name comes first."),
        (lambda app, log: app.stream(cast("Any", {})), "Its name comes first."),
        (
            lambda app, log: loose.document("a", "b", emit={"settle": timedelta(seconds=2)}),
            'Write a duration as text, such as "2s".',
        ),
        (lambda app, log: loose.relation("a", key={"id"}, fields={}), "Write a list."),
        (lambda app, log: loose.relation("a", key="id", fields={"id": int}), 'such as "long"'),
        (lambda app, log: log.filter(lambda row: row["id"] > 1), "a condition is no function"),
        (lambda app, log: loose.row("A").then("B"), "Write jn.row(name, condition)."),
        (lambda app, log: loose.row("A").not_followed_by("B"), "Write jn.row(name, condition)."),
    ],
)
def test_what_is_of_another_kind_is_refused_in_one_line(
    wrong: Callable[[jn.App, jn.Stream], object], hint: str
) -> None:
    app = jn.App("web")

    with pytest.raises(SpecError) as refused:
        wrong(app, app.stream("clicks", fields={"id": "long"}))

    assert hint in refused.value.hint


def test_a_stream_stands_for_its_log_in_a_join() -> None:
    app = jn.App("shop")
    searches = app.stream("searches", fields={"v": "long", "at": "timestamp"}, time="at")
    clicks = app.stream("clicks", fields={"v": "long", "at": "timestamp"}, time="at")

    joined = [searches.join(each, ["v"], ["0s", "1m"], []).steps for each in (clicks, "clicks")]

    assert joined[0] == joined[1]


def test_a_stream_of_another_app_is_refused() -> None:
    one, other = (jn.App(name).stream("clicks", fields={"id": "long"}) for name in ("one", "two"))

    with pytest.raises(SpecError, match="is of another app, two"):
        one.union(other)


def test_what_is_no_function_is_refused_at_the_call() -> None:
    clicks, number = jn.App("web").stream("clicks", fields={"id": "long"}), cast(Any, 5)

    with pytest.raises(SpecError, match="map needs a function, not an object of type int"):
        clicks.map(number, {"id": "long"})


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


@pytest.mark.parametrize(
    ("wrong", "code", "message"),
    [
        (lambda o: o.lookup_join("custmers", "id"), "PLAN_UNKNOWN_RELATION", "no table"),
        (lambda o: o.filter(""), "SPEC_SHAPE", "needs an expression"),
        (
            lambda o: o.lookup_join("customers", "customer_id", read="database", cache={"tl": ""}),
            "SPEC_UNKNOWN_KEY",
            'no key "tl"',
        ),
        (
            lambda o: o.lookup_join("customers", "customer_id", on_change="re_emit"),
            "SPEC_MISSING_KEY",
            'needs "for"',
        ),
        (lambda o: o.map("score", {"a": "long"}), "SPEC_SHAPE", "needs module:name"),
        (lambda o: o.map(lambda event: event, {"a": "lng"}), "SPEC_TYPE", "no type"),
        (lambda o: o.sink(fles={}), "SPEC_UNKNOWN_KEY", 'no kind "fles"'),
        (lambda o: o.sink(), "SPEC_MISSING_KEY", "needs a sink"),
    ],
)
def test_what_a_file_would_refuse_is_refused_at_the_call(
    wrong: Any, code: str, message: str
) -> None:
    app = jn.App("a")
    app.table("customers", key="id", fields={"id": "long", "name": "string"})
    orders = app.stream("orders", fields={"customer_id": "long", "amount": "double"})

    with pytest.raises(JoineryError) as caught:
        wrong(orders)

    problems = getattr(caught.value, "problems", (caught.value,))
    assert [code] == [each.code for each in problems]
    assert message in problems[0].message


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


def test_a_broker_without_a_port_is_refused_at_once() -> None:
    with pytest.raises(SpecError) as refused:
        jn.App("coffee", source="kafka://localhost")

    assert 'Write "kafka://localhost:9092".' == refused.value.hint


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
