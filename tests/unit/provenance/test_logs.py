"""Records of several logs come in the order in which they were written, as far as that is told."""

from __future__ import annotations

from joinery.model.change import Change
from joinery.provenance.logs import in_order


def log(change: Change) -> tuple[str, int]:
    return change.relation, change.partition


def change(
    relation: str, number: int, *, position: int | None = None, partition: int = 0
) -> Change:
    return Change(
        relation,
        {"id": number},
        {"id": number},
        position=position,
        place=(partition, number),
        partition=partition,
    )


def test_positions_of_one_database_order_its_logs() -> None:
    changes = [
        change("user", 1, position=10),
        change("user", 2, position=40),
        change("order", 1, position=20),
        change("order", 2),  # of a snapshot: as new as what stood before it
        change("order", 3, position=30),
    ]

    by, found = in_order(changes, log, lambda each: 0.0, one_database=True)

    assert "position" == by
    assert [("user", 1), ("order", 1), ("order", 2), ("order", 3), ("user", 2)] == [
        (each.relation, each.key["id"]) for each in found
    ]


def test_times_order_logs_and_partitions_without_positions() -> None:
    times = {("user", 0, 1): 5.0, ("user", 0, 2): 1.0, ("user", 1, 1): 4.0, ("order", 0, 1): 6.0}
    changes = [
        change("user", 1),
        change("user", 2),
        change("user", 1, partition=1),
        change("order", 1),
    ]

    by, found = in_order(
        changes,
        log,
        lambda each: times[each.relation, each.partition, each.key["id"]],
        one_database=True,
    )

    assert "time" == by
    assert [("user", 1, 1), ("user", 0, 1), ("user", 0, 2), ("order", 0, 1)] == [
        (each.relation, each.partition, each.key["id"]) for each in found
    ]


def test_positions_of_two_databases_are_not_compared() -> None:
    changes = [change("user", 1, position=10), change("order", 1, position=5)]

    by, _ = in_order(changes, log, lambda each: 0.0, one_database=False)

    assert "time" == by
