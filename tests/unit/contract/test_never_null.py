"""What can be null is told as such: all but what the declaration rules out."""

from __future__ import annotations

from tests.unit.contract.declared import contract, nullable, stream_contract, value

from joinery.contract.contract import Items, Object

SINK = "sink: {files: {path: out}}"
PERSONAL = """\
vault: {sqlite: {path: vault.db}, master: "0000000000000000000000000000000000000000000="}
relations:
  user: {key: [id], fields: {id: long, email: string}, personal: {subject: id, fields: [email]}}
"""
LOG = """\
relations:
  sale:
    append: true
    key: [id]
    fields: {id: long, sku: string, amount: long, at: timestamp}
    time: at
  item: {key: [sku], fields: {sku: string, title: string}}
"""


def test_a_key_is_never_null_and_other_columns_may_be() -> None:
    found = contract(f"{{root: user, fields: [id, name], {SINK}}}")

    assert {"id": False, "name": True} == nullable(found)
    assert [("id", False)] == [(each.name, each.value.nullable) for each in found.key.members]


def test_what_a_where_asks_for_is_there() -> None:
    found = contract(
        f"{{root: user, fields: [id, name, size], where: name is not null and size > 1, {SINK}}}"
    )

    assert {"id": False, "name": False, "size": True} == nullable(found)


def test_what_the_where_of_a_relation_asks_for_is_there() -> None:
    relations = "relations: {a: {key: [id], fields: {id: long, b: int}, where: b is not null}}\n"

    assert {"id": False, "b": False} == nullable(contract(f"{{root: a, {SINK}}}", relations))


def test_a_condition_that_may_be_met_otherwise_rules_nothing_out() -> None:
    found = contract(f"{{root: user, fields: [name], where: name is not null or size = 1, {SINK}}}")

    assert {"name": True} == nullable(found)


def test_an_object_of_one_may_be_null_and_a_list_may_not() -> None:
    found = contract(
        f"{{root: order, fields: [id], {SINK}, embed: {{"
        "user: {one: user, on: {id: user_id}, fields: [id]},"
        " others: {many: user, on: {id: user_id}, fields: [id, name], limit: 2}}}"
    )

    assert {"id": False, "user": True, "others": False, "others_total": False} == nullable(found)
    shape = value(found, "others").shape
    assert isinstance(shape, Items)
    assert not shape.of.nullable
    assert isinstance(shape.of.shape, Object)
    assert [False, True] == [each.value.nullable for each in shape.of.shape.members]


def test_an_object_that_a_where_needs_is_there() -> None:
    found = contract(
        f"{{root: order, fields: [id, {{who: u.name}}], where: u.name is not null, {SINK},"
        " embed: {u: {one: user, on: {id: user_id}, fields: [name]}}}"
    )

    assert {"id": False, "who": True, "u": False} == nullable(found)


def test_a_hidden_list_says_nothing_of_a_field_of_its_name() -> None:
    found = contract(
        f"{{root: user, fields: [id], values: {{n: count(o), last: max(o.at)}}, {SINK},"
        " embed: {o: {many: order, on: {user_id: id}, fields: [at], hidden: true}}}"
    )

    assert {"id": False, "n": False, "last": True} == nullable(found)


def test_a_default_makes_a_field_that_is_there() -> None:
    fields = "[id, {called: \"coalesce(name, 'nobody')\"}, {loud: upper(name)}]"
    found = contract(f"{{root: user, fields: {fields}, {SINK}}}")

    assert {"id": False, "called": False, "loud": True} == nullable(found)


def test_a_default_does_not_help_behind_what_may_fail() -> None:
    fields = "[{mean: 'coalesce(price / size, 0)'}, {number: 'coalesce(cast(name as int), 0)'}]"
    found = contract(f"{{root: user, fields: {fields}, {SINK}}}")

    assert {"mean": True, "number": True} == nullable(found)


def test_a_personal_column_may_be_null_whatever_it_is() -> None:
    hidden = contract(f"{{root: user, {SINK}}}", PERSONAL)
    shown = contract("{root: user, sink: {sqlite: {path: a.db, reveal: true}}}", PERSONAL)

    assert [("withheld", True), ("revealed", True)] == [
        (each.personal, each.nullable) for each in (value(e, "email") for e in (hidden, shown))
    ]


def test_bounds_and_counts_of_a_group_are_there() -> None:
    found = contract(
        "{aggregate: sale, by: [sku], window: {tumbling: 1h}, emit: {when: closed},"
        f" values: {{n: count(*), most: max(amount), both: n + 1}}, {SINK}}}",
        LOG,
    )

    assert {
        "sku": True,
        "window_start": False,
        "window_end": False,
        "n": False,
        "most": True,
        "both": True,
        "final": False,
    } == nullable(found)
    assert [True, False] == [each.value.nullable for each in found.key.members]


def test_a_version_has_its_key_and_may_have_no_end() -> None:
    relations = (
        "relations: {a: {key: [id], time: since, fields: {id: long, b: int, since: timestamp}}}\n"
    )
    found = contract(f"{{history: a, valid: since, {SINK}}}", relations)

    assert {
        "id": False,
        "valid_from": False,
        "b": True,
        "valid_to": True,
        "is_current": False,
    } == nullable(found)


def test_steps_of_a_stream_keep_replace_and_add_columns() -> None:
    steps = (
        "{filter: sku is not null}, {lookup: item, on: [sku], fields: [title]}",
        "{with_columns: {id: id * 2, one: '1'}}",
    )
    found = stream_contract(f"{{from: sale, steps: [{', '.join(steps)}], {SINK}}}", LOG)

    assert {"id": True, "sku": False, "amount": True, "at": True, "title": True, "one": False} == (
        nullable(found)
    )
    assert [False] == [each.value.nullable for each in found.key.members]
