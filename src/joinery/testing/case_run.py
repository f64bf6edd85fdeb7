"""Runs cases on the reference solution: no Spark, no servers.

Limits: what waits by the clock of a run (`emit`, `ready`) is not waited for, and a store
that a stream queries holds the rows that the case gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from joinery.errors import JoineryError
from joinery.model.change import Row
from joinery.plan.nodes import Product
from joinery.solutions.protocol import DeadDocument
from joinery.testing.case import Case, CaseStep, Target
from joinery.testing.case_compare import Difference, Found, compare_dead, compare_documents
from joinery.testing.driver import Driver, Emission
from joinery.testing.stream_driver import StreamDriver


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case.

    Attributes:
        step: The first step that failed, from 1; None where all passed.
        differences: Of that step.
        error: Why the case could not go on; empty where it could.
    """

    case: Case
    step: int | None = None
    differences: tuple[Difference, ...] = ()
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether all is as expected."""
        return self.step is None


def run_case(case: Case) -> Outcome:
    """Run a case up to its first step that does not give what is expected."""
    try:
        send = _opened(case.target)
    except (JoineryError, ImportError, AttributeError) as error:  # a function that is not there
        return Outcome(case, 1, error=_told(error))
    for number, step in enumerate(case.steps, 1):
        try:
            found, dead = send(step)
        except JoineryError as error:
            return Outcome(case, number, error=_told(error))
        differences = _documents(step, found, case) + compare_dead(step.dead, dead, case.target)
        if differences:
            return Outcome(case, number, tuple(differences))
    return Outcome(case)


def _told(error: Exception) -> str:
    return error.message if isinstance(error, JoineryError) else str(error)


def _documents(step: CaseStep, found: Sequence[Found], case: Case) -> list[Difference]:
    return [] if step.expect is None else compare_documents(step.expect, found, case.target)


Send = Callable[[CaseStep], tuple[list[Found], list[DeadDocument]]]


def _opened(target: Target) -> Send:
    """Return what sends a step, and gives what is to be compared and the dead letters."""
    if isinstance(target.plan, Product):
        return _product(target, Driver(target.plan))
    return _stream(target, StreamDriver(target.plan))


def _product(target: Target, driver: Driver) -> Send:
    def send(step: CaseStep) -> tuple[list[Found], list[DeadDocument]]:
        known = len(driver.dead_letters)
        driver.send(step.changes)
        documents = driver.documents().items()
        found = [Found(_row(key, target), value) for key, value in documents]
        return found, driver.dead_letters[known:]

    return send


def _stream(target: Target, driver: StreamDriver) -> Send:
    def send(step: CaseStep) -> tuple[list[Found], list[DeadDocument]]:
        known = len(driver.dead_letters)
        sent: list[Emission] = driver.send(step.changes, after=step.after)
        found = [Found(_row(each.key, target), each.value or {}) for each in sent]
        return found, driver.dead_letters[known:]

    return send


def _row(key: Any, target: Target) -> Row:
    """Return a driver's key by its columns."""
    names = [each.name for each in target.key.fields]
    return dict(zip(names, key if len(names) > 1 else (key,), strict=True))
