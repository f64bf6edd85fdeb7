"""The reference solution, where the conformance cases do not look: counters and versions."""

from __future__ import annotations

from joinery.expression.typed import column_expression
from joinery.model.change import Change
from joinery.model.type import LONG, STRING, Field
from joinery.plan.build import build_plan
from joinery.plan.node import Node
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.semantics.reference import ReferenceSolution
from joinery.testing.conformance.project import load_text

USER = Relation(
    "user",
    "changes",
    "user",
    "json",
    ("id",),
    (Field("id", LONG), Field("name", STRING)),
    unique=(("name",),),
)


def column(name: str) -> Computed:
    return Computed(name, column_expression(name, USER.type_of(name)))


NAMESAKE = Node(
    name="namesake",
    path="p/namesake",
    cardinality="one",
    relation=USER,
    on=(JoinPair("name", "name", STRING),),
    fields=(column("id"),),
)
PRODUCT = Product(
    "p", DocumentForm(Node("p", "p", "root", USER, fields=(column("name"),), embeds=(NAMESAKE,)))
)


def put(key: int, name: str | None, position: int | None = None) -> Change:
    return Change("user", {"id": key}, {"name": name}, position)


def drop(key: int) -> Change:
    return Change("user", {"id": key}, None)


def test_a_join_value_with_several_matches_is_counted_once() -> None:
    solution = ReferenceSolution(PRODUCT)

    counted = [
        solution.apply([put(1, "a"), put(2, "a")], 1).counters.get("multiple_matches"),
        solution.apply([put(3, "a")], 2).counters.get("multiple_matches"),
        solution.apply([put(4, "b"), put(5, "b")], 3).counters.get("multiple_matches"),
    ]

    assert [1, None, 1] == counted


def test_a_broken_unique_promise_is_counted_at_the_batch_s_end() -> None:
    solution = ReferenceSolution(PRODUCT)

    passing = solution.apply([put(1, "a"), put(2, "a"), drop(1)], 1).counters
    lasting = solution.apply([put(3, "a")], 2).counters

    assert "unique_violations" not in passing
    assert 1 == lasting["unique_violations"]


def test_tombstones_after_a_delete_are_counted() -> None:
    solution = ReferenceSolution(PRODUCT)

    emitted = solution.apply([drop(1), Change("user", {"id": 1}, None, tombstone=True)], 1)

    assert {"applied": 1, "tombstones_ignored": 1} == emitted.counters


def test_a_version_rises_even_when_the_clock_does_not() -> None:
    solution = ReferenceSolution(PRODUCT)

    versions = [
        solution.apply([put(1, name)], at_us).documents[0].version
        for name, at_us in (("a", 100), ("b", 100), ("c", 90), ("d", 200))
    ]

    assert [100, 101, 102, 200] == versions


def test_a_version_rises_over_a_tombstone() -> None:
    solution = ReferenceSolution(PRODUCT)

    versions = [
        solution.apply([change], 100).documents[0].version
        for change in (put(1, "a"), drop(1), put(1, "a"))
    ]

    assert [100, 101, 102] == versions


def test_a_document_above_the_limit_of_bytes_is_a_dead_letter_once() -> None:
    solution = ReferenceSolution(PRODUCT, max_document_bytes=60)

    first = solution.apply([put(1, "a")], 1)
    grown = solution.apply([put(1, "a" * 100)], 2)
    still = solution.apply([put(1, "a" * 101)], 3)
    back = solution.apply([put(1, "a")], 4)

    assert [1, 0, 0, 1] == [len(each.documents) for each in (first, grown, still, back)]
    assert ["document_too_large"] == [each.reason for each in grown.dead_letters]
    assert () == still.dead_letters


def test_changes_of_relations_that_no_product_reads_change_nothing() -> None:
    solution = ReferenceSolution(PRODUCT)

    emitted = solution.apply([Change("order", {"id": 1}, {})], 1)

    assert ((), (), {}) == (emitted.documents, emitted.dead_letters, dict(emitted.counters))


def test_two_products_share_their_relations() -> None:
    second = Product("q", DocumentForm(Node("q", "q", "root", USER, fields=(column("id"),))))
    solution = ReferenceSolution([PRODUCT, second])

    emitted = solution.apply([put(1, "a")], 1)

    assert ["p", "q"] == [each.product for each in emitted.documents]


def test_a_failing_row_that_another_document_comes_to_show_is_not_counted_again() -> None:
    project = load_text(
        """
relations:
  user: {key: [id], fields: {id: long, city_id: long}}
  city: {key: [id], fields: {id: long, size: int}}
products:
  p:
    root: user
    fields: [id]
    embed: {city: {one: city, on: {id: city_id}, fields: {part: 10 / size}}}
"""
    )
    solution = ReferenceSolution(build_plan(project).products)
    city = Change("city", {"id": 7}, {"size": 0})
    users = [Change("user", {"id": each}, {"city_id": 7}) for each in (1, 2)]

    counted = [
        solution.apply([city, users[0]], 1).counters.get("expression_errors"),
        solution.apply([users[1]], 2).counters.get("expression_errors"),
    ]

    assert [1, None] == counted
