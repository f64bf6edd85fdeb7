"""Declared columns that the data never has."""

from __future__ import annotations

from joinery.model.batch import BatchProgress, Counts
from joinery.spark.source.warning import ColumnWatch, frame_warning

DECLARED = {"user": ["name", "note"], "article": ["title"]}


def batch(number: int, **columns: Counts) -> BatchProgress:
    return BatchProgress(
        query="q",
        batch_id=number,
        relations={},
        documents={},
        counters={},
        dead=0,
        seconds=1.0,
        ended_at=0.0,
        columns=columns,
    )


def test_a_column_that_the_data_spells_otherwise_is_told_at_once() -> None:
    (told,) = ColumnWatch(DECLARED).warnings(
        batch(7, user={"rows": 2, "unseen:name": 2, "undeclared:nmae": 1, "undeclared:born": 1})
    )

    assert "WARN_COLUMN_MISNAMED" == told.code
    assert 'declares "name", which no record has' in told.message
    assert '"nmae"' in told.message


def test_a_column_that_some_part_of_a_batch_had_is_there() -> None:
    counts = {"rows": 5, "unseen:name": 3, "undeclared:nmae": 1}

    assert [] == list(ColumnWatch(DECLARED).warnings(batch(0, user=counts)))


def test_a_column_that_an_earlier_batch_had_is_there() -> None:
    watch = ColumnWatch(DECLARED)

    told = [*watch.warnings(batch(0, user={"rows": 5}))]
    told += watch.warnings(batch(1, user={"rows": 200, "unseen:name": 200, "undeclared:nmae": 1}))

    assert [] == told


def test_a_column_that_is_missing_without_a_like_name_is_told_of_a_first_batch() -> None:
    counts = {"rows": 3, "unseen:title": 3, "undeclared:headline": 1}

    (told,) = ColumnWatch(DECLARED).warnings(batch(0, article=counts))

    assert "WARN_COLUMN_ABSENT" == told.code
    assert "Undeclared are headline." in told.detail
    assert [] == list(ColumnWatch(DECLARED).warnings(batch(1, article=counts)))


def test_a_declared_column_that_the_query_does_not_need_is_none_that_nobody_declares() -> None:
    watch = ColumnWatch({"user": ["name", "nmae", "born"]})
    counts = {"rows": 2, "unseen:name": 2, "undeclared:nmae": 1, "undeclared:born": 1}

    assert [] == list(watch.warnings(batch(0, user=counts)))


def test_a_column_that_no_record_is_to_have_is_none_that_is_missing() -> None:
    counts = {"rows": 300, "unseen:email~index": 300, "undeclared:born": 1}

    assert [] == list(ColumnWatch(DECLARED).warnings(batch(0, user=counts)))


def test_a_column_that_is_often_left_out_is_told_after_many_rows() -> None:
    watch = ColumnWatch(DECLARED)

    few = [*watch.warnings(batch(0, user={"rows": 60, "unseen:note": 60}))]
    many = [*watch.warnings(batch(1, user={"rows": 60, "unseen:note": 60}))]

    assert ([], ["WARN_COLUMN_ABSENT"]) == (few, [each.code for each in many])


def test_a_frame_that_spells_a_column_otherwise_is_told_by_its_schema() -> None:
    told = frame_warning("user", ["name", "born"], ["nmae", "city"])

    assert told is not None
    assert "WARN_COLUMN_MISNAMED" == told.code
    assert (
        'declares "name", which its frame does not have, and the frame has "nmae"' in told.message
    )
    assert frame_warning("user", ["born"], ["city"]) is None
