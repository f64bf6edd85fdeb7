"""What is said of a stream: Mermaid, a page, and a picture for a notebook."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from joinery.plan.build import build_plan
from joinery.plan.explain.page import StreamExplanation, explain_stream
from joinery.plan.explain.picture import stream_svg
from joinery.project.load import load_spec

PROJECT = """\
relations:
  orders: {append: true, key: [id], fields: {id: long, customer_id: long, note: string}}
  returns: {append: true, key: [id], fields: {id: long, customer_id: long, note: string}}
  customers: {key: [id], fields: {id: long, name: string}}
streams:
  small: {from: returns, steps: [{filter: "note < 'x & y'"}]}
  s:
    from: orders
    steps:
      - union: small
      - {lookup: customers, on: {id: customer_id}, on_miss: "wait:1h"}
      - map: {function: "hooks:score", output: {score: double}}
    sink: {console: {}}
"""


@pytest.fixture
def explained(tmp_path: Path) -> StreamExplanation:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")
    return explain_stream(build_plan(load_spec(file)).streams[1])


def test_the_text_has_the_steps_in_the_order_of_the_file(explained: StreamExplanation) -> None:
    assert str(explained).splitlines() == [
        "-- logical",
        "Scan orders [id, customer_id, note]",
        "Union small",
        "  Scan returns [id, customer_id, note]",
        "  Filter note < 'x & y'",
        "Lookup customers on id = customer_id; in state; on miss: wait up to 1h",
        "  Scan customers [id, name]",
        "  Project name",
        "Map hooks:score -> score",
        "Emit s by id to console",
    ]


def test_rolling_columns_are_told_in_the_words_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(
        "relations: {orders: {append: true, fields: {id: long, at: timestamp}, time: at}}\n"
        "streams:\n"
        "  s:\n"
        "    from: orders\n"
        "    steps:\n"
        "      - rolling: {by: [id], over: 1m, values: {n: count(*), fast: rate(sum(id))}}\n"
        "    sink: {console: {}}\n",
        encoding="utf-8",
    )

    (stream,) = build_plan(load_spec(file)).streams

    assert (
        "Rolling 1m by id -> n = count(*), fast = ((sum(id)) / window_seconds)"
        in str(explain_stream(stream)).splitlines()
    )


def test_how_it_runs_and_why_is_told_where_it_is_asked(explained: StreamExplanation) -> None:
    _, _, how = str(explain_stream(explained.stream, why=True)).partition("-- how it runs\n")

    assert how.startswith("customers: its changes are kept as state under id")
    assert "not broadcast" in how


def test_mermaid_draws_each_step_and_what_it_reads(explained: StreamExplanation) -> None:
    lines = [line.strip() for line in explained.to_mermaid().splitlines()]

    assert "flowchart TD" == lines[0]
    assert 'n2t[("customers<br/>changes")] --> n2' in lines
    assert "n1_[\"Filter note #lt; 'x #amp; y'\"]" not in lines
    assert "n1_1[\"Filter note #lt; 'x #amp; y'\"]" in lines
    assert "n1_1 --> n1" in lines
    assert "n3 --> nout" in lines


def test_the_picture_is_well_formed_and_holds_every_step(explained: StreamExplanation) -> None:
    picture = ET.fromstring(stream_svg(explained.stream))

    texts = [each.text for each in picture.iter() if each.tag.endswith("text")]
    tooltips = [each.text for each in picture.iter() if each.tag.endswith("title")]
    assert tooltips[0] == "orders\nevents, key id\nid long, customer_id long, note string"
    assert ["Union", "Lookup customers", "customers", "Map"] == [
        each for each in texts if each in ("Union", "Lookup customers", "Map", "customers")
    ]
    assert "note < 'x & y'" in texts


def test_the_page_and_the_notebook_show_picture_and_text(explained: StreamExplanation) -> None:
    page, shown = explained.to_html(), explained._repr_html_()

    assert "<title>Plan of s</title>" in page
    assert all("<svg " in each and "on miss: wait up to 1h" in each for each in (page, shown))
    assert shown.startswith("<style>.joinery {")


@pytest.mark.parametrize(
    "condition",
    ["not seen(id, for => '1d')", "(seen(id, for => '1d') or id > 3) and id > 1"],
)
def test_a_filter_on_what_was_seen_is_told_as_it_was_written(
    tmp_path: Path, condition: str
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(
        "relations: {orders: {append: true, fields: {id: long, at: timestamp}, time: at}}\n"
        "streams:\n"
        "  s:\n"
        f'    {{from: orders, steps: [{{filter: "{condition}"}}], sink: {{console: {{}}}}}}\n',
        encoding="utf-8",
    )

    (stream,) = build_plan(load_spec(file)).streams

    assert f"Filter {condition}" in str(explain_stream(stream)).splitlines()
