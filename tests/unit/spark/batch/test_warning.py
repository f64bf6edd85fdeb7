"""What a run warns of."""

from __future__ import annotations

from joinery.errors import PlanError
from joinery.model.batch import BatchProgress
from joinery.plan.product import Plan
from joinery.project.kind import SinkSpec
from joinery.project.node import NodeSpec
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.run import RunSpec
from joinery.project.step import UnionSpec
from joinery.project.stream import StreamSpec
from joinery.spark.batch.progress import (
    ProgressBoard,
    batch_warnings,
    stale_warnings,
    start_warnings,
)


def batch(**counts: int) -> BatchProgress:
    return BatchProgress(
        query="q",
        batch_id=0,
        relations={"user": counts},
        documents={},
        counters={},
        dead=0,
        seconds=1.0,
        ended_at=0.0,
    )


def test_a_truncated_table_is_told_once_and_stays_in_the_progress() -> None:
    board = ProgressBoard()

    for each in (batch(read=2, truncates=1), batch(read=1, truncates=1)):
        for warning in batch_warnings(each):
            board.warn(warning)

    (told,) = board.progress.warnings
    assert "WARN_TRUNCATED" == told.code
    assert 'relation "user": its table was truncated' in told.message


def test_values_lost_by_a_change_of_key_name_the_replica_identity() -> None:
    (told,) = batch_warnings(batch(unavailable_values=3))

    assert "REPLICA IDENTITY FULL" in told.hint


def test_a_relation_nearly_all_stale_is_told_once_with_what_to_do() -> None:
    board = ProgressBoard()

    for _ in range(3):
        board.add(batch(read=60, stale=60))
        for warning in stale_warnings(board.progress):
            board.warn(warning)

    (told,) = board.progress.warnings
    assert "WARN_MOSTLY_STALE" == told.code
    assert 'relation "user": nearly all of its changes are stale' == told.message
    assert "joinery run --rebuild" in told.hint


def test_events_read_as_rows_name_the_format() -> None:
    (told,) = batch_warnings(batch(read=11, dead=11, wrong_format=11))

    assert 'relation "user": 11 of 11 records look like debezium-json, not json' == told.message
    assert 'Write format: debezium-json under relation "user"' in told.hint


def test_a_quiet_batch_warns_of_nothing() -> None:
    assert [] == list(batch_warnings(batch(read=5)))


def test_what_goes_nowhere_is_told() -> None:
    sink = SinkSpec("console")
    page = ProductSpec("page", NodeSpec("page", "root", "user"))
    streams = (
        StreamSpec("clean", "clicks"),
        StreamSpec("all", "clean", steps=(UnionSpec("more"),), sinks=(sink,)),
        StreamSpec("more", "clicks"),
        StreamSpec("lost", "clicks"),
    )

    told = start_warnings(
        ProjectSpec("shop", products=(page,), streams=streams, run=RunSpec()), Plan()
    )

    assert [
        'product "page" has no sink, so what it gives is kept nowhere',
        'stream "lost" has no sink, so what it gives is kept nowhere',
    ] == [each.message for each in told]


def test_warnings_of_what_does_not_run_are_left_out() -> None:
    streams = (
        StreamSpec("clean", "clicks"),
        StreamSpec("all", "clean"),
        StreamSpec("other", "clicks"),
    )
    spec = ProjectSpec("shop", streams=streams, run=RunSpec())
    plan = Plan(warnings=tuple(warning_of(*each) for each in ALL))

    told = start_warnings(spec, plan, ("all",))

    assert [
        "relations clicks",
        "streams clean",
        "streams all",
        'stream "all" has no sink, so what it gives is kept nowhere',
    ] == [each.message for each in told]


ALL = (
    ("relations", "clicks"),
    ("products", "page"),
    *(("streams", each) for each in ("clean", "all", "other")),
)


def warning_of(kind: str, name: str) -> PlanError:
    error = PlanError(f"{kind} {name}")
    error.declared = (kind, name, "steps")
    return error
