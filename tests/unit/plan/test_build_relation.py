"""Products that are read as relations: what their readers see, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import joinery as jn
from joinery.errors import ProjectErrors
from joinery.plan.build import build_plan, examine
from joinery.plan.check import check
from joinery.plan.explain.text import render_product
from joinery.plan.support import refusals
from joinery.project.kind import SourceSpec
from joinery.project.load import dump_spec, load_spec
from joinery.project.product import ProjectSpec
from joinery.testing.conformance.project import load_text

_VIEWS = """
relations:
  view: {append: true, fields: {page: string, at: timestamp}, time: at}
"""
_HOURS = "{aggregate: view, by: [page], window: {tumbling: 1h}, values: {n: count(*)}, group: g}"


def _read(text: str) -> ProjectSpec:
    return load_text(_VIEWS + text)


def _problems(text: str) -> list[str]:
    with pytest.raises(ProjectErrors) as refused:
        build_plan(_read(text))
    return [f"{each.code} {each.message}" for each in refused.value.problems]


def test_a_product_is_read_with_the_columns_of_its_key_and_its_value() -> None:
    plan = build_plan(
        _read(f"""
  hourly: {{product: hours, time: window_start, where: n > 1}}
products:
  days:
    {{aggregate: hourly, by: [page], window: {{tumbling: 1 day}}, values: {{n: sum(n)}}, group: g}}
  hours: {_HOURS}
""")
    )

    days = plan.products[0]
    assert ["view"] == [each.name for each in days.relations]
    assert ["hours"] == [each.name for each in days.reads]
    assert render_product(days) == (
        "Emit days by page, window_start\n"
        "  Compute n = sum(n)\n"
        "  Group by page in windows of 1d\n"
        "  Watermark of hourly: as of hours\n"
        "  Filter n > 1\n"
        "  Read hours as hourly [page, window_start, n]\n"
    )


def test_products_that_read_each_other_are_refused_in_one_line() -> None:
    assert _problems("""
products:
  a: {aggregate: b, values: {n: count(*)}, group: g}
  b: {aggregate: c, values: {n: count(*)}, group: g}
  c: {aggregate: a, values: {n: count(*)}, group: g}
""") == ['PLAN_PRODUCT product "c" reads itself']


def test_a_product_of_another_query_is_not_read() -> None:
    assert _problems(f"""
products:
  hours: {_HOURS}
  p: {{aggregate: hours, values: {{n: count(*)}}}}
""") == ['PLAN_PRODUCT product "p" reads product "hours" of another query']


def test_a_product_that_is_not_there_is_told_where_it_is_named() -> None:
    assert _problems(f"""
  hourly: {{product: hour}}
products:
  hours: {_HOURS}
  p: {{aggregate: hourly, values: {{n: count(*)}}, group: g}}
""") == ['PLAN_UNKNOWN_PRODUCT there is no product "hour"']


def test_what_reads_a_broken_product_is_not_judged() -> None:
    assert _problems("""
products:
  hours: {aggregate: view, by: [pag], values: {n: count(*)}, group: g}
  p: {aggregate: hours, by: [pag], values: {n: sum(n)}, group: g}
""") == [
        'PLAN_UNKNOWN_COLUMN there is no column "pag" here',
    ]


def test_a_key_column_that_is_shown_as_something_else_is_refused() -> None:
    assert _problems("""
  user: {key: [id], fields: {id: long, name: string}}
products:
  a: {root: user, fields: [{id: id + 1}], group: g}
  p: {aggregate: a, by: [id], values: {n: count(*)}, group: g}
""") == ['PLAN_DUPLICATE_OUTPUT product "a" is read by others, and "id" is not its key column']


def test_a_product_has_no_topic_and_no_fields() -> None:
    with pytest.raises(ProjectErrors) as refused:
        _read("  hourly: {product: hours, topic: hours, fields: {n: long}}\nproducts: {}\n")

    assert [
        'relation "hourly" is a product, and cannot have "topic"',
        'relation "hourly" is a product, and cannot have "fields"',
    ] == [each.message for each in refused.value.problems]


def test_a_product_that_is_held_back_is_not_read_yet() -> None:
    spec = _read("""
  user: {key: [id], fields: {id: long, name: string}}
products:
  a: {root: user, emit: {settle: 2s}, group: g}
  p: {aggregate: a, by: [name], values: {n: count(*)}, group: g}
