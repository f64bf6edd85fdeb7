"""Records of several logs come in the order in which they were written, as far as that is told."""

from __future__ import annotations

from joinery.provenance.live_rows import Record
from joinery.provenance.logs import in_order


def log(record: Record) -> tuple[str, int]:
    assert record.place is not None
    return record.relation, record.place[0]


def record(
    relation: str, number: int, *, position: int | None = None, partition: int = 0
) -> Record:
    return Record(relation, (partition, number), position)


def test_positions_of_one_database_order_its_logs() -> None:
    records = [
        record("user", 1, position=10),
        record("user", 2, position=(1 << 62) + 1),
        record("order", 1, position=20),
        record("order", 2),  # of a snapshot: as new as what stood before it
        record("order", 3, position=1 << 62),
    ]

    by, order = in_order(records, log, lambda each: 0.0, one_database=True)

    assert "position" == by
    assert [0, 2, 3, 4, 1] == [*order]


def test_times_order_logs_and_partitions_without_positions() -> None:
    times = {("user", 0, 1): 5.0, ("user", 0, 2): 1.0, ("user", 1, 1): 4.0, ("order", 0, 1): 6.0}
    records = [
        record("user", 1),
        record("user", 2),
        record("user", 1, partition=1),
        record("order", 1),
    ]

    def written_at(each: Record) -> float:
        assert each.place is not None
        return times[each.relation, *each.place]

    by, order = in_order(records, log, written_at, one_database=True)

    assert "time" == by
    assert [2, 0, 1, 3] == [*order]


def test_positions_of_two_databases_are_not_compared() -> None:
    records = [record("user", 1, position=10), record("order", 1, position=5)]

    by, _ = in_order(records, log, lambda each: 0.0, one_database=False)

    assert "time" == by
