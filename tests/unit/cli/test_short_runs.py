"""Which runs are so short that their JVM does without its second compiler."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joinery.cli import run
from joinery.project.load import load_spec

PROJECT = """\
name: shop
sources: {{changes: {source}}}
defaults: {{source: changes, format: json}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  visit: {{append: true, key: [id], fields: {{id: long, customer_id: long}}}}
products:
  page: {{root: customer, fields: [id, name], sink: {{files: {{path: out}}}}}}
streams:
  visits: {{from: visit, sink: {{files: {{path: out}}}}}}
  late: {{from: visits, sink: {{files: {{path: out}}}}}}
"""


@pytest.mark.parametrize(
    ("size", "short"), [(0, True), (62_000_000, True), (62_000_001, False), (90_000_000, False)]
)
def test_a_run_over_some_hundred_thousand_changes_in_files_is_short(
    size: int, short: bool, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(source="{files: {path: data}}"))
    folder = tmp_path / "data" / "customer"
    folder.mkdir(parents=True)
    for name, each in (("1.jsonl", size), ("2.jsonl", 2_000_000)):
        (folder / name).touch()
        os.truncate(folder / name, each)  # sparse

    assert short == run._is_short(load_spec(tmp_path / "joinery.yaml"), ())


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ((), False),
        (("visits",), False),
        (("late",), False),
        (("page", "visits"), False),
        (("page",), True),
    ],
)
def test_what_the_products_to_run_do_not_read_does_not_count(
    names: tuple[str, ...], short: bool, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(source="{files: {path: data}}"))
    folder = tmp_path / "data" / "visit"
    folder.mkdir(parents=True)
    (folder / "1.jsonl").touch()
    os.truncate(folder / "1.jsonl", 90_000_000)

    assert short == run._is_short(load_spec(tmp_path / "joinery.yaml"), names)


def test_a_run_whose_files_are_not_there_yet_is_short(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(source="{files: {path: data}}"))

    assert run._is_short(load_spec(tmp_path / "joinery.yaml"), ())


def test_nobody_knows_how_long_a_run_over_topics_is(tmp_path: Path) -> None:
    source = '{kafka: {bootstrap: "localhost:9092"}}'
    (tmp_path / "joinery.yaml").write_text(PROJECT.format(source=source))

    assert not run._is_short(load_spec(tmp_path / "joinery.yaml"), ())
