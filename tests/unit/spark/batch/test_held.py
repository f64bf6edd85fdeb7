"""What a run holds for all its queries, and tells of those that it holds up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from joinery.model.progress import Waiting
from joinery.spark.batch.held import Held
from joinery.spark.batch.progress import ProgressBoard


def test_a_vault_that_is_away_holds_up_the_queries_with_personal_columns() -> None:
    board = ProgressBoard()
    queries = [
        SimpleNamespace(name=name, is_personal=name != "prices")
        for name in ("people", "prices", "pay")
    ]
    nothing = cast("Any", None)
    held = Held(
        spec=nothing,
        queries=cast("Any", queries),
        mode=nothing,
        board=board,
        captures=nothing,
        asked=nothing,
        rebuild=False,
        restored=False,
        patient=True,
    )
    target = "the vault, sqlite keys.db"
    waiting = Waiting(product=target, target=target, reason="away", attempts=1, since=7.0)

    held._wait_for_vault(target, waiting)
    told = {
        name: any(each.is_of([name], ()) for each in board.progress.waiting.values())
        for name in ("people", "prices", "pay")
    }
    held._wait_for_vault(target, None)

    assert {"people": True, "prices": False, "pay": True} == told
    assert {} == board.progress.waiting