""")

    assert ["PLAN_NOT_YET"] == [each.code for each in refusals(spec, build_plan(spec))]


def test_a_problem_of_a_product_is_told_once_by_check(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(f"""
sources: {{changes: {{files: {{path: in}}}}}}
{_VIEWS}
products:
  hours: {{aggregate: view, by: [page], windw: 1h, values: {{n: count(*)}}, group: g}}
  p: {{aggregate: hours, by: [page], values: {{n: sum(n)}}, group: g}}
""")
    (tmp_path / "in" / "view").mkdir(parents=True)

    assert ["SPEC_UNKNOWN_KEY"] == [each.code for each in check(file) if each.severity == "error"]


def test_python_takes_a_product_where_a_relation_stands(tmp_path: Path) -> None:
    view = jn.relation("view", append=True, fields={"page": "string", "at": "timestamp"}, time="at")
    hours = jn.aggregate(
        "hours",
        view,
        by=["page"],
        window={"tumbling": "1h"},
        values={"n": "count(*)"},
        group="g",
    )
    daily = jn.relation("daily", product=hours, time="window_start")
    total = jn.aggregate("total", hours, by=["page"], values={"n": "sum(n)"}, group="g")
    days = jn.aggregate("days", daily, window={"tumbling": "1 day"}, group="g")
    project = jn.Project("p", products=[hours, total, days])

    file = tmp_path / "joinery.yaml"
    file.write_text(project.to_yaml())

    assert load_spec(file) == project.spec
    assert dump_spec(load_spec(file)) == project.to_yaml()
    assert ["hours"] == [each.name for each in project.products["total"].plan.reads]


_TAP = """
  tap:
    append: true
    fields: {{made: timestamp, sent: timestamp, got: timestamp, n: long{more}}}
    time: {{event: made, sent: {sent}, received: {got}}}
    watermark: {{ahead: 5m}}
products: {{}}
"""


def test_three_clocks_make_two_columns() -> None:
    spec = _read(
        _TAP.format(more="", sent="sent", got="got").replace(
            "products: {}",
            "products: {p: {aggregate: tap, by: [clock], values: {n: max(event_time)}}}",
        )
    )

    relation = build_plan(spec).products[0].relations[0]
    assert "event_time" == relation.time
    assert ["clock", "event_time"] == [each.name for each in relation.derived]


def test_clocks_are_columns_with_times() -> None:
    assert _problems(_TAP.format(more="", sent="n", got="gott")) == [
        'PLAN_TYPE_MISMATCH "time" of relation "tap" needs a timestamp, not long',
        'PLAN_UNKNOWN_FIELD relation "tap" has no field "gott"',
    ]


def test_a_field_cannot_have_the_name_of_what_clocks_tell() -> None:
    assert _problems(_TAP.format(more=", clock: string", sent="sent", got="got")) == [
        'PLAN_DUPLICATE_OUTPUT relation "tap" has a field "clock" already'
    ]


def test_a_watermark_needs_a_time() -> None:
    assert _problems(f"""
  tap: {{append: true, fields: {{at: timestamp}}, watermark: {{delay: 1m}}}}
  hourly: {{product: hours, watermark: {{delay: 1m}}}}
products:
  hours: {_HOURS}
  days: {{root: hourly, group: g}}
""") == [
        'PLAN_WATERMARK relation "tap" has a "watermark" and no "time"',
        'PLAN_WATERMARK relation "hourly" has a "watermark" and no "time"',
    ]


def test_files_and_products_have_no_time_of_the_log() -> None:
    assert _problems(_TAP.format(more="", sent="sent", got="$log")) == [
        'PLAN_LOG_TIME "$log" of relation "tap" names the time of the log, which files do not have'
    ]
    assert _problems(f"""
  hourly: {{product: hours, time: window_start, watermark: {{ahead: 1h}}}}
products:
  hours: {_HOURS}
  days: {{root: hourly, group: g}}
