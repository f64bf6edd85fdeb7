"""The conformance suites: what every solution, sink and lookup store must do."""

from __future__ import annotations

from joinery.testing.conformance.aggregate_cases import (
    aggregate_cases,
    clock_cases,
    closed_cases,
    closed_reading_cases,
    closed_session_cases,
    function_cases,
    late_cases,
    reading_cases,
    session_cases,
    sliding_cases,
)
from joinery.testing.conformance.case import Case, Step, case, when
from joinery.testing.conformance.cases import (
    all_cases,
    through_aggregate_cases,
    through_cases,
)
from joinery.testing.conformance.fold_cases import clock_fold_cases, fold_cases
from joinery.testing.conformance.history_cases import as_of_cases, history_cases
from joinery.testing.conformance.lookup import (
    LookupCase,
    LookupOutcome,
    LookupTarget,
    check_lookup,
    examine_lookup,
    lookup_cases,
)
from joinery.testing.conformance.pattern_cases import pattern_cases, waiting_pattern_cases
from joinery.testing.conformance.runner import ReferenceRunner, Runner, Sent
from joinery.testing.conformance.search_cases import search_cases
from joinery.testing.conformance.sink import SinkCase, SinkOutcome, SinkTarget
from joinery.testing.conformance.sink_suite import check_sink, examine_sink, sink_cases
from joinery.testing.conformance.stream_case import StreamCase, StreamStep, batch, stream_case
from joinery.testing.conformance.stream_cases import stream_cases
from joinery.testing.conformance.stream_suite import (
    ReferenceStreamRunner,
    StreamBatch,
    StreamRunner,
    check_streams,
)
from joinery.testing.conformance.suite import ConformanceError, Outcome, check, examine
from joinery.testing.conformance.task_writing import by_tasks
from joinery.testing.conformance.within_cases import closed_within_cases, within_cases

__all__ = [
    "Case",
    "ConformanceError",
    "LookupCase",
    "LookupOutcome",
    "LookupTarget",
    "Outcome",
    "ReferenceRunner",
    "ReferenceStreamRunner",
    "Runner",
    "Sent",
    "SinkCase",
    "SinkOutcome",
    "SinkTarget",
    "Step",
    "StreamBatch",
    "StreamCase",
    "StreamRunner",
    "StreamStep",
    "aggregate_cases",
    "all_cases",
    "as_of_cases",
    "batch",
    "by_tasks",
    "case",
    "check",
    "check_lookup",
    "check_sink",
    "check_streams",
    "clock_cases",
    "clock_fold_cases",
    "closed_cases",
    "closed_reading_cases",
    "closed_session_cases",
    "closed_within_cases",
    "examine",
    "examine_lookup",
    "examine_sink",
    "fold_cases",
    "function_cases",
    "history_cases",
    "late_cases",
    "lookup_cases",
    "pattern_cases",
    "reading_cases",
    "search_cases",
    "session_cases",
    "sink_cases",
    "sliding_cases",
    "stream_case",
    "stream_cases",
    "through_aggregate_cases",
    "through_cases",
    "waiting_pattern_cases",
    "when",
    "within_cases",
]
