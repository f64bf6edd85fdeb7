"""What is read of the folder of a run."""

from __future__ import annotations

from pathlib import Path

from joinery.testing.settings.output import newest_documents


def test_the_highest_version_of_a_key_stands(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text(
        '{"key":{"id":1},"value":{"n":2},"version":9}\n{"key":{"id":2},"value":null,"version":9}\n'
    )
    (tmp_path / "2.jsonl").write_text(
        '{"key":{"id":1},"value":{"n":1},"version":8}\n{"key":{"id":2},"value":{"n":3},"version":8}\n'
    )

    assert {'{"id":1}': '{"n":2}'} == newest_documents(tmp_path)
