"""The options of a Kafka source are read, or refused where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.project.kafka import KafkaOptions, kafka_options
from joinery.project.load import dump_spec, load_parts, load_spec

FILE = """\
sources:
  changes:
    kafka: {options}
relations: {{user: {{key: [id], fields: {{id: long}}}}}}
products: {{p: {{root: user}}}}
"""


def write(folder: Path, options: str) -> Path:
    file = folder / "joinery.yaml"
    file.write_text(FILE.format(options=options), encoding="utf-8")
    return file


def read(folder: Path, options: str) -> KafkaOptions:
    return kafka_options(load_spec(write(folder, options)).sources[0])


def problems(folder: Path, options: str) -> list[tuple[int, str, str, str]]:
    _, found = load_parts(write(folder, options))
    placed = [(each.location, each) for each in found if each.location is not None]
    assert len(placed) == len(found)
    return [(place.column, each.code, each.message, each.hint) for place, each in placed]


def test_a_source_begins_earliest_and_fails_on_lost_data(tmp_path: Path) -> None:
    assert KafkaOptions(bootstrap="b:9092") == read(tmp_path, "{bootstrap: b:9092}")


def test_properties_become_texts_as_kafka_writes_them(tmp_path: Path) -> None:
    options = read(tmp_path, "{bootstrap: b:1, properties: {a.b: true, c: 5, d: x}}")

    assert {"a.b": "true", "c": "5", "d": "x"} == options.properties


def test_properties_are_not_shown(tmp_path: Path) -> None:
    options = read(tmp_path, "{bootstrap: b:1, properties: {sasl.jaas.config: secret}}")

    assert "secret" not in repr(options)


@pytest.mark.parametrize(
    ("text", "starting"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        ("2026-01-01T00:00:00Z", 1767225600000),
        ("2026-01-01T01:00:00+01:00", 1767225600000),
        ("2026-01-01", 1767225600000),
        ("{t: {0: 5, 1: latest}, u: latest}", {"t": {0: 5, 1: "latest"}, "u": "latest"}),
    ],
)
def test_reading_may_begin_at_an_edge_a_time_or_offsets(
    tmp_path: Path, text: str, starting: object
) -> None:
    assert starting == read(tmp_path, f"{{bootstrap: b:1, starting: {text}}}").starting


def test_a_source_is_written_back_as_it_was_read(tmp_path: Path) -> None:
    options = "{bootstrap: b:1, properties: {a: true}, starting: {t: {0: 5}}, group: g}"
    spec = load_spec(write(tmp_path, options))

    (tmp_path / "joinery.yaml").write_text(dump_spec(spec), encoding="utf-8")

    assert spec == load_spec(tmp_path / "joinery.yaml")


@pytest.mark.parametrize(
    ("options", "column", "code", "message", "hint"),
    [
        (
            "{}",
            5,
            "SPEC_MISSING_KEY",
            '"kafka" of source "changes" needs "bootstrap"',
            "Write {kafka: {bootstrap: host:9092}}.",
        ),
        (
            "{bootstrap: b:1, startin: latest}",
            29,
            "SPEC_UNKNOWN_KEY",
            '"kafka" of source "changes" has no key "startin"',
            'Use "starting".',
        ),
        (
            "{bootstrap: b:1, starting: later}",
            39,
            "SPEC_VALUE",
            '"starting" of "kafka" of source "changes" cannot be "later"',
            "Write earliest, latest, a time such as 2026-01-31T12:00:00Z, or offsets by topic.",
        ),
        (
            "{bootstrap: b:1, starting: {t: {0: -2}}}",
            47,
            "SPEC_SHAPE",
            'partition "0" of "t" of "starting" of "kafka" of source "changes" needs an offset'
            ' from 0, earliest or latest, not "-2"',
            "",
        ),
        (
            "{bootstrap: b:1, properties: {kafka.security.protocol: SSL}}",
            42,
            "SPEC_VALUE",
            '"properties" of "kafka" of source "changes" cannot have "kafka.security.protocol"',
            'Write "security.protocol".',
        ),
        (
            "{bootstrap: b:1, properties: {auto.offset.reset: latest}}",
            42,
            "SPEC_VALUE",
            '"properties" of "kafka" of source "changes" cannot have "auto.offset.reset"',
            "Write starting next to properties.",
        ),
        (
            "{bootstrap: b:1, fail_on_data_loss: no}",
            48,
            "SPEC_SHAPE",
            '"fail_on_data_loss" of "kafka" of source "changes" needs true or false, not "no"',
            "",
        ),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_place(
    tmp_path: Path, options: str, column: int, code: str, message: str, hint: str
) -> None:
    assert [(column, code, message, hint)] == problems(tmp_path, options)


def test_a_property_that_is_no_text_is_told_without_its_value(tmp_path: Path) -> None:
    ((_, code, message, hint),) = problems(tmp_path, "{bootstrap: b:1, properties: {a: [secret]}}")

    assert "SPEC_SHAPE" == code
    assert "secret" not in message + hint


@pytest.mark.parametrize(("brokers", "host"), [("localhost", "localhost"), ("'a:9092, b'", "b")])
def test_a_broker_without_a_port_is_refused(brokers: str, host: str, tmp_path: Path) -> None:
    ((_, code, message, hint),) = problems(tmp_path, f"{{bootstrap: {brokers}}}")

    assert ("SPEC_VALUE", f"Write {host}:9092.") == (code, hint)
    assert f'needs a port behind each host, which "{host}" lacks' in message
