"""The driver, as a user of the test kit sees it."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
import joinery.testing as kit
from joinery.expression.typed import column_expression
from joinery.model.change import Change
from joinery.model.type import LONG, STRING, TIMESTAMP, Decimal, Field
from joinery.plan.build import build_plan
from joinery.plan.node import Node
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.testing import ChangeError, Driver, delete, gone, insert, tombstone, update, upsert
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import DriverError

USER = Relation(
    "user", "changes", "user", "json", ("id",), (Field("id", LONG), Field("name", STRING))
)
ORDER = Relation(
    "order",
    "changes",
    "order",
    "json",
    ("user_id", "line"),
    (
        Field("user_id", LONG),
        Field("line", LONG),
        Field("total", Decimal(10, 2)),
        Field("at", TIMESTAMP),
    ),
)


def column(relation: Relation, name: str) -> Computed:
    return Computed(name, column_expression(name, relation.type_of(name)))


ORDERS = Node(
    name="orders",
    path="profile/orders",
    cardinality="many",
    relation=ORDER,
    on=(JoinPair("user_id", "id", LONG),),
    fields=(column(ORDER, "line"), column(ORDER, "total")),
)
PROFILE = Product(
    "profile",
    DocumentForm(
        Node("profile", "profile", "root", USER, fields=(column(USER, "name"),), embeds=(ORDERS,))
    ),
)


@pytest.fixture
def driver() -> Driver:
    return Driver(PROFILE)


def test_a_batch_gives_its_emissions(driver: Driver) -> None:
    emitted = driver.send(insert("user", id=1, name="a"), insert("user", id=2))

    assert [
        upsert(1, {"name": "a", "orders": []}),
        upsert(2, {"name": None, "orders": []}),
    ] == emitted


def test_a_batch_may_be_one_list(driver: Driver) -> None:
    emitted = driver.send([insert("user", id=1), delete("user", id=1)])

    assert [] == emitted


def test_the_documents_are_those_that_stand(driver: Driver) -> None:
    driver.send(insert("user", id=1, name="a"), insert("user", id=2, name="b"))
    driver.send(delete("user", id=1))

    assert {2: {"name": "b", "orders": []}} == driver.documents()


def test_an_emission_of_a_tombstone_has_no_value(driver: Driver) -> None:
    driver.send(insert("user", id=1))

    emitted = driver.send(tombstone("user", id=1))

    assert [gone(1)] == emitted


def test_versions_rise_with_the_batches(driver: Driver) -> None:
    first = driver.send(insert("user", id=1, name="a"))
    second = driver.send(update("user", id=1, name="b"))

    assert [1_000_000, 2_000_000] == [each.version for each in first + second]


def test_changes_are_counted(driver: Driver) -> None:
    driver.send(insert("user", id=1).at(5), insert("user", id=1).at(4))

    assert {"applied": 1, "stale": 1} == dict(driver.counters)


def test_values_take_the_types_of_their_columns(driver: Driver) -> None:
    driver.send(insert("user", id=1), insert("order", user_id=1, line=1, total=2))

    orders = driver.documents()[1]["orders"]

    assert [{"line": 1, "total": decimal.Decimal("2.00")}] == orders


@pytest.mark.parametrize("solution", ["reference", "memory"])
def test_a_float_has_the_digits_that_a_run_writes_and_32_bits(solution: str) -> None:
    ride = jn.relation("ride", key=["id"], fields={"id": "long", "km": "float"})
    fields = {"id": "id", "km": "km", "wide": "cast(km as double)"}
    driver = Driver(jn.document("ride", ride, fields=fields), solution)

    sent = driver.send(insert("ride", id=1, km=0.1), insert("ride", id=2, km=16777217))

    wide = 0.10000000149011612
    assert [
        upsert(1, {"id": 1, "km": 0.1, "wide": wide}),
        upsert(2, {"id": 2, "km": 16777216.0, "wide": 16777216.0}),
    ] == sent
    assert {"id": 1, "km": 0.1, "wide": wide} == driver.documents()[1]


def test_a_time_may_be_text() -> None:
    change = insert("order", user_id=1, line=1, at="2026-01-02T03:04:05").change(ORDER)

    assert change.after is not None
    assert dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC) == change.after["at"]


def test_an_insert_tells_every_column_and_an_update_those_it_names() -> None:
    inserted = insert("user", id=1).change(USER)
    updated = update("user", id=1).change(USER)

    assert Change("user", {"id": 1}, {"id": 1, "name": None}) == inserted
    assert Change("user", {"id": 1}, {"id": 1}) == updated


def test_the_column_that_a_relation_is_ordered_by_is_the_position_of_a_change() -> None:
    price = jn.relation(
        "price", key=["sku"], position="at", fields={"sku": "string", "at": "timestamp_ntz"}
    )
    driver = Driver(jn.document("tag", price))
    driver.send(insert("price", sku="a", at="2026-01-02T00:00:00"))
    older = insert("price", sku="a", at="2026-01-01T00:00:00")
    assert driver.send(older) == []
    assert driver.send(older.at(2**62)) == [
        upsert("a", {"sku": "a", "at": dt.datetime(2026, 1, 1)})
    ]


def test_a_change_without_its_key_is_refused(driver: Driver) -> None:
    with pytest.raises(ChangeError, match='insert of "order" lacks the key column "line"'):
        driver.send(insert("order", user_id=1))


@pytest.mark.parametrize("given", [{"user": [{"id": 1}]}, "user"])
def test_what_is_no_change_is_refused(driver: Driver, given: Any) -> None:
    with pytest.raises(ChangeError, match="is no change"):
        driver.send(given)


def test_a_change_of_a_column_that_is_not_there_is_refused(driver: Driver) -> None:
    with pytest.raises(ChangeError, match='relation "user" has no column "nam"'):
        driver.send(insert("user", id=1, nam="a"))


@pytest.mark.parametrize(
    "columns",
    [
        {"user_id": "1", "line": 1},
        {"user_id": True, "line": 1},
        {"user_id": 2**63, "line": 1},
        {"user_id": 1, "line": 1, "total": 10**8},
        {"user_id": 1, "line": 1, "total": "much"},
        {"user_id": 1, "line": 1, "at": "yesterday"},
        {"user_id": 1, "line": 1, "at": dt.date(2024, 1, 1)},
    ],
)
def test_a_value_of_another_type_is_refused(driver: Driver, columns: dict[str, object]) -> None:
    with pytest.raises(ChangeError, match="cannot be"):
        driver.send(insert("order", **columns))


def test_a_change_of_a_relation_that_is_not_read_is_refused(driver: Driver) -> None:
    with pytest.raises(ChangeError, match='product "profile" reads no relation "users"'):
        driver.send(insert("users", id=1))


def test_another_solution_is_passed_as_itself() -> None:
    with pytest.raises(DriverError, match='the driver has no solution "spark-state"'):
        Driver(PROFILE, solution="spark-state")


@pytest.mark.parametrize("solution", ["memory", "rdbms-store", "rdbms-trigger", "kv"])
@pytest.mark.parametrize(
    ("product", "what"),
    [
        (
            "p: {root: a, embed: {b: {one: a, on: [id], as_of: at}}}",
            "embeds of versions",
        ),
        (
            "p: {root: a, embed: {b: {many: a, on: [id], within: [0s, 1h]}}}",
            "embeds of an interval",
        ),
        (
            "p: {root: a, embed: {b: {many: a, through: {a: {id: id}}, on: {id: a.id}}}}",
            "through another relation",
        ),
        ("p: {aggregate: a, window: {session: 1h}, values: {n: count(*)}}", ""),
        ("p: {history: a, valid: at}", ""),
    ],
)
def test_a_solution_is_not_driven_with_what_it_would_leave_out(
    product: str, what: str, solution: str
) -> None:
    relation = "relations: {a: {key: [id], fields: {id: long, at: timestamp}, time: at}}"
    plan = build_plan(load_text(f"{relation}\nproducts: {{{product}}}\n")).products[0]

    told = f'the solution {solution} cannot run "p" yet: .*{what}'
    with pytest.raises(DriverError, match=told):
        Driver(plan, solution=solution)


def test_a_product_of_a_loaded_project_is_driven(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(
        """
