"""Groups by short calls are those of a project file."""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.errors import ProjectErrors, SpecError
from joinery.project.form import AggregateSpec
from joinery.project.load import load_spec

YAML = """\
joinery: 1
name: web
sources: {source: {files: {path: data}}}
defaults: {source: source}
relations:
  view:
    append: true
    fields: {page: string, ms: long, at: timestamp}
    time: at
  daily: {product: days, time: window_start}
  page: {key: [page], fields: {page: string, title: string}}
products:
  days:
    aggregate: view
    by: [page, {slow: ms > 50}]
    where: (ms > 0) and (page is not null)
    window: {tumbling: 1 day, zone: Europe/Berlin}
    values: {n: count(*), ms: sum(ms)}
    emit: {late: drop, allowed: 10s}
    group: web
    sink: {files: {path: out}}
  weeks:
    aggregate: days
    by: [page]
    values: {n: sum(n)}
    group: web
    sink: {files: {path: out}}
  page_by_title: {aggregate: page, by: [title], values: {n: count(*)}, sink: {files: {path: out}}}
"""


def app() -> jn.App:
    made = jn.App("web")
    views = made.stream(
        "view", fields={"page": "string", "ms": "long", "at": "timestamp"}, time="at"
    )
    days = (
        views.filter("ms > 0")
        .group_by("page", slow="ms > 50")
        .filter("page is not null")
        .window(tumbling="1 day", zone="Europe/Berlin")
        .aggregate(n="count(*)", ms="sum(ms)")
        .emit(late="drop", allowed="10s")
        .sink(files={"path": "out"}, name="days", group="web")
    )
    days.group_by("page").aggregate(n="sum(n)").sink(files={"path": "out"}, name="weeks")
    pages = made.table("page", key="page", fields={"page": "string", "title": "string"})
    made.group_by(pages, "title").aggregate({"n": "count(*)"}).sink({"files": {"path": "out"}})
    return made


def test_short_calls_declare_what_the_file_does(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(YAML.replace("  daily: {product: days, time: window_start}\n", ""))

    assert load_spec(file).products == app().spec.products
    assert load_spec(file).relations == app().spec.relations


def test_what_was_declared_is_written_back(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(app().to_yaml())

    assert load_spec(file) == app().spec
    assert ["days"] == [each.name for each in app().project.products["weeks"].plan.reads]


def test_a_cell_that_runs_again_replaces_its_groups() -> None:
    made = jn.App("web")
    views = made.stream("view", fields={"page": "string"})

    for limit in ("1", "2"):
        views.group_by("page").filter(f"page > {limit!r}").aggregate(n="count(*)").sink(
            files={"path": "out"}
        )

    assert ["page > '2'"] == [
        each.form.where for each in made.spec.products if isinstance(each.form, AggregateSpec)
    ]


def test_groups_that_take_the_place_of_others_are_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    views = jn.App("web").stream("view", fields={"page": "string", "at": "timestamp"}, time="at")
    pages = views.group_by("page").aggregate(n="count(*)")

    pages.window(tumbling="1h").named("view_by_page").sink(files={"path": "out"})
    assert [] == caplog.messages

    pages.window(tumbling="1 day").sink(files={"path": "out"})

    (told,) = caplog.messages
    assert 'the product "view_by_page" replaces the one declared before' in told


def test_groups_begin_at_a_log_with_filters_alone() -> None:
    views = jn.App("web").stream("view", fields={"page": "string", "ms": "long"})

    with pytest.raises(SpecError, match="only the rows of a log can be grouped"):
        views.with_columns(s="ms / 1000").group_by("page")


def test_groups_that_are_read_need_a_query_to_share() -> None:
    views = jn.App("web").stream("view", fields={"page": "string"})

    with pytest.raises(SpecError, match="need a name, and a group"):
        views.group_by("page").named("pages").group_by("page")


def test_a_window_that_cannot_be_is_refused_where_it_is_written() -> None:
    views = jn.App("web").stream("view", fields={"page": "string"})

    with pytest.raises(ProjectErrors):
        views.group_by("page").window(tumbling="1 lightyear")
    with pytest.raises(SpecError, match="by name or by its parts"):
        views.group_by("page").window("hour", tumbling="1h")
    with pytest.raises(SpecError, match="by name or by its parts"):
        views.group_by("page").window()
    with pytest.raises(SpecError, match="the groups need a sink"):
        views.group_by("page").sink()
