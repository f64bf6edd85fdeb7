"""From streams' specs to plans: what is resolved, and every problem at the exact word."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from joinery.model.type import STRING, DataType
from joinery.plan.build import examine
from joinery.plan.check import check
from joinery.plan.product import Plan
from joinery.plan.step import Filter, Lookup, Select, Union, WithColumns
from joinery.plan.stream import Stream, outputs_of
from joinery.project.load import load_spec

RELATIONS = """\
relations:
  orders:
    append: true
    key: [order_id]
    time: at
    fields:
      {order_id: long, customer_id: int, sku: string, name: string, quantity: int, at: timestamp}
  clicks: {append: true, fields: {page: string}}
  returns: {append: true, key: [id], time: at, fields: {id: long, sku: string, at: timestamp}}
  customers: {key: [id], fields: {id: long, name: string, tier: string, address: array<string>}}
  products: {key: [sku], fields: {sku: string, price: double, seller: long}}
  prices:
    key: [sku]
    time: since
    watermark: {delay: 1m, idle: 30s}
    fields: {sku: string, price: double, since: timestamp}
streams:
"""
CUSTOMERS = "lookup: customers, on: {id: customer_id}, fields: [tier]"
ROLLING = "{rolling: {by: [sku], over: 1m, values: {n: count(*)}}}"
CUSTOMERS_LOOKUP = f"{{{CUSTOMERS}}}"
RETURNS = "{join: returns, on: [sku], within: [0s, 1d], fields: {returned: at}}"
STORE = "read: database, store: {sqlite: {path: app.db}}"
PRODUCTS = "lookup: products, on: [sku]"


def planned(folder: Path, streams: str) -> tuple[Plan | None, list[str]]:
    """Build the plan, and return it with the problems as `code message`."""
    file = folder / "joinery.yaml"
    file.write_text(RELATIONS + streams, encoding="utf-8")
    plan, problems, _ = examine(load_spec(file))
    return plan, [str(each) for each in problems]


def stream(folder: Path, steps: str) -> Stream:
    plan, problems = planned(folder, f"  s: {{from: orders, steps: [{steps}]}}\n")
    assert not problems
    assert plan
    return plan.streams[-1]


def test_a_stream_without_a_sink_that_others_continue_does_not_run_by_itself(
    tmp_path: Path,
) -> None:
    plan, problems = planned(
        tmp_path,
        """\
  large: {from: orders, steps: [{filter: quantity > 9}]}
  none: {from: orders, steps: [{filter: quantity = 0}]}
  dear: {from: large, steps: [{union: none}], sink: {files: {path: out}}}
  lost: {from: orders}
""",
    )

    assert not problems
    assert plan
    assert ["large", "none", "dear", "lost"] == [each.name for each in plan.streams]
    assert ["dear", "lost"] == [each.name for each in outputs_of(plan)]


def problems(folder: Path, steps: str) -> list[str]:
    return planned(folder, f"  s: {{from: orders, steps: [{steps}]}}\n")[1]


def named(made: Stream) -> list[str]:
    return [each.name for each in made.columns]


def test_each_step_sees_the_columns_of_the_step_before(tmp_path: Path) -> None:
    made = stream(
        tmp_path,
        "{select: [order_id, customer_id]}, {with_columns: {twice: customer_id * 2}},"
        " {filter: twice > 4}",
    )

    assert (Select, WithColumns, Filter) == tuple(type(each) for each in made.steps)
    assert ["order_id", "customer_id", "twice"] == named(made)


def test_a_lookup_adds_all_columns_but_those_it_joins_on(tmp_path: Path) -> None:
    made = stream(tmp_path, "{select: [sku]}, {lookup: products, on: [sku]}")

    assert ["sku", "price", "seller"] == named(made)


def test_a_lookup_is_compared_as_the_wider_type(tmp_path: Path) -> None:
    (step,) = stream(tmp_path, f"{{{CUSTOMERS}}}").lookups

    assert [("id", "customer_id", "long")] == [(e.child, e.parent, str(e.type)) for e in step.on]


def test_a_lookup_as_of_the_event_takes_times_and_watermark_of_the_relations(
    tmp_path: Path,
) -> None:
    step = stream(tmp_path, "{lookup: prices, on: [sku], fields: [price], as_of: event}").steps[0]

    assert isinstance(step, Lookup)
    assert ("at", "since", 60_000, 30_000, "hold") == (
        step.event_time,
        step.valid_from,
        step.max_delay_ms,
        step.idle_ms,
        step.late,
    )


def test_a_stream_without_a_key_is_identified_by_its_place_in_the_log(tmp_path: Path) -> None:
    plan, _ = planned(tmp_path, "  s: {from: clicks}\n")

    assert plan
    assert "struct<place: string>" == str(plan.streams[0].key)


def test_a_stream_goes_on_from_another(tmp_path: Path) -> None:
    text = """\
  big: {from: rich, steps: [{filter: quantity > 9}]}
  rich: {from: orders, steps: [{lookup: products, on: [sku]}]}
