"""What a line of state says of a document."""

from __future__ import annotations

import pytest

from joinery.spark.recovery.state_reader import told


@pytest.mark.parametrize(
    ("line", "document", "refused"),
    [
        ("", None, ""),
        ('{"key":{"id":1},"value":{"n":1.50},"version":7}\n', '{"n":1.50}', ""),
        ('{"key":{"value":"},\\"value\\":"},"value":{"version":5}}\n', '{"version":5}', ""),
        ('{"key":{"refused":1},"value":{"a":"ö"},"version":7}\n', '{"a":"ö"}', ""),
        ('{"key":{},"refused":"document_too_large"}\n', None, "document_too_large"),
    ],
)
def test_a_line_has_a_document_or_why_it_is_refused(
    line: str, document: str | None, refused: str
) -> None:
    assert (document, refused) == told(line)
