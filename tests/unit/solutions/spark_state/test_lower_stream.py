"""From streams to kernel programs: what is shared, what is left behind, what comes first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.solutions.spark_state.fingerprint import fingerprint
from joinery.solutions.spark_state.lower_stream import LoweredStreams, lower_streams
from joinery.solutions.spark_state.program import KernelProgram
from joinery.solutions.spark_state.render import render_program
from joinery.solutions.spark_state.stream_program import AsOf, Claim, CurrentLookup, MapEvents

RELATIONS = """\
relations:
  orders:
    append: true
    key: [order_id]
    time: at
    fields: {order_id: long, customer_id: int, sku: string, quantity: int, at: timestamp}
  returns:
    append: true
    key: [order_id]
    fields: {order_id: long, customer_id: int, sku: string}
  customers: {key: [id], fields: {id: long, name: string, tier: string, city: string}}
  products: {key: [sku], fields: {sku: string, price: double, seller: long}}
  prices: {key: [sku], time: since, fields: {sku: string, cents: long, since: timestamp}}
streams:
"""
PERSONAL = """\
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  views:
    append: true
    key: [id]
    fields: {id: long, user: long, email: string, page: string}
    personal: {subject: user, fields: [email], join: [email]}
  people: {key: [id], fields: {id: long, name: string}, personal: {subject: id, fields: [name]}}
  accounts:
    key: [email]
    fields: {email: string, plan: string}
    personal: {subject: email, fields: [email], join: [email]}
