"""What `joinery state` does not cover is refused in the words of the project file."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.app.logs import WhyError
from joinery.app.state_documents import state_lines

_HEAD = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  price:
    key: [id]
    fields: {id: long, cents: long, since: timestamp, booked: timestamp}
  alert: {key: [id], fields: {id: long, query: string}}
products:
  told:
    sink: {files: {path: out}}
"""


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("history: price\n    valid: since\n    known_at: booked", "has known_at"),
        (
            "search: price\n    queries: alert\n    query: query\n    retroactive: false",
            "has retroactive: false",
        ),
    ],
)
def test_a_product_whose_state_lacks_documents_is_refused(
    tmp_path: Path, form: str, why: str
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(f"{_HEAD}    {form}\n", encoding="utf-8")
    with pytest.raises(WhyError, match=why):
        state_lines(file, "told")
