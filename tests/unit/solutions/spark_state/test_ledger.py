"""The numbers of a program's nodes: kept where products are removed or reordered, refused else."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from tests.unit.solutions.spark_state.frozen import PRODUCTS, RELATIONS

import joinery as jn
from bench.fleet.shape import declared, make_fleet
from joinery.plan.product import Product
from joinery.solutions.spark_state import program as programs
from joinery.solutions.spark_state.addition import add
from joinery.solutions.spark_state.fingerprint import (
    carried_fingerprint,
    fingerprint,
    state_marks,
)
from joinery.solutions.spark_state.ledger import Ledger, stand
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.node_numbers import REFERENCES
from joinery.solutions.spark_state.program import KernelProgram, Removed, Root

HEAD = RELATIONS.partition("products:")[0] + "products:\n"


def fleet(tmp_path: Path, seed: int) -> list[Product]:
    (tmp_path / "joinery.yaml").write_text(
        declared(make_fleet(seed, relations=12, products=12), out="out")
    )
    return list(jn.load(tmp_path / "joinery.yaml").plan.products)


def ledger_of(program: KernelProgram) -> Ledger:
    found = Ledger.of(program)
    assert found is not None
    return Ledger.from_plain(json.loads(json.dumps(found.to_plain())))


def carried(products: Sequence[Product], ledger: Ledger) -> KernelProgram:
    found = stand(lower(products, ledger=ledger), ledger)
    assert found.program is not None, found
    return found.program


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_of_a_group_keeps_its_numbers_however_it_is_ordered(
    tmp_path: Path, seed: int
) -> None:
    products, random = fleet(tmp_path, seed), Random(seed)
    before = lower(products)
    ledger = ledger_of(before)

    for left in (12, 7, 3):
        products = random.sample(products, left)
        after = carried(products, ledger)

        kept = {i for i, each in enumerate(after.nodes) if not isinstance(each, Removed)}
        assert before.levels == after.levels
        assert {i: (before.nodes[i].name, before.nodes[i].level) for i in kept} == {
            i: (after.nodes[i].name, after.nodes[i].level) for i in kept
        }
        ledger = ledger_of(after)
        assert carried(products, ledger).to_json() == after.to_json()


def test_a_product_that_comes_back_is_not_taken_for_what_it_was(tmp_path: Path) -> None:
    products = fleet(tmp_path, 1)
    ledger = ledger_of(carried(products[1:], ledger_of(lower(products))))

    found = stand(lower(products, ledger=ledger), ledger)

    assert found.program is None
    assert (products[0].name,) == found.added


def group(tmp_path: Path, **products: str) -> list[Product]:
    lines = (f"  {name}: {text}\n" for name, text in products.items())
    (tmp_path / "joinery.yaml").write_text(HEAD + "".join(lines))
    return list(jn.load(tmp_path / "joinery.yaml").plan.products)


def test_an_added_product_has_numbers_behind_the_last_and_retracts_that_tell_it_its_rows(
    tmp_path: Path,
) -> None:
    embed = "embed: {posts: {many: post, on: {user: id}}}"
    there = f"{{group: g, root: user, {embed}}}"
    counted = {
        each: f"{{group: g, aggregate: {each}, by: [id], values: {{n: count(*)}}}}"
        for each in ("user", "post")
    }
    before = ledger_of(lower(group(tmp_path, there=there, **counted)))
    products = group(tmp_path, joined=there, there=there, **counted)

    found = add(lower(products, ledger=before), before)

    assert found.program is not None, found
    nodes = found.program.nodes
    kept = [(each.key, each.level) for each in before.nodes]
    assert kept == [(each.key, each.level) for each in ledger_of(found.program).nodes][: len(kept)]
    assert {"joined"} == {each.name.split("/")[0] for each in nodes[len(before.nodes) :]}
    assert {"user", "post"} == {nodes[each].name for each in found.retracts}
    after = ledger_of(found.program)
    assert carried(products, after).to_json() == found.program.to_json()


@pytest.mark.parametrize("retroactive", [True, False])
def test_a_search_is_added_only_where_it_does_not_matter_which_query_came_first(
    tmp_path: Path, retroactive: bool
) -> None:
    there = "{group: g, search: user, queries: query, query: text}"
    joined = there.replace("}", f", retroactive: {str(retroactive).lower()}}}")
    ledger = ledger_of(lower(group(tmp_path, there=there)))
    products = group(tmp_path, there=there, joined=joined)

    found = add(lower(products, ledger=ledger), ledger)

    assert retroactive == (found.program is not None), found


def test_a_product_is_not_added_over_rows_that_are_only_sent_where_they_are_decoded(
    tmp_path: Path,
) -> None:
    both = (
        "near: {many: event, on: {user: user}, within: [0s, 30m]}, all: {many: event, on: [user]}"
    )
    near = f"{{group: g, root: event, embed: {{{both}}}}}"
    users = "{group: g, root: user}"
    for there in (users, near):
        before = ledger_of(lower(group(tmp_path, there=there)))

        found = add(lower(group(tmp_path, there=there, joined=near), ledger=before), before)

        assert found.program is None
        assert [] != [each for each in found.why if 'keep the rows of relation "event"' in each]


def test_a_product_that_changed_is_named_and_the_others_are_not(tmp_path: Path) -> None:
    posts = "{root: user, group: g, embed: {posts: {many: post, on: {user: id}, limit: 3, "
    count = "{aggregate: user, group: g, by: [city], values: {n: count(*)}}"
    before = group(tmp_path, feed=posts + "order: [-score]}}}", cities=count)
    after = group(tmp_path, feed=posts + "order: [score]}}}", cities=count)
    ledger = ledger_of(lower(before))

    found = stand(lower(after, ledger=ledger), ledger)

    assert found.program is None
    assert (("feed",), (), ()) == (found.changed, found.added, found.removed)


FORMS = {name: text for name, (text, _) in PRODUCTS.items() if "group:" not in text}


@pytest.mark.parametrize("form", FORMS)
def test_a_product_of_each_form_keeps_its_numbers_where_another_is_removed(
    tmp_path: Path, form: str
) -> None:
    text = FORMS[form].strip()
    grouped = text.replace("{", "{group: g, ", 1)
    first = "{group: g, root: user, embed: {posts: {many: post, on: {user: id}}}}"
    try:
        products = group(tmp_path, first=first, second=grouped)
    except jn.JoineryError as error:
        pytest.skip(f"it cannot be in a group of two: {error}")
    before = lower(products)
    ledger = ledger_of(before)

    found = stand(lower(products[1:], ledger=ledger), ledger)

    assert found.program is not None
    assert () == found.changed


ROOTS = {each: "{root: " + each + ", group: g}" for each in ("user", "post", "city", "event")}


@pytest.mark.parametrize("form", FORMS)
def test_plain_products_beside_one_of_each_form_keep_their_numbers_where_another_is_removed(
    tmp_path: Path, form: str
) -> None:
    grouped = FORMS[form].strip().replace("{", "{group: g, ", 1)
    first = "{group: g, root: user, embed: {posts: {many: post, on: {user: id}}}}"
    products = group(tmp_path, **ROOTS, formed=grouped, first=first)
    ledger = ledger_of(lower(products))

    found = stand(lower(products[:-1], ledger=ledger), ledger)

    assert found.program is not None, found
    assert () == found.changed


def test_rows_of_a_log_are_still_sent_from_where_they_are_decoded(tmp_path: Path) -> None:
    events = "{root: user, group: g, embed: {events: {many: event, on: {user: id}}}}"
    products = group(tmp_path, event=ROOTS["event"], events=events)
    before = lower(products)

    after = carried(products[:1], ledger_of(before))

    assert ["inserts"] == [each.kind for each in before.nodes if each.name == "event"][-1:]
    assert "inserts" in {each.kind for each in after.nodes}
    assert carried(products[:1], ledger_of(after)).to_json() == after.to_json()


def test_a_root_keeps_what_its_readers_knew_once_they_are_removed(tmp_path: Path) -> None:
    card = "{root: event, group: g, embed: {by: {one: user, on: {id: user}}}}"
    count = "{aggregate: card, group: g, by: [type], values: {n: count(*)}}"
    products = group(tmp_path, card=card, types=count)
    before = lower(products)

    after = carried(products[:1], ledger_of(before))

    assert [(None, True)] == [(each.read, each.was_read) for each in roots(after)]
    assert [None] == [each.was_read for each in roots(before)]
    assert carried(products[:1], ledger_of(after)).to_json() == after.to_json()


def roots(program: KernelProgram) -> list[Root]:
    return [each for each in program.nodes if isinstance(each, Root)]


def test_whose_rows_come_late_does_not_matter_to_what_is_kept(tmp_path: Path) -> None:
    near = "{root: post, group: g, emit: {retention: 3d}, embed: {near: NEAR}}".replace(
        "NEAR", "{many: event, on: {user: user}, within: [0s, 30m]}"
    )
    products = group(tmp_path, users=ROOTS["user"], near=near)
    ledger = ledger_of(lower(products))

    found = stand(lower(products[1:], ledger=ledger), ledger)

    assert () == found.changed


def test_state_has_the_marks_of_the_program_before_also_where_a_kind_of_node_is_gone(
    tmp_path: Path,
) -> None:
    count = "{aggregate: user, group: g, by: [city], values: {n: count(*)}}"
    posts = "{root: user, group: g, embed: {posts: {many: post, on: {user: id}}}}"
    before = lower(group(tmp_path, feed=posts, cities=count))
    cities = group(tmp_path, cities=count)
    ledger, stored = ledger_of(before), fingerprint(before)

    noted, others = carried_fingerprint(stored, ledger, after := carried(cities, ledger))

    assert "fold" in stored.kinds.keys() - noted.kinds.keys()
    assert [] == others
    assert noted.ledger is not None
    assert {*state_marks(before)} < {*state_marks(after, noted.ledger.earlier)}


def classes() -> Iterator[type]:
    for union in (programs.DocumentNode, programs.Use):
        yield from union.__args__


@pytest.mark.parametrize("of", [*classes()])
def test_all_numbers_of_nodes_are_known_for_what_they_stand_for(of: type) -> None:
    known = REFERENCES[of]
    names = {each.name for each in dataclasses.fields(of)}

    assert set(known) <= names
    wanted = {"target", "fold", "relation", "assembler", "product", "closing", "child_relation"}
    assert names & wanted == {*known} & wanted