streams:
"""
CUSTOMERS = "{lookup: customers, on: {id: customer_id}, fields: [tier]}"
PRODUCTS = "{lookup: products, on: [sku], fields: [price]}"
STORED = "{lookup: products, on: [sku], read: database, store: {sqlite: {path: app.db}}}"


def lowered(folder: Path, streams: str, relations: str = RELATIONS) -> LoweredStreams:
    file = folder / "joinery.yaml"
    file.write_text(relations + streams, encoding="utf-8")
    plan = build_plan(load_spec(file))
    chosen = [each for each in plan.streams if each.sinks]
    return lower_streams(chosen, tombstone_retention_micros=1, max_document_bytes=2)


def program(folder: Path, *steps: str, origin: str = "orders") -> KernelProgram:
    told = ", ".join(steps)
    text = f"  s: {{from: {origin}, steps: [{told}], sink: {{files: {{path: out}}}}}}\n"
    return lowered(folder, text).program


def first_lookup(made: KernelProgram) -> CurrentLookup:
    first = made.nodes[0]
    assert isinstance(first, CurrentLookup)
    return first


def test_each_lookup_is_a_level_of_its_own_in_one_chain(tmp_path: Path) -> None:
    made = program(tmp_path, CUSTOMERS, PRODUCTS)

    assert 2 == made.levels
    assert [("s/customers", 1), ("s/products", 2)] == [(n.name, n.level) for n in made.nodes]
    assert (1,) == tuple(each.target for each in first_lookup(made).onward)


def test_what_no_later_step_reads_is_left_behind(tmp_path: Path) -> None:
    made = program(
        tmp_path, "{filter: quantity > 0}", CUSTOMERS, PRODUCTS, "{select: [order_id, tier]}"
    )

    first, second = made.nodes
    assert isinstance(first, CurrentLookup)
    assert isinstance(second, CurrentLookup)
    assert ["customer_id", "order_id", "sku"] == [each.name for each in first.event.fields]
    assert ["order_id", "sku", "tier"] == [each.name for each in second.event.fields]
    assert ["order_id", "customer_id", "sku", "quantity"] == [
        each.name for each in made.relations[0].columns
    ]
    assert [] == list(made.assemblers[second.fields].type.fields)


def test_what_a_later_step_replaces_or_drops_is_not_computed(tmp_path: Path) -> None:
    more = "{with_columns: {quantity: quantity + 1}}"
    for last in (
        "{with_columns: {quantity: order_id}}",
        "{select: [order_id]}",
        f"{CUSTOMERS}, {{select: [tier]}}",
        f"{{with_columns: {{quantity: order_id}}}}, {CUSTOMERS}",
    ):
        for made in (program(tmp_path, more, last), program(tmp_path, CUSTOMERS, more, last)):
            computed = [step.sql for each in made.assemblers for step in each.steps]
            assert [] == [sql for sql in computed if "quantity" in sql]


def test_an_event_that_may_become_a_dead_letter_keeps_all_its_columns(tmp_path: Path) -> None:
    lookup = CUSTOMERS.replace("]}", "], on_miss: dead_letter}")

    made = program(tmp_path, lookup, "{select: [order_id]}")

    assert ["at", "customer_id", "order_id", "quantity", "sku"] == [
        each.name for each in first_lookup(made).event.fields
    ]


def test_a_blind_index_passes_a_lookup_that_may_make_a_dead_letter(tmp_path: Path) -> None:
    people = "{lookup: people, on: {id: user}, on_miss: dead_letter}"
    steps = f"[{people}, {{lookup: accounts, on: [email]}}]"
    text = f"  s: {{from: views, steps: {steps}, sink: {{files: {{path: out}}}}}}\n"

    made = lowered(tmp_path, text, PERSONAL).program

    first, second = made.nodes
    assert isinstance(first, CurrentLookup)
    assert isinstance(second, CurrentLookup)
    columns = ["email", "email (blind index)", "id", "page", "user"]
    assert columns == [each.name for each in first.event.fields]
    (onward,) = first.onward
    assert onward.address is not None
    (compared,) = onward.address.ordinals
    assert "email (blind index)" == second.event.fields[compared].name
    assert (1,) == first.hidden  # dead letters leave it out


def test_no_letter_tells_a_column_that_was_replaced(tmp_path: Path) -> None:
    replacing = "{lookup: customers, on: {id: customer_id}, fields: {customer_id: tier}}"
    made = program(tmp_path, replacing, PRODUCTS.replace("}", ", on_miss: dead_letter}"))

    first, second = made.nodes
    assert isinstance(first, CurrentLookup)
    assert isinstance(second, CurrentLookup)
    assert second.hidden is not None
    names = [each.name for each in second.event.fields]
    assert [each for each in names if each.startswith("__")] == [names[i] for i in second.hidden]
    assert "customer_id" in names
    assert first.hidden is None
    assert '"hidden"' in made.to_json()
    known = replace(made, nodes=(first, replace(second, hidden=None)))
    assert fingerprint(known).program == fingerprint(made).program
    assert '"hidden"' not in known.to_json()


def test_streams_that_begin_alike_share_their_first_nodes(tmp_path: Path) -> None:
    sink = "sink: {files: {path: out}}"
    made = lowered(
        tmp_path,
        f"  s: {{from: orders, group: g, steps: [{CUSTOMERS}, {PRODUCTS}], {sink}}}\n"
        f"  t: {{from: orders, group: g, steps: [{CUSTOMERS}, {{select: [tier]}}], {sink}}}\n",
    ).program

    assert ["s/customers", "s/products"] == [each.name for each in made.nodes]
    assert {(-1, 1), (1, -1)} == {(e.target, e.product) for e in first_lookup(made).onward}
    assert ["s", "t"] == [each.name for each in made.products]


def test_a_shared_lookup_makes_one_letter_of_an_event_under_the_first_stream(
    tmp_path: Path,
) -> None:
    lookup, sink = CUSTOMERS.replace("]}", "], on_miss: dead_letter}"), "sink: {files: {path: out}}"
    made = lowered(
        tmp_path,
        f"  s: {{from: orders, group: g, steps: [{lookup}, {{select: [tier]}}], {sink}}}\n"
        f"  t: {{from: orders, group: g, steps: [{lookup}, {{select: [sku]}}], {sink}}}\n",
    ).program

    (node,) = made.nodes
    assert isinstance(node, CurrentLookup)
    assert ("dead_letter", "s") == (node.miss, node.owner)


def test_united_events_meet_at_the_same_node(tmp_path: Path) -> None:
    select = "{select: [sku, customer_id, order_id]}"
    made = lowered(
        tmp_path,
        "  back: {from: returns, steps: [{select: [sku, customer_id, order_id]}]}\n"
        f"  s: {{from: orders, steps: [{select}, {{union: back}}, {CUSTOMERS}],"
        " sink: {files: {path: out}}}\n",
    ).program

    assert 1 == len(made.nodes)
    assert [0, 0] == [onward.target for entry in made.entries for onward in entry.onward]


def test_the_join_value_is_compared_as_the_wider_type(tmp_path: Path) -> None:
    made = program(tmp_path, CUSTOMERS)

    address = made.entries[0].onward[0].address
    assert address is not None
    assert ["long"] == [str(each) for each in address.types]
    assert made.routes[0].address.types == address.types


def test_a_replaced_column_hides_the_event_s_own(tmp_path: Path) -> None:
    lookup = "{lookup: customers, on: {id: customer_id}, fields: {sku: name}}"

    made = program(tmp_path, lookup, "{select: [order_id, sku]}")

    last = made.assemblers[first_lookup(made).onward[0].assembler]
    assert ["customer_id", "order_id"] == [each.name for each in last.own]
    assert (1, 2) == last.output


def test_a_store_is_asked_after_all_levels(tmp_path: Path) -> None:
    sink = "sink: {files: {path: out}}"
    made = lowered(
        tmp_path,
        f"  s: {{from: orders, group: g, steps: [{STORED}], {sink}}}\n"
        f"  t: {{from: orders, group: g, steps: [{CUSTOMERS}, {{filter: tier = 'a'}}], {sink}}}\n",
    )

    levels = {each.name: each.level for each in made.program.nodes}
    assert {"s/products": 2, "t/customers": 1} == levels
    assert 1 == made.program.levels
    assert [0] == list(made.asked)


def test_a_function_stands_between_the_levels_and_sees_every_column(tmp_path: Path) -> None:
    function = "{map: {function: 'shop:tidy', output: {order_id: long, customer_id: int}}}"

    made = program(tmp_path, function, CUSTOMERS)

    tidy, lookup = made.nodes
    assert isinstance(tidy, MapEvents)
    assert (1, 2) == (tidy.level, lookup.level)
    assert 5 == len(tidy.event.fields)


def test_a_lookup_as_of_the_event_keeps_versions(tmp_path: Path) -> None:
    made = program(tmp_path, "{lookup: prices, on: [sku], as_of: event, fields: [cents]}")

    node, claim = made.nodes
    assert isinstance(node, AsOf)
    assert isinstance(claim, Claim)
    assert (claim.event_time, claim.buckets) == (node.event_time, node.buckets)
    assert "at" == node.event.fields[node.event_time].name
    assert "since" == made.relations[node.relation].columns[node.valid_from].name


def test_events_that_are_remembered_and_may_be_told_again_are_followed(tmp_path: Path) -> None:
    waits = CUSTOMERS.replace("]}", '], on_miss: "wait:5m"}')
    again = PRODUCTS.replace("]}", "], on_change: correct, for: 1h, every: 10m}")

    made = program(tmp_path, waits, again)

    kinds = ["current_lookup", "current_lookup", "claim", "claim"]
    assert kinds == [each.kind for each in made.nodes]
    assert [2, 4, 3, 1] == [each.level for each in made.nodes]
    kept = {each.target: each.keep_micros for each in made.nodes if isinstance(each, Claim)}
    assert {0: 300_000_000, 1: 70 * 60_000_000} == kept


def test_events_told_by_their_places_are_told_once_and_not_followed(tmp_path: Path) -> None:
    waits = CUSTOMERS.replace("]}", '], on_miss: "wait:5m"}')
    text = RELATIONS.replace("    key: [order_id]\n    time", "    time")
    file = tmp_path / "joinery.yaml"
    sink = "sink: {files: {path: out}}"
    told = f"  s: {{from: orders, steps: [{waits}], {sink}}}\n"
    file.write_text(text + told, encoding="utf-8")

    streams = build_plan(load_spec(file)).streams
    made = lower_streams(streams, tombstone_retention_micros=1, max_document_bytes=2).program

    assert ["current_lookup"] == [each.kind for each in made.nodes]


def test_a_program_reads_as_text(tmp_path: Path) -> None:
    lookup = CUSTOMERS.replace("]}", '], on_miss: "wait:5m"}')

    assert (
        "changes\n"
        "  customers -> CurrentLookup s/customers by id\n"
        "events\n"
        "  orders to Claim s/customers/claim\n"
        "level 1\n"
        "  Claim s/customers/claim\n"
        "    remembers where each event is kept, as it may come again\n"
        "    events -> CurrentLookup s/customers by customer_id as long\n"
        "level 2\n"
        "  CurrentLookup s/customers by id\n"
        "    keeps id, tier\n"
        "    remembers events that wait up to 300000 ms\n"
        "    events -> sinks\n"
    ) == render_program(program(tmp_path, lookup))


def test_a_program_without_streams_reads_as_before() -> None:
    empty = KernelProgram(0, (), (), (), (), (), 0, 0)

    assert "entries" not in json.loads(empty.to_json())