"""
    plan, found = planned(tmp_path, text)

    assert (plan is not None, []) == (True, found)
    assert plan
    assert [Lookup, Filter] == [type(each) for each in plan.streams[0].steps]


def test_two_streams_of_one_shape_are_united(tmp_path: Path) -> None:
    text = """\
  a: {from: orders, steps: [{filter: quantity > 9}]}
  b: {from: orders, steps: [{filter: quantity < 3}, {union: a}]}
"""
    plan, _ = planned(tmp_path, text)

    assert plan
    step = plan.streams[1].steps[1]
    assert isinstance(step, Union)
    assert "a" == step.other.name


def test_the_correction_mark_is_the_last_column_of_the_output(tmp_path: Path) -> None:
    plan, _ = planned(tmp_path, "  s: {from: clicks, correction: corrected}\n")

    assert plan
    assert "struct<page: string, corrected: boolean>" == str(plan.streams[0].output)


def test_a_lookup_in_state_goes_before_one_in_a_store(tmp_path: Path) -> None:
    made = stream(
        tmp_path,
        f"{{{CUSTOMERS}, {STORE}}}, {{filter: quantity > 0}},"
        f" {{select: [order_id, sku, tier]}}, {{{PRODUCTS}, fields: [price]}}",
    )

    assert ["products", "customers"] == [each.table.name for each in made.lookups]
    assert ["order_id", "sku", "tier", "price"] == named(made)
    select = made.steps[-1]
    assert isinstance(select, Select)
    assert "`price`" == select.fields[-1].expression.sql
    assert made.notes[0].startswith("lookup products goes before lookup customers")


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            f"{{{PRODUCTS}, {STORE}}}, {{lookup: customers, on: {{id: seller}}, fields: [tier]}}",
            'It needs the column "seller", which the lookup of "products" before it gives.',
        ),
        (
            f"{{{CUSTOMERS}, {STORE}}}, {{with_columns: {{sku: upper(sku)}}}}, {{{PRODUCTS}}}",
            'It needs the column "sku", which the step before it gives.',
        ),
        (
            f"{{{CUSTOMERS}, {STORE}}}, {{map: {{function: 'm:f', output: {{sku: string}}}}}},"
            f" {{{PRODUCTS}}}",
            'The function "m:f" is between them and may use any column.',
        ),
        (
            f"{{{CUSTOMERS}, {STORE}}}, {{select: [sku]}},"
            f" {{{PRODUCTS}, fields: {{name: seller}}}}",
            'It replaces the column "name", which the steps before it may use.',
        ),
        (
            f"{{{CUSTOMERS}, {STORE}}}, {{{PRODUCTS}, on_miss: 'wait:1m'}}",
            "An event that it sends later, or again, would query the store again.",
        ),
        (
            f"{{{CUSTOMERS}, {STORE}}}, {{filter: quantity > 0}},"
            f" {{{PRODUCTS}, on_miss: dead_letter}}",
            "A filter between them decides which events may become dead letters.",
        ),
    ],
)
def test_a_lookup_in_state_that_depends_on_a_store_is_refused_with_the_reason(
    tmp_path: Path, steps: str, reason: str
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(RELATIONS + f"  s: {{from: orders, steps: [{steps}]}}\n", encoding="utf-8")

    refused = [each for each in check(file) if each.severity == "error"]

    assert [("PLAN_STREAM", reason)] == [(each.code, each.detail) for each in refused]


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (
            "{lookup: custmers, on: {id: customer_id}}",
            'PLAN_UNKNOWN_RELATION there is no relation "custmers"',
        ),
        (
            "{lookup: clicks, on: {page: sku}}",
            'PLAN_LOOKUP a lookup needs a table, and "clicks" is a log of events',
        ),
        (
            "{lookup: customers, on: {id: custmer_id}}",
            'PLAN_UNKNOWN_COLUMN the events of "s" have no column "custmer_id" here',
        ),
        (
            "{lookup: customers, on: {idd: customer_id}}",
            'PLAN_UNKNOWN_FIELD relation "customers" has no field "idd"',
        ),
        (
            "{lookup: customers, on: {id: customer_id}, fields: [tear]}",
            'PLAN_UNKNOWN_FIELD relation "customers" has no field "tear"',
        ),
        (
            "{lookup: customers, on: {customer_id: id}}",
            'PLAN_ON_SWAPPED the sides of "on" of the lookup of "customers" look swapped',
        ),
        (
            "{lookup: customers, on: {id: sku}}",
            'PLAN_TYPE_MISMATCH "id" of "customers" (long) cannot equal "sku" of the event'
            " (string)",
        ),
        (
            "{lookup: customers, on: {name: name}}",
            'PLAN_LOOKUP the lookup of "customers" compares name, and its key is id',
        ),
        (
            f"{{{CUSTOMERS}, as_of: event}}",
            'PLAN_LOOKUP "customers" has no history to look up as of the event\'s time',
        ),
        (
            "{lookup: prices, on: [sku], fields: [price], as_of: event, time: quantity}",
            'PLAN_TYPE_MISMATCH "quantity" of the event needs a timestamp, and is int',
        ),
        (
            "{select: [sku]}, {lookup: prices, on: [sku], as_of: event}",
            'PLAN_UNKNOWN_COLUMN the events of "s" have no column "at" here',
        ),
        (
            f"{{{CUSTOMERS}, read: database}}",
            'PLAN_LOOKUP the lookup of "customers" reads a database and names no "store"',
        ),
        (
            f"{{{CUSTOMERS}, {STORE}, on_change: re_emit, for: 1d}}",
            'PLAN_LOOKUP the lookup of "customers" cannot have "on_change: re_emit" here',
        ),
        (
            f"{{{CUSTOMERS}, {STORE}, on_miss: 'wait:1m'}}",
            'PLAN_LOOKUP the lookup of "customers" cannot have "on_miss: wait" here',
        ),
        (
            "{lookup: prices, on: [sku], fields: [price], as_of: event, on_miss: 'wait:1m'}",
            'PLAN_LOOKUP the lookup of "prices" cannot have "on_miss: wait" here',
        ),
        (
            "{lookup: prices, on: [sku], fields: [price], as_of: event, late: correct,"
            " on_miss: drop}",
            'PLAN_LOOKUP the lookup of "prices" cannot have "on_miss: drop" here',
        ),
        (
            f"{{{CUSTOMERS}, read: event}}",
            'PLAN_UNKNOWN_COLUMN the events of "s" have no column "tier" here',
        ),
        (
            "{lookup: customers, on: {id: customer_id}, fields: {quantity: tier}, read: event}",
            'PLAN_TYPE_MISMATCH "quantity" is int in the event',
        ),
        (
            f"{{{PRODUCTS}, on_change: re_emit, for: 1d}},"
            " {lookup: customers, on: {id: seller}, fields: [tier], on_change: re_emit, for: 1d}",
            'PLAN_LOOKUP the lookup of "customers" remembers events by "seller"',
        ),
        (
            "{filter: quantity}",
            'PLAN_TYPE_MISMATCH "filter" needs a boolean, and "quantity" is int',
        ),
        ("{filter: quantty > 0}", 'PLAN_UNKNOWN_COLUMN there is no column "quantty" here'),
        ("{select: [sku, sku]}", 'PLAN_DUPLICATE_OUTPUT column "sku" appears twice'),
        ("{union: other}", 'PLAN_UNKNOWN_STREAM there is no stream "other"'),
        (
            "{rolling: {by: [skew], over: 1m, values: {n: count(*)}}}",
            'PLAN_UNKNOWN_COLUMN the event has no column "skew"',
        ),
        (
            "{rolling: {by: [sku], over: 1m, values: {n: count(*) + total}}}",
            'PLAN_UNKNOWN_COLUMN there is no column "total" here',
        ),
        (
            f"{{select: [sku]}}, {ROLLING}",
            'PLAN_STREAM the event no longer has its time "at"',
        ),
        (
            f"{{with_columns: {{at: 'coalesce(at, at)'}}}}, {ROLLING}",
            'PLAN_STREAM a step before "rolling" replaces the time "at"',
        ),
        (
            f"{{{PRODUCTS}, on_change: re_emit, for: 1d}},"
            " {rolling: {by: [seller], over: 1m, values: {n: count(*)}}}",
            'PLAN_STREAM the rolling columns remember events by "seller"',
        ),
        ("{filter: seen(sku)}", 'PLAN_STREAM "seen" takes a column and a duration'),
        (
            "{filter: \"seen(sku, for => 'soon')\"}",
            'PLAN_STREAM "soon" is not a duration above zero',
        ),
        (
            "{filter: \"seen(skew, for => '1d') or quantity > 0\"}",
            'PLAN_UNKNOWN_COLUMN the event has no column "skew"',
        ),
        (
            f"{ROLLING}, {{filter: \"not seen(sku, for => '1d')\"}}",
            'PLAN_STREAM "seen" cannot follow a step that remembers events',
        ),
        (
            f"{{{CUSTOMERS}, {STORE}}}, {ROLLING}",
            'PLAN_STREAM the step rolling comes after the lookup of "customers" in a store',
        ),
        (
            "{join: customers, on: {id: customer_id}, within: [0s, 1d]}",
            'PLAN_STREAM a join needs a log of events, and "customers" is a table',
        ),
        (
            "{join: clicks, on: {page: sku}, within: [0s, 1d]}",
            'PLAN_STREAM "join" needs a time, and relation "clicks" has none',
        ),
        (
            "{join: retuns, on: [sku], within: [0s, 1d]}",
            'PLAN_UNKNOWN_RELATION there is no relation "retuns"',
        ),
        (
            "{join: returns, on: {skew: sku}, within: [0s, 1d]}",
            'PLAN_UNKNOWN_FIELD relation "returns" has no field "skew"',
        ),
        (
            "{join: returns, on: {sku: skew}, within: [0s, 1d]}",
            'PLAN_UNKNOWN_COLUMN the events of "s" have no column "skew" here',
        ),
        (
            "{join: returns, on: {sku: quantity}, within: [0s, 1d]}",
            'PLAN_TYPE_MISMATCH "sku" of "returns" (string) cannot equal "quantity" of the event'
            " (int)",
        ),
        (
            f"{RETURNS}, {CUSTOMERS_LOOKUP}",
            'PLAN_STREAM a step of stream "s" follows a join, and works with events of one log',
        ),
        (
            f"{ROLLING}, {RETURNS}",
            'PLAN_STREAM the join with "returns" cannot follow a step that remembers events',
        ),
        (
            f"{{select: [sku]}}, {RETURNS}",
            'PLAN_STREAM the event no longer has its time "at"',
        ),
    ],
)
def test_what_cannot_hold_is_told(tmp_path: Path, steps: str, problem: str) -> None:
    assert [problem] == problems(tmp_path, steps)


@pytest.mark.parametrize(
    ("streams", "problem"),
    [
        (
            "  s: {from: customers}",
            'PLAN_STREAM stream "s" begins at "customers", which is a table',
        ),
        ("  s: {from: ordres}", 'PLAN_UNKNOWN_RELATION there is no relation "ordres"'),
        ("  orders: {from: orders}", 'PLAN_STREAM stream "orders" has the name of a relation'),
        (
            "  a: {from: b}\n  b: {from: a}",
            'PLAN_STREAM stream "b" reads itself',
        ),
        (
            "  a: {from: clicks}\n  b: {from: orders, steps: [{union: a}]}",
            'PLAN_STREAM stream "b" cannot be united with "a"',
        ),
        (
            "  s: {from: clicks, correction: page}",
            'PLAN_DUPLICATE_OUTPUT "correction" of stream "s" names a column that already exists',
        ),
        (
            "  s: {from: clicks}\nproducts: {s: {root: customers}}",
            'PLAN_GROUP stream "s" would share the query "s" with a product',
        ),
        (
            "  s: {from: clicks}\nproducts: {p: {root: clicks}}",
            'PLAN_KEY product "p" reads "clicks", which has no key',
        ),
        (
            "  s: {from: clicks, sink: nowhere}",
            'PLAN_UNKNOWN_SINK there is no sink "nowhere"',
        ),
        (
            f"  s: {{from: clicks, steps: [{ROLLING.replace('sku', 'page')}]}}",
            'PLAN_STREAM "rolling" needs a time, and relation "clicks" has none',
        ),
    ],
)
def test_a_stream_that_cannot_run_is_told(tmp_path: Path, streams: str, problem: str) -> None:
    assert [problem] == planned(tmp_path, streams + "\n")[1]


def test_all_problems_of_a_stream_are_told_at_once(tmp_path: Path) -> None:
    steps = (
        "{lookup: custmers, on: {id: customer_id}, fields: [tier]}, {filter: tier = 'a'},"
        " {filter: quantty > 0}, {union: other}, {select: [skuu, tier]}"
    )

    assert [
        'PLAN_UNKNOWN_RELATION there is no relation "custmers"',
        'PLAN_UNKNOWN_COLUMN there is no column "quantty" here',
        'PLAN_UNKNOWN_STREAM there is no stream "other"',
        'PLAN_UNKNOWN_COLUMN there is no column "skuu" here',
    ] == problems(tmp_path, steps)


def test_the_nearest_name_and_the_place_are_told(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    text = "  s:\n    from: orders\n    steps:\n      - filter: quantty > 0\n"
    file.write_text(RELATIONS + text, encoding="utf-8")

    (row,) = check(file)

    assert (21, 17, 'Use "quantity".') == (row.line, row.column, row.hint)


@pytest.mark.parametrize(
    "step",
    [
        "{lookup: customers, on: {id: customer_id}, fields: [name]}",
        "{rolling: {by: [sku], over: 1m, values: {quantity: sum(quantity)}}}",
    ],
)
def test_a_field_that_replaces_a_column_is_a_warning(tmp_path: Path, step: str) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(f"{RELATIONS}  s: {{from: orders, steps: [{step}]}}", encoding="utf-8")

    (row,) = check(file)

    assert ("PLAN_DUPLICATE_OUTPUT", "warning") == (row.code, row.severity)


def test_fields_that_the_event_has_already_change_nothing(tmp_path: Path) -> None:
    steps = "{lookup: customers, on: {id: customer_id}, fields: [name], read: event}"

    made = stream(tmp_path, steps)

    assert ["order_id", "customer_id", "sku", "name", "quantity", "at"] == named(made)


def test_a_broken_stream_does_not_hide_the_problems_of_another(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    text = """\
  a: {from: orders, steps: [{fliter: a}]}
  b: {from: orders, steps: [{filter: nope > 1}]}
  c: {from: a, steps: [{filter: nope > 1}]}
