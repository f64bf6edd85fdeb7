"""The one way that warnings of a run go."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from joinery.errors import Location
from joinery.model.warning import RunWarning, Warnings

ODD = RunWarning(code="WARN_X", about='relation "user"', message="it is odd", hint="Mend it.")


def test_a_warning_is_handed_on_once() -> None:
    told: list[RunWarning] = []
    warnings = Warnings(told.append)

    warnings.add(ODD)
    warnings.add(replace(ODD, message="it is odd again"))
    warnings.add(replace(ODD, about='relation "repo"'))

    assert [ODD, replace(ODD, about='relation "repo"')] == told
    assert tuple(told) == warnings.known


def test_a_warning_is_logged_with_its_parts(warned: Callable[[], list[logging.LogRecord]]) -> None:
    Warnings().add(replace(ODD, detail="It has two heads.", location=Location("a.yaml", 2, 3)))

    (record,) = warned()
    assert logging.WARNING == record.levelno
    assert "a.yaml:2:3: it is odd. It has two heads. Mend it. [WARN_X]" == record.getMessage()
    assert "WARN_X" == vars(record)["code"]
    assert "Mend it." == vars(record)["hint"]
