"""What a store is given of a record: the columns that are decoded, nulls for those that are not."""

from __future__ import annotations

from joinery.model.change import Change
from joinery.model.type import INT, STRING, Field
from joinery.plan.relation import Relation
from joinery.spark.source.feed import completed, unread_columns

COLUMNS = (Field("id", INT), Field("name", STRING), Field("note", STRING))
WHOLE = Relation("person", "changes", "person", "json", ("id",), COLUMNS)
DECODED = Relation("person", "changes", "person", "json", ("id",), COLUMNS[:2])


def test_a_column_that_is_not_decoded_is_null() -> None:
    unread = unread_columns([WHOLE], [DECODED])

    found = completed(Change("person", {"id": 1}, {"id": 1, "name": "ann"}), unread)

    assert {"id": 1, "name": "ann", "note": None} == found.after


def test_a_column_that_a_record_leaves_out_is_still_left_out() -> None:
    unread = unread_columns([WHOLE], [DECODED])

    found = completed(Change("person", {"id": 1}, {"id": 1}), unread)

    assert {"id": 1, "note": None} == found.after


def test_a_delete_and_a_row_that_is_decoded_whole_stay_as_they_are() -> None:
    gone = Change("person", {"id": 1}, None)
    row = Change("person", {"id": 1}, {"id": 1, "name": "ann", "note": "n"})

    assert gone is completed(gone, unread_columns([WHOLE], [DECODED]))
    assert row is completed(row, unread_columns([WHOLE], [WHOLE]))
