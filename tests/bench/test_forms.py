"""What the forms that are measured should answer is what the reference answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import joinery as jn
from bench.compare.forms import KINDS, PROJECT, answers_of
from joinery.testing import Driver
from joinery.testing.changes import insert

ROWS = 2_000


@pytest.mark.parametrize("name", KINDS)
def test_a_plain_computation_answers_what_the_reference_answers(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    text = PROJECT.format(
        data="data", out="out", relations=kind.relations, product=kind.product, rows=ROWS
    )
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    driver = Driver(jn.load(tmp_path / "joinery.yaml").products["answers"])

    for file in kind.made(ROWS):
        rows = [(relation, line) for relation, lines in file.items() for line in lines]
        driver.send([insert(relation, **json.loads(line)) for relation, line in rows])
    driver.until_closed()
    found = answers_of(kind, driver.documents().items())
    wanted = {row: answer for row, answer in kind.expected(ROWS).items() if answer != ()}
    assert wanted
    assert wanted == found
