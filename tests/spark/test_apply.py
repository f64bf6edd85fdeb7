"""A query goes on from its state once products of it are removed or reordered: `joinery apply`."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import run_once
from tests.unit.cli.command import joinery

from fleet_compare import differences, sent
from fleet_log import History, LogFiles
from fleet_shape import declared, make_fleet
from joinery.errors import StateMismatchError
from joinery.spark.recovery import standing

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 600


class KilledError(Exception):
    """The command was killed."""


def killed(*_: object, **__: object) -> None:
    raise KilledError


def test_products_of_a_group_are_removed_and_reordered_and_the_others_go_on(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What goes on is compared with a statement over all rows; documents are not sent again."""
    fleet, random = make_fleet(3, relations=10, products=9), Random(1)
    history, log = History(fleet), LogFiles(tmp_path / "data")
    project = tmp_path / "joinery.yaml"
    monkeypatch.chdir(tmp_path)

    for left in (9, 6, 3):
        fleet = replace(fleet, products=tuple(random.sample(fleet.products, left)))
        project.write_text(declared(fleet, data="data", out="out"), encoding="utf-8")
        if left < 9:
            with pytest.raises(StateMismatchError):
                run_once(spark, tmp_path)
            assert 3 == joinery(monkeypatch, "plan")
            assert f"{left} unchanged, 3 removed" in capsys.readouterr().out
            with monkeypatch.context() as broken:
                broken.setattr(standing, "write_whole", killed)
                assert 1 == joinery(monkeypatch, "apply")
            assert 3 == joinery(monkeypatch, "plan"), "the checkpoint is as it was"
            assert 0 == joinery(monkeypatch, "apply")
            assert 0 == joinery(monkeypatch, "plan")
            assert not any(run_once(spark, tmp_path).values()), "nothing is sent again"
        log.write(history.lines(ROWS), files=2, total=ROWS)
        run_once(spark, tmp_path)

    history.write_rows(tmp_path / "rows")
    assert {} == differences(fleet, tmp_path / "rows", tmp_path / "out")
    assert [0, 0, 0] == [sent(tmp_path / "out" / each.name).falling for each in fleet.products]
