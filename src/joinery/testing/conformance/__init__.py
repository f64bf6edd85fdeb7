"""The conformance suite: what every solution must do, runnable on any, also from a plug-in."""

from __future__ import annotations

from joinery.testing.conformance.case import Case, Step, case, when
from joinery.testing.conformance.cases import all_cases
from joinery.testing.conformance.runner import ReferenceRunner, Runner, Sent
from joinery.testing.conformance.suite import ConformanceError, Outcome, check, examine

__all__ = [
    "Case",
    "ConformanceError",
    "Outcome",
    "ReferenceRunner",
    "Runner",
    "Sent",
    "Step",
    "all_cases",
    "case",
    "check",
    "examine",
    "when",
]
