"""The conformance suites: what every solution, sink and lookup store must do."""

from __future__ import annotations

from joinery.testing.conformance.case import Case, Step, case, when
from joinery.testing.conformance.cases import all_cases
from joinery.testing.conformance.lookup import (
    LookupCase,
    LookupOutcome,
    LookupTarget,
    check_lookup,
    examine_lookup,
    lookup_cases,
)
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
    "LookupCase",
    "LookupOutcome",
    "LookupTarget",
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
    "check_lookup",
    "check_sink",
    "examine",
    "examine_lookup",
    "examine_sink",
    "lookup_cases",
    "sink_cases",
    "when",
]
