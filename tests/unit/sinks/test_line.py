"""Staged lines are read without parsing their documents."""

from __future__ import annotations

from pathlib import Path

from joinery.sinks.line import StagedRow, parse_line, read_parts, read_rows


def test_a_compact_line_keeps_the_document_as_it_was_written() -> None:
    line = '{"key":{"id":1},"value":{"n":1.50,"t":",\\"version\\":9}"},"version":7}\n'

    expected = StagedRow('{"id":1}', '{"n":1.50,"t":",\\"version\\":9}"}', 7)
    assert expected == parse_line(line)


def test_an_event_without_a_position_keeps_all_digits_too() -> None:
    line = '{"key":{"partition":0},"value":{"n":1.50,"m":12345678901234567.10},"version":-1}\n'

    expected = StagedRow('{"partition":0}', '{"n":1.50,"m":12345678901234567.10}', -1)
    assert expected == parse_line(line)


def test_a_tombstone_has_no_document() -> None:
    expected = StagedRow('{"id":"a"}', None, 8)

    assert expected == parse_line('{"key":{"id":"a"},"value":null,"version":8}')
    assert expected == parse_line('{"key": {"id": "a"}, "value": null, "version": 8}')


def test_a_line_with_spaces_is_read_too() -> None:
    expected = StagedRow('{"id":1}', '{"name":"é"}', 7)

    assert expected == parse_line('{"key": {"id": 1}, "value": {"name": "é"}, "version": 7}')


def test_a_document_that_is_the_text_null_is_not_a_tombstone() -> None:
    expected = StagedRow('{"id":1}', '{"version":3}', 7)

    assert expected == parse_line('{"key":{"id":1},"value":{"version":3},"version":7}')


def test_parts_are_what_rows_are(tmp_path: Path) -> None:
    staged = tmp_path / "part-00000.jsonl"
    staged.write_text(
        '{"key":{"id":1},"value":{"n":1.50,"t":"é,\\"version\\":9}"},"version":7}\n'
        '{"key":{"id":"a"},"value":null,"version":8}\n'
        '{"key": {"id": 1}, "value": {"name": "x"}, "version": 9}\n'
        '{"key":{"id":2},"value":{},"version":10}',
        encoding="utf-8",
    )

    parts = [
        StagedRow(key.decode(), None if value is None else value.decode(), int(version))
        for key, value, version in read_parts([staged])
    ]

    assert list(read_rows([staged])) == parts