"""
    file.write_text(RELATIONS + text, encoding="utf-8")

    assert ["SPEC_UNKNOWN_KEY", "PLAN_UNKNOWN_COLUMN"] == [each.code for each in check(file)]


@pytest.mark.parametrize(
    ("streams", "told", "wrong"),
    [
        (f"  s: {{from: orders, steps: [{RETURNS}]}}\n", "[id], time: at", "[id], time: on"),
        (
            "  r: {from: returns, steps: [select: [sku]]}\n"
            "  s: {from: orders, steps: [select: [sku], union: r]}\n",
            "[id], time: at",
            "[no], time: at",
        ),
    ],
    ids=("the time of a joined log", "the key of a united log"),
)
def test_what_is_wrong_with_a_log_is_not_told_of_what_reads_it(
    streams: str, told: str, wrong: str, tmp_path: Path
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(RELATIONS.replace(told, wrong) + streams, encoding="utf-8")

    assert ["PLAN_UNKNOWN_FIELD"] == [each.code for each in check(file)]


class SaysString:
    """An analyser that knows every function, and types it as a string."""

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        """Return the type of any expression."""
        return STRING


@pytest.mark.parametrize(
    ("read", "told"),
    [("read: state", ("PLAN_NOT_PORTABLE",)), (STORE, ("PLAN_NOT_PORTABLE", "PLAN_NOT_PORTABLE"))],
)
def test_a_store_s_answer_is_computed_by_portable_expressions_alone(
    tmp_path: Path, read: str, told: tuple[str, ...]
) -> None:
    file = tmp_path / "joinery.yaml"
    step = f"{{lookup: customers, on: {{id: customer_id}}, fields: {{h: 'md5(name)'}}, {read}}}"
    file.write_text(RELATIONS + f"  s: {{from: orders, steps: [{step}]}}\n", encoding="utf-8")

    plan, problems, warnings = examine(load_spec(file), SaysString())

    assert told == tuple(each.code for each in (*problems, *warnings))
    assert (plan is None) == (read == STORE)
