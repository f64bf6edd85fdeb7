"""What needs a checkpoint on a disk is refused where that is in an object store."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.plan.build import build_plan
from joinery.plan.on_disk import disk_refusals
from joinery.project.load import load_spec

PROJECT = """\
sources: {{changes: {{files: {{path: data}}}}}}
relations:
  user: {{key: [id], fields: {{id: long, name: string}}}}
products:
  profile:
    root: user
    {product}
    sink: {{files: {{path: out{sink}}}}}
run: {{checkpoint: {checkpoint}{run}}}
"""


def told(
    folder: Path,
    *,
    product: str = "fields: [id]",
    sink: str = "",
    run: str = "",
    checkpoint: str = "s3a://bucket/folder",
) -> list[str]:
    """Return what is refused, as `line message`."""
    file = folder / "joinery.yaml"
    text = PROJECT.format(product=product, sink=sink, run=run, checkpoint=checkpoint)
    file.write_text(text, encoding="utf-8")
    spec = load_spec(file)
    found = disk_refusals(spec, build_plan(spec))
    return [f"{each.location.line} {each.message}" for each in found if each.location]


WHY = "needs a checkpoint on a disk, and run.checkpoint is at s3a://"


def test_documents_with_their_state_in_spark_need_none(tmp_path: Path) -> None:
    assert [] == told(tmp_path)
    assert [] == told(tmp_path, product="emit: {settle: 2s}")
    assert [] == told(tmp_path, product="ready: [user]")


@pytest.mark.parametrize(
    ("asked", "line", "what"),
    [
        ({"product": "solution: kv"}, 7, 'solution: kv of product "profile"'),
        ({"sink": ", spool: true"}, 8, 'spool: true of product "profile"'),
        ({"run": ", real_time: true"}, 9, "real-time mode"),
        ({"run": ", marks: {every: 1h}"}, 9, "run.marks"),
    ],
)
def test_what_is_kept_in_files_of_a_disk_is_refused_at_its_key(
    tmp_path: Path, asked: dict[str, str], line: int, what: str
) -> None:
    assert [f"{line} {what} {WHY}"] == told(tmp_path, **asked)
    assert [] == told(tmp_path, checkpoint="folder", **asked)
