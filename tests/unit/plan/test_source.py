"""Topics that cannot be, and offsets that nobody reads, are told where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.plan.build import examine
from joinery.project.load import load_spec

FILE = """\
sources:
  changes: {source}
relations:
  user: {{key: [id], fields: {{id: long}}, topic: {topic}}}
products: {{p: {{root: user}}}}
"""
KAFKA = "{kafka: {bootstrap: b:1}}"


def problems(folder: Path, source: str, topic: str) -> list[tuple[int, int, str, str]]:
    file = folder / "joinery.yaml"
    file.write_text(FILE.format(source=source, topic=topic), encoding="utf-8")
    _, found, _ = examine(load_spec(file))
    return [
        (each.location.line, each.location.column, each.message, each.hint)
        for each in found
        if each.location and each.code == "PLAN_TOPIC"
    ]


@pytest.mark.parametrize("topic", ["shop.public.user", '"pattern:shard_[0-9]+[.]user"'])
def test_a_topic_or_a_pattern_is_taken(tmp_path: Path, topic: str) -> None:
    assert [] == problems(tmp_path, KAFKA, topic)


def test_a_name_that_kafka_cannot_have_is_refused(tmp_path: Path) -> None:
    ((line, column, message, _),) = problems(tmp_path, KAFKA, "shop/user")

    assert (4, 48, 'Kafka has no topic named "shop/user"') == (line, column, message)


def test_files_have_no_patterns(tmp_path: Path) -> None:
    ((_, _, message, hint),) = problems(tmp_path, "{files: {path: x}}", '"pattern:.*"')

    assert 'relation "user" reads files, which have no patterns of topics' == message
    assert "Name one folder." == hint


@pytest.mark.parametrize("pattern", ["user(", "(?P<name>user)"])
def test_a_pattern_that_cannot_be_read_is_refused(tmp_path: Path, pattern: str) -> None:
    ((_, _, message, _),) = problems(tmp_path, KAFKA, f'"pattern:{pattern}"')

    assert message.startswith('the pattern of relation "user" cannot be read: ')


def test_an_offset_of_a_topic_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    source = "{kafka: {bootstrap: b:1, starting: {usr: {0: 5}}}}"

    ((line, column, message, hint),) = problems(tmp_path, source, "user")

    assert (2, 48, 'no relation of source "changes" reads topic "usr"') == (line, column, message)
    assert 'Use "user".' == hint


def test_an_offset_of_a_topic_that_a_pattern_reads_is_taken(tmp_path: Path) -> None:
    source = "{kafka: {bootstrap: b:1, starting: {user_7: {0: 5}}}}"

    assert [] == problems(tmp_path, source, '"pattern:user_[0-9]"')