name: small
relations: {user: {key: [id], fields: {id: long, name: string}, source: s, format: json}}
sources: {s: {files: {path: in}}}
products: {p: {root: user, fields: [name]}}
""",
        encoding="utf-8",
    )

    driver = Driver(jn.load(file).products["p"])

    assert [upsert(1, {"name": "a"})] == driver.send(insert("user", id=1, name="a"))


def test_a_product_is_driven_before_it_has_a_project() -> None:
    user = jn.relation("user", key="id", fields={"id": "long", "name": "string"})

    driver = Driver(jn.document("profile", user, fields=["name"]))

    assert [upsert(1, {"name": "a"})] == driver.send(insert("user", id=1, name="a"))


@pytest.mark.parametrize("kind", [Driver, kit.StreamDriver])
def test_what_is_nothing_to_drive_is_refused_in_one_line(kind: type[Driver]) -> None:
    name: Any = "profile"

    with pytest.raises(DriverError, match="an object of type str is not a"):
        kind(name)


def test_a_time_that_is_no_duration_does_not_pass_as_none() -> None:
    clicks = jn.App("web").stream("clicks", fields={"id": "long"}, key="id")

    with pytest.raises(DriverError, match='"5 moments" is not a duration'):
        kit.StreamDriver(clicks).send(insert("clicks", id=1), after="5 moments")


def test_the_kit_has_the_names_it_promises() -> None:
    assert sorted(kit.__all__) == [name for name in sorted(kit.__all__) if hasattr(kit, name)]


def test_the_driver_of_stores_gives_the_same_values() -> None:
    changes = [
        insert("user", id=1, name="a"),
        insert("order", user_id=1, line=1, total="2.50", at="2026-01-01T00:00:00Z"),
    ]

    emitted = Driver(PROFILE, solution="memory").send(*changes)

    assert Driver(PROFILE).send(*changes) == emitted


def test_a_relation_in_place_of_its_name_is_refused_with_what_to_write() -> None:
    user: Any = jn.relation("user", key="id", fields={"id": "long"})

    with pytest.raises(ChangeError) as refused:
        insert(user, id=1)

    assert 'Write insert("user", …), with its name.' == refused.value.hint
