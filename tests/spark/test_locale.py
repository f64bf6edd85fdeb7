"""Java names files in UTF-8, whatever the locale that a service or a cron job has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {key: [id], fields: {id: long, name: string}}}
products: {profile: {root: customer, sink: {files: {path: out}}}}
"""


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_a_project_below_a_folder_with_an_accent_is_read_under_lc_all(
    tmp_path: Path, locale: str
) -> None:
    folder = tmp_path / "café"
    (folder / "data/customer").mkdir(parents=True)
    (folder / "data/customer/0001.jsonl").write_text('{"id": 1, "name": "Ada"}\n')
    (folder / "joinery.yaml").write_text(PROJECT)

    ended = subprocess.run(
        [sys.executable, "-m", "joinery.cli.main", "preview", "profile", str(folder)],
        env={**os.environ, "LC_ALL": locale},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["value"] == {"id": 1, "name": "Ada"}
