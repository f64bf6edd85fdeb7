"""The conformance suites: what every solution and sink must do, also those of a plug-in."""

from __future__ import annotations

from joinery.testing.conformance.case import Case, Step, case, when
from joinery.testing.conformance.cases import all_cases
from joinery.testing.conformance.runner import ReferenceRunner, Runner, Sent
from joinery.testing.conformance.sink import (
    SinkCase,
    SinkOutcome,
    SinkTarget,
    check_sink,
    examine_sink,
    sink_cases,
)
from joinery.testing.conformance.suite import ConformanceError, Outcome, check, examine

__all__ = [
    "Case",
    "ConformanceError",
    "Outcome",
    "ReferenceRunner",
    "Runner",
    "Sent",
    "SinkCase",
    "SinkOutcome",
    "SinkTarget",
    "Step",
    "all_cases",
    "case",
    "check",
    "check_sink",
    "examine",
    "examine_sink",
    "sink_cases",
    "when",
]