""") == [
        'PLAN_LOG_TIME "ahead" of relation "hourly" needs the time of the log,'
        " which a product does not have"
    ]


def _on_kafka(text: str) -> ProjectSpec:
    spec = _read(text)
    return replace(spec, sources=(SourceSpec("changes", "kafka", (("bootstrap", "-"),)),))


def test_the_time_of_the_log_is_a_column_of_its_own() -> None:
    spec = _on_kafka(
        _TAP.format(more="", sent="sent", got="$log").replace(
            "products: {}",
            "products: {p: {aggregate: tap, by: [clock], values: {n: max(log_time)}}}",
        )
    )

    relation = build_plan(spec).products[0].form.relation

    assert relation.logged
    assert ("made", "sent", "got", "n", "log_time") == tuple(e.name for e in relation.columns)
    assert ["clock", "event_time"] == [each.name for each in relation.derived]
    assert "'$log'" not in dump_spec(spec), "words need no quotes"
    assert "received: $log" in dump_spec(spec)


def test_a_field_cannot_have_the_name_of_the_time_of_the_log() -> None:
    with pytest.raises(ProjectErrors) as refused:
        build_plan(_on_kafka(_TAP.format(more=", log_time: timestamp", sent="sent", got="$log")))

    assert ['relation "tap" has a field "log_time" already'] == [
        each.message for each in refused.value.problems
    ]


def test_three_clocks_need_all_three() -> None:
    with pytest.raises(ProjectErrors) as refused:
        _read("  tap: {append: true, fields: {a: timestamp}, time: {event: a}}\nproducts: {}\n")

    assert [
        '"time" of relation "tap" needs "sent"',
        '"time" of relation "tap" needs "received"',
    ] == [each.message for each in refused.value.problems]


def test_a_window_over_a_product_closes_by_the_times_of_its_changelog_alone() -> None:
    assert _problems("""
  user: {key: [id], fields: {id: long, at: timestamp}}
  users: {product: a, time: at}
products:
  a: {root: user, group: g}
  p:
    aggregate: users
    window: {tumbling: 1h}
    values: {n: count(*)}
    emit: {when: closed}
    group: g
""") == ['PLAN_WINDOW a window is closed by a watermark, and relation "user" has no time']


def test_each_group_that_is_never_closed_is_named_beside_other_problems() -> None:
    assert _problems("""
products:
  pages: {aggregate: view, by: [pge], values: {n: count(*)}}
  all: {aggregate: view, values: {n: count(*)}, emit: {when: closed}}
  now: {aggregate: view, window: {sliding: 5m}, values: {n: count(*)}, emit: {when: closed}}
  odd: {aggregate: view, window: day, values: {n: count(*)}, emit: {when: closed}}
""") == [
        'PLAN_UNKNOWN_COLUMN there is no column "pge" here',
        "PLAN_WINDOW a group without a window is never closed",
        "PLAN_WINDOW a sliding window is never closed",
        'PLAN_WINDOW there is no window "day"',
    ]


def test_windows_over_a_product_are_warned_of_as_they_are_kept_for_ever() -> None:
    days = "{aggregate: hourly, window: WINDOW, values: {n: sum(n)}, group: g}"
    text = f"""
  hourly: {{product: hours, time: window_start}}
products:
  hours: {_HOURS}
  days: {days}
"""

    _, problems, warnings = examine(_read(text.replace("WINDOW", "{tumbling: 1 day}")))
    _, _, sliding = examine(_read(text.replace("WINDOW", "{sliding: 1 day}")))

    assert () == tuple(problems)
    assert ['PLAN_UNBOUNDED the windows over product "hours" are kept forever'] == [
        f"{each.code} {each.message}" for each in warnings
    ]
    assert () == tuple(sliding), "what the watermark leaves behind is forgotten"


def test_windows_that_rows_of_a_snapshot_may_come_to_are_warned_of_as_they_are_kept() -> None:
    text = """
  sale: {key: [id], format: FORMAT, fields: {id: long, at: timestamp}, time: at}
products:
  days: {aggregate: sale, window: {tumbling: 1 day}, values: {n: count(*)}}
"""

    _, problems, warnings = examine(_read(text.replace("FORMAT", "debezium-json")))
    _, _, flat = examine(_read(text.replace("FORMAT", "json")))

    assert () == tuple(problems)
    assert ['PLAN_UNBOUNDED the windows over relation "sale" are kept forever'] == [
        f"{each.code} {each.message}" for each in warnings
    ]
    assert () == tuple(flat)


def test_streams_and_outboxes_read_no_products() -> None:
    assert _problems(f"""
  hourly: {{product: hours}}
products:
  hours: {_HOURS}
  p: {{outbox: {{relation: hours, key: page, value: page}},
    sink: {{kafka: {{topic: t, bootstrap: "b:1"}}}}}}
streams:
  s: {{from: hours}}
  t: {{from: view, steps: [{{lookup: hourly, on: [page]}}]}}
""") == [
        'PLAN_PRODUCT product "p" reads product "hours" of another query',
        'PLAN_PRODUCT "hours" is a product, and only products of its group can read it',
        'PLAN_PRODUCT "hourly" is a product, and only products of its group can read it',
    ]
