"""Sinks of a product are whole: named ones looked up, options checked, brokers filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.plan.check import check

PROJECT = """\
sources:
  changes: {kafka: {bootstrap: "b:9092", properties: {sasl.mechanism: PLAIN, fetch.min.bytes: 1}}}
  other: {files: {path: data}}
defaults: {source: changes, format: json}
relations:
  user: {key: [id], fields: {id: long}}
  team: {key: [id], fields: {id: long}, source: other}
sinks:
  lake: {postgres: {table: t}}
  bus: {kafka: {topic: t}}
products:
"""


def problems(folder: Path, product: str) -> list[str]:
    """Return what `check` says of a project with this product."""
    file = folder / "joinery.yaml"
    file.write_text(PROJECT + product, encoding="utf-8")
    found = check(file)
    return [f"{each.line}:{each.column} {each.code} {each.message}" for each in found]


@pytest.mark.parametrize(
    ("sink", "expected"),
    [
        ("{kafka: {topic: t}}", []),
        ("{kafka: {topic: t, create: false, partitions: 3, transactions: false}}", []),
        ("{postgres: {url: postgresql://h/d, mode: columns, connections: 2}}", []),
        (
            "{console: {}, files: {path: out}}",
            ['12:39 SPEC_SHAPE "sink" of product "p" is of one kind, not of console, files'],
        ),
        ("{kafka: {}}", ['12:26 SPEC_MISSING_KEY "kafka" of "sink" of product "p" needs "topic"']),
        (
            "{kafka: {topic: t, partitions: none}}",
            [
                '12:56 SPEC_SHAPE "partitions" of "kafka" of "sink" of product "p" needs a whole'
                " number from 1"
            ],
        ),
        (
            "{kafka: {topic: t, create: 1}}",
            ['12:52 SPEC_SHAPE "create" of "kafka" of "sink" of product "p" needs true or false'],
        ),
        (
            "{kafka: {topic: t, properties: [a]}}",
            [
                '12:56 SPEC_SHAPE "properties" of "kafka" of "sink" of product "p" needs a map of'
                " texts, numbers and booleans"
            ],
        ),
        (
            "{postgres: {url: u, mode: json}}",
            ['12:51 SPEC_VALUE "mode" of "postgres" of "sink" of product "p" cannot be "json"'],
        ),
        (
            "{kafka: {topic: 'a b'}}",
            ['12:41 SPEC_NAME a topic cannot be named "a b"'],
        ),
        ("{use: bus}", []),
        (
            "{kafka: {topic: user}}",
            ['12:25 PLAN_TARGET "p" would read what it writes, as changes of "user"'],
        ),
        (
            "[{files: {path: out}}, {files: {path: ./out}}]",
            ['12:48 PLAN_TARGET product "p" has this sink twice'],
        ),
        (
            '{redis: {url: "http://host"}}',
            [
                '12:39 SPEC_SHAPE "url" of "redis" of "sink" of product "p" needs a text such as'
                " redis://host:6379/0"
            ],
        ),
        (
            "{opensearch: {index: Users, refresh: 1, mapping: {properties: {a: {type: x}}}}}",
            [
                '12:46 SPEC_SHAPE "index" of "opensearch" of "sink" of product "p" needs a text'
                " such as user_profile",
                '12:62 SPEC_SHAPE "refresh" of "opensearch" of "sink" of product "p" needs true or'
                " false",
            ],
        ),
        (
            "{foreach: {function: deliver, timeout: soon}}",
            [
                '12:46 SPEC_SHAPE "function" of "foreach" of "sink" of product "p" needs a text'
                " such as my_hooks:deliver",
                '12:64 SPEC_SHAPE "timeout" of "foreach" of "sink" of product "p" needs a duration'
                " such as 500ms, 2s, 5m, 1h or 7d",
            ],
        ),
        (
            "{foreach: {}}",
            ['12:26 SPEC_MISSING_KEY "foreach" of "sink" of product "p" needs "function"'],
        ),
        ("{use: lake}", ['12:25 SPEC_MISSING_KEY sink "postgres" needs "url"']),
        (
            "{use: lake, url: u, conections: 3}",
            ['12:45 SPEC_UNKNOWN_KEY sink "postgres" has no option "conections"'],
        ),
        (
            "{use: lake, url: u, connections: x}",
            ['12:58 SPEC_SHAPE "connections" of sink "postgres" needs a whole number from 1'],
        ),
    ],
)
def test_options_are_checked_at_their_place(tmp_path: Path, sink: str, expected: list[str]) -> None:
    assert expected == problems(tmp_path, f"  p: {{root: user, sink: {sink}}}\n")


def test_without_one_kafka_source_the_brokers_have_to_be_named(tmp_path: Path) -> None:
    found = problems(tmp_path, "  p: {root: team, sink: {kafka: {topic: t}}}\n")

    assert ['12:25 SPEC_MISSING_KEY sink "kafka" needs "bootstrap"'] == found


def test_the_brokers_of_the_source_come_with_its_security_only(tmp_path: Path) -> None:
    from joinery.app.project import load

    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT + "  p: {root: user, sink: {kafka: {topic: t}}}\n", encoding="utf-8")

    options = dict(load(file).plan.products[0].sinks[0].options)

    expected = {
        "topic": "t",
        "bootstrap": "b:9092",
        "properties": (("sasl.mechanism", "PLAIN"),),
    }
    assert expected == options


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("bus", []),
        ("{files: {path: letters}}", []),
        ("nowhere", ['13:21 PLAN_UNKNOWN_SINK there is no sink "nowhere"']),
        ("lake", ['13:21 SPEC_DEAD_LETTERS dead letters cannot be kept in "postgres"']),
        ("{console: {}}", ['13:21 SPEC_DEAD_LETTERS dead letters cannot be kept in "console"']),
    ],
)
def test_a_place_that_cannot_hold_dead_letters_is_told(
    tmp_path: Path, letters: str, expected: list[str]
) -> None:
    text = f"  p: {{root: user}}\nrun: {{dead_letters: {letters}}}\n"

    assert expected == problems(tmp_path, text)


def test_a_kind_without_options_is_no_named_sink(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT + "  p: {root: user, sink: console}\n", encoding="utf-8")

    (found,) = check(file)

    assert "PLAN_UNKNOWN_SINK" == found.code
    assert "Write {console: {…}} for a sink of this kind, with its options." == found.hint


def test_two_products_do_not_write_to_one_table(tmp_path: Path) -> None:
    sink = "{sqlite: {path: app.db, table: t}}"
    one = f"  p: {{root: user, sink: {sink}}}\n"

    both = problems(tmp_path, f"{one}  q: {{root: user, sink: {sink}}}\n")
    apart = problems(tmp_path, f"{one}  q: {{root: user, sink: {{sqlite: {{path: app.db}}}}}}\n")

    assert ['13:25 PLAN_TARGET product "q" writes to "t", as product "p" does'] == both
    assert [] == apart


def test_a_product_does_not_write_files_where_it_reads_them(tmp_path: Path) -> None:
    assert [
        '12:28 PLAN_TARGET "team" would read what it writes, as changes of "team"',
    ] == problems(tmp_path, "  team: {root: team, sink: {files: {path: data}}}\n")
