"""Processes that make documents beside the one that writes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.solutions.relational.sqlite import SqliteState, sqlite_reader
from joinery.solutions.stored.crew import Ask, Crew, ReadingProcess, crew_of
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.emit import Answer, Request
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.state import Batch, BatchResult, StoreUnavailableError
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
  order: {key: [id], fields: {id: long, user: long, total: int}}
products:
  profile:
    root: user
    fields: [name]
    embed:
      orders: {many: order, on: {user: id}, fields: [total]}
      best: {one: order, on: {user: id}, fields: [total]}
"""


@pytest.fixture
def products() -> Sequence[Product]:
    return build_plan(load_text(PROJECT)).products


def opened(products: Sequence[Product], path: Path, crew: Crew | None) -> StoreDriver:
    return StoreDriver(products, SqliteState(products, path), team=crew, alone=10)


def crew(products: Sequence[Product], path: Path) -> Crew:
    return Crew(Task(products, partial(sqlite_reader, products, path, products[0].query)), 2)


def test_an_expression_as_long_as_can_be_read_goes_to_the_processes(tmp_path: Path) -> None:
    long = PROJECT.replace("fields: [name]", f"fields: {{n: {' || '.join(['name'] * 280)}}}")

    crew(build_plan(load_text(long)).products, tmp_path / "x.db").close()


def batch(number: int) -> list[Change]:
    users = [Change("user", {"id": at}, {"id": at, "name": f"{number}"}) for at in range(200)]
    orders = [
        Change("order", {"id": at}, {"id": at, "user": at % 200, "total": at * number})
        for at in range(400)
    ]
    return [*users, *orders]


def let_the_process_take_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process begin only once the other one has taken a request, as it may be idle."""
    taken = threading.Event()
    answer, answers = ReadingProcess.answer, Crew.answers

    def noted(process: ReadingProcess, request: Request) -> Answer:
        taken.set()
        return answer(process, request)

    def fair(crew: Crew, requests: Sequence[Request], here: Ask) -> list[Answer]:
        def after(request: Request) -> Answer:
            assert taken.wait(60)
            return here(request)

        return answers(crew, requests, after)

    monkeypatch.setattr(ReadingProcess, "answer", noted)
    monkeypatch.setattr(Crew, "answers", fair)


def run(driver: StoreDriver) -> list[BatchResult]:
    try:
        return [driver.apply(batch(at), Batch("q", at, 1, 1000 * (at + 1))) for at in range(3)]
    finally:
        driver.close()


def test_documents_and_counts_are_those_of_one_process(
    products: Sequence[Product], tmp_path: Path
) -> None:
    path = tmp_path / "crew.db"

    alone = run(opened(products, tmp_path / "alone.db", None))
    together = run(opened(products, path, crew(products, path)))

    assert [each.emitted for each in alone] == [each.emitted for each in together]
    assert [each.counters for each in alone] == [each.counters for each in together]
    assert 200 == together[0].counters["profile"]["multiple_matches"]


def test_a_process_that_is_gone_is_told_and_the_batch_goes_on_with_another(
    products: Sequence[Product], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "crew.db"
    first = crew(products, path)
    driver = opened(products, path, first)
    driver.apply(batch(0), Batch("q", 0, 1, 1000))
    os.kill(first._processes[0]._process.pid, signal.SIGKILL)
    let_the_process_take_a_request(monkeypatch)
    with pytest.raises(StoreUnavailableError, match="is gone"):
        driver.apply(batch(1), Batch("q", 1, 1, 2000))
    driver.close()

    again = opened(products, path, crew(products, path))
    outcome = again.apply(batch(1), Batch("q", 1, 1, 2000))
    again.close()

    assert 200 == len(outcome.emitted["profile"].documents)


def test_a_process_that_cannot_be_started_is_told(
    products: Sequence[Product], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "crew.db"
    driver = opened(products, path, crew(products, path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))

    with pytest.raises(StoreUnavailableError, match="could not be started"):
        driver.apply(batch(0), Batch("q", 0, 1, 1000))

    driver.close()


def test_one_process_or_a_store_that_cannot_be_read_elsewhere_is_no_crew(
    products: Sequence[Product], tmp_path: Path
) -> None:
    task = Task(products, partial(sqlite_reader, products, tmp_path / "a.db", "q"))

    assert crew_of(task, 1) is None
    assert crew_of(None, 4) is None
