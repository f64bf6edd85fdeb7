"""Which keys had the most messages, in words; and of which keys nothing is shown."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.solutions.spark_state.busy_keys import BusyKeys
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.lower_stream import lower_streams
from joinery.solutions.spark_state.node_key import NodeKey, node_keys
from joinery.solutions.spark_state.program import KernelProgram
from joinery.solutions.spark_state.words import node_title
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  customer: {key: [id], fields: {id: long, name: string, city_id: long}}
  city: {key: [id], fields: {id: long, name: string}}
  purchase:
    key: [shop, no]
    fields: {shop: string, no: int, customer: string, n: long, at: timestamp}
    time: at
products:
  profile:
    root: customer
    group: all
    embed:
      home: {one: city, on: {id: city_id}, fields: [name]}
      purchases: {many: purchase, on: {customer: name}, fields: [n]}
    sink: {files: {path: out}}
  customers: {root: customer, fields: [id], group: all, sink: {files: {path: out}}}
  hourly:
    aggregate: purchase
    group: all
    by: [customer]
    window: {tumbling: 1h}
    values: {n: sum(n)}
    sink: {files: {path: out}}
  every:
    aggregate: purchase
    group: all
    by: []
    values: {n: sum(n)}
    sink: {files: {path: out}}
"""
PERSONAL = """
vault: {sqlite: {path: keys/vault.db}, master: "abcdabcdabcdabcdabcdabcdabcdabcdabcdabcd"}
relations:
  customer:
    key: [id]
    fields: {id: long, email: string, name: string}
    personal: {subject: id, fields: [email], join: [email]}
  subscription:
    key: [id]
    fields: {id: long, email: string, topic: string}
    personal: {subject: id, fields: [email], join: [email]}
products:
  profile:
    root: customer
    embed: {topics: {many: subscription, on: [email], fields: [topic]}}
    sink: {files: {path: out}}
"""
STREAM = """
relations:
  orders: {append: true, key: [id], fields: {id: long, customer_id: long}}
  customer: {key: [id], fields: {id: long, name: string}}
streams:
  named:
    from: orders
    steps: [{lookup: customer, on: {id: customer_id}, fields: [name]}]
    sink: {files: {path: out}}
"""
ADA = "016164610000"
HASH = "01020304"


@pytest.fixture(scope="module")
def program() -> KernelProgram:
    return lower(build_plan(load_text(PROJECT)).products)


def place(program: KernelProgram, title: str) -> int:
    return next(i for i, each in enumerate(program.nodes) if node_title(each) == title)


def named(program: KernelProgram) -> dict[str, NodeKey | None]:
    return dict(zip(map(node_title, program.nodes), node_keys(program), strict=True))


def address(node: int, key: str) -> str:
    return f"{HASH}{node + 1:02x}{key}"


def test_nodes_are_keyed_by_what_is_sent_to_them(program: KernelProgram) -> None:
    found = {title: None if key is None else key.by for title, key in named(program).items()}

    assert {
        "Retract customer": "id",
        "Retract purchase": "shop, no",
        "ToOne profile/home": "id",
        "Match profile/purchases": "customer",
        "Fold profile": "id",
        "Fold customers": "id",
        "Group hourly": "customer, window_start",
        "Group every": None,
    } == found


def test_the_keys_with_the_most_messages_are_told_as_a_user_writes_them(
    program: KernelProgram,
) -> None:
    match, rows = place(program, "Match profile/purchases"), place(program, "Retract purchase")

    found = BusyKeys(program).of(
        {str(match): {"nanos": 5, "messages": 900}, str(rows): {"messages": 70}},
        {
            str(match): {address(match, ADA): 600},
            str(rows): {address(rows, f"{ADA}018000000000000007"): 9},
        },
        {str(match): {"messages": 3}},
    )

    assert [
        ("Match profile/purchases", "customer", ("profile",), 900, 3),
        ("Retract purchase", "shop, no", ("profile", "hourly", "every"), 70, 0),
    ] == [(each.node, each.by, each.products, each.messages, each.left_out) for each in found]
    assert [[("ada", 600)], [('["ada",7]', 9)]] == [
        [(key.text, key.messages) for key in each.keys] for each in found
    ]


def test_of_many_keys_the_first_few_are_kept_and_the_next_is_told(program: KernelProgram) -> None:
    home = place(program, "ToOne profile/home")
    keys = {address(home, f"01{2**63 + i:016x}"): 100 + i for i in range(20)}

    [found] = BusyKeys(program).of(
        {str(home): {"messages": 9000}},
        {str(home): keys},
        {str(home): {"messages": 50}},
    )

    assert [str(i) for i in range(19, 3, -1)] == [each.text for each in found.keys]
    assert 103 == found.left_out


def test_what_a_terminal_would_not_show_as_it_is_is_escaped(program: KernelProgram) -> None:
    key = named(program)["Match profile/purchases"]

    assert key is not None
    assert r"a\x1b[31m\nb" == key.text(b"\x01a\x1b[31m\nb\0\0", cut=False)
    assert f"{'a' * 80}…" == key.text(b"\x01" + b"a" * 90 + b"\0\0", cut=False)
    assert f"{'a' * 80}…" == key.text(b"\x01" + b"a" * 195, cut=True)
    assert "ab…" == key.text(b"\x01ab", cut=True)


def test_what_points_at_nothing_is_no_key(program: KernelProgram) -> None:
    key = named(program)["Match profile/purchases"]

    assert key is not None
    assert key.text(b"\0" + bytes.fromhex("018000000000000007"), cut=False) is None
    assert key.text(b"\0", cut=False) is None
    assert key.text(b"nonsense", cut=False) is None


def test_a_personal_key_is_never_shown() -> None:
    program = lower(build_plan(load_text(PERSONAL)).products)
    match = place(program, "Match profile/topics")

    [found] = BusyKeys(program).of(
        {str(match): {"messages": 900}},
        {str(match): {address(match, ADA): 600}},
        {},
    )

    assert "email (blind index)" == found.by
    assert [("(personal)", 600)] == [(key.text, key.messages) for key in found.keys]


def test_of_nodes_whose_keys_nobody_could_read_nothing_is_told(program: KernelProgram) -> None:
    group = place(program, "Group every")

    assert () == BusyKeys(program).of(
        {str(group): {"messages": 900}}, {str(group): {address(group, ""): 900}}, {}
    )


def test_of_streams_nothing_is_told() -> None:
    streams = build_plan(load_text(STREAM)).streams
    program = lower_streams(streams, tombstone_retention_micros=1, max_document_bytes=2).program

    assert () == BusyKeys(program).of({"0": {"messages": 900}}, {"0": {address(0, ADA): 900}}, {})
