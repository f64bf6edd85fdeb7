"""What a run holds for all its queries, and tells of those that it holds up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from joinery.model.progress import Waiting
from joinery.spark.batch.held import Held, UnclosedError
from joinery.spark.batch.progress import ProgressBoard


class Kept:
    """What is kept open for a run."""

    name, is_personal = "kept", False

    def __init__(self, failure: Exception | None = None) -> None:
        self._failure = failure
        self.closed = False

    def close(self) -> None:
        self.closed = True
        if self._failure is not None:
            raise self._failure


def holding(*queries: object, board: ProgressBoard, captures: object = None) -> Held:
    nothing = cast("Any", None)
    return Held(
        spec=nothing,
        queries=cast("Any", queries),
        mode=nothing,
        board=board,
        captures=cast("Any", captures),
        asked=nothing,
        rebuild=False,
        restored=False,
        patient=True,
    )


def test_what_cannot_be_closed_keeps_nothing_else_open() -> None:
    first, second, store = Kept(ValueError("no goodbye")), Kept(), Kept()
    held = holding(first, second, board=ProgressBoard(), captures=Kept(OSError("gone")))
    held.stores["second"] = cast("Any", store)

    with pytest.raises(UnclosedError, match="had open: ValueError: no goodbye"):
        held.close()

    assert [True, True, True] == [each.closed for each in (first, second, store)]


def test_a_vault_that_is_away_holds_up_the_queries_with_personal_columns() -> None:
    board = ProgressBoard()
    queries = [
        SimpleNamespace(name=name, is_personal=name != "prices")
        for name in ("people", "prices", "pay")
    ]
    held = holding(*queries, board=board)
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
