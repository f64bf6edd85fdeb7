"""What `joinery listen` refuses before it asks a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.cli.listen import ListenError, run_listen

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  customer: {key: [id], fields: {id: long}}
products:
  profile:
    root: customer
    KEY
    solution: {rdbms-trigger: {database: "postgresql://127.0.0.1:1/none", publish: queue}}
    sink: {files: {path: out}}
"""


@pytest.mark.parametrize(
    ("key", "said"),
    [("emit: {settle: 2s}", "has emit: settle"), ("ready: [customer]", "has ready")],
)
def test_a_product_that_holds_documents_back_is_refused(
    tmp_path: Path, key: str, said: str
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT.replace("KEY", key))

    with pytest.raises(ListenError, match=said):
        run_listen(tmp_path, products=(), once=True)
