"""Groups and watermarks on the reference: partitions, letters, ends, snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.driver import Driver, Emission

PROJECT = """
sources: {c: {SOURCE}}
relations:
  view:
    append: true
    fields: {id: long, page: string, at: timestamp}
    time: at
    watermark: WATERMARK
products:
  p:
    aggregate: view
    window: {tumbling: 1h}
    values: {n: count(*)}
    emit: EMIT
    sink: {files: {path: out}}
"""


def driver(
    folder: Path,
    emit: str = "{}",
    watermark: str = "{delay: 0s}",
    source: str = "files: {path: data}",
) -> Driver:
    file = folder / "joinery.yaml"
    text = PROJECT.replace("EMIT", emit).replace("WATERMARK", watermark).replace("SOURCE", source)
    file.write_text(text, encoding="utf-8")
    return Driver(jn.load(file).products["p"])


def view(clock: str, position: int | None = None, partition: int = 0) -> RowChange:
    told = insert("view", page="a", at=f"2026-03-01T{clock}:00Z").within(partition)
    return told if position is None else told.at(position)


def counts(emitted: list[Emission]) -> list[tuple[int, int]]:
    """Return the hour and the count of each window that was sent."""
    return [(each.key.hour, each.value["n"]) for each in emitted if each.value]


def test_a_window_closes_when_the_slowest_partition_has_passed_its_end(tmp_path: Path) -> None:
    made = driver(tmp_path, "{when: closed}")

    assert [] == made.send(view("10:00"), view("10:05", partition=1))
    assert [] == made.send(view("13:00"))
    assert [(10, 2)] == counts(made.send(view("11:00", partition=1)))
    assert 0 == made.counters["late"]


def test_a_row_is_late_against_its_own_partition_alone(tmp_path: Path) -> None:
    made = driver(tmp_path, "{late: drop}")
    made.send(view("10:00"), view("10:00", partition=1))

    sent = made.send(view("15:00", 1), view("11:00", 2, partition=1), view("14:00", 3))

    assert [(11, 1), (15, 1)] == counts(sent)
    assert 1 == made.counters["late"]


def test_changes_without_a_place_are_not_late_against_their_own_batch(tmp_path: Path) -> None:
    made = driver(tmp_path, "{late: drop}")

    assert [(10, 1), (15, 1)] == counts(made.send(view("15:00"), view("10:00")))
    assert [] == made.send(view("10:01"))


def test_a_late_row_is_a_dead_letter_that_tells_by_how_much(tmp_path: Path) -> None:
    made = driver(tmp_path, "{late: dead_letter, allowed: 30m}")
    made.send(view("15:00", 1), view("14:00", 2))

    (letter,) = made.dead_letters
    assert ("p", "late") == (letter.product, letter.reason)
    assert "Its time is 1800 s below what the watermark allows." == letter.detail


def test_a_partition_that_is_new_brings_overtaken_rows(tmp_path: Path) -> None:
    made = driver(tmp_path, "{when: closed}")
    made.send(view("10:00"), view("13:00"))

    assert [(10, 2)] == counts(made.send(view("10:30", partition=1)))
    assert (0, 1) == (made.counters["late"], made.counters["overtaken"])


def test_an_idle_partition_holds_nobody_up(tmp_path: Path) -> None:
    made = driver(tmp_path, "{when: closed}", "{idle: 2s}")
    made.send(view("10:00"), view("10:05", partition=1))

    assert [] == made.send(view("11:30"))
    assert [(10, 2)] == counts(made.send(view("11:31")))


def test_a_time_far_ahead_of_the_log_moves_no_watermark(tmp_path: Path) -> None:
    made = driver(tmp_path, "{late: drop}", "{ahead: 1h}", source="kafka: {bootstrap: 'b:9092'}")

    sent = made.send(
        view("10:00", 1).logged("2026-03-01T10:00:01Z"),
        view("18:00", 2).logged("2026-03-01T10:01:00Z"),
        view("10:30", 3).logged("2026-03-01T10:30:01Z"),
        view("11:00", 4).logged("2026-03-01T10:30:02Z"),
        view("10:59", 5).logged("2026-03-01T11:00:00Z"),
    )

    assert [(10, 2), (11, 1), (18, 1)] == counts(sent)
    assert 1 == made.counters["late"]


def test_rows_of_a_snapshot_are_never_late_and_move_no_watermark(tmp_path: Path) -> None:
    made = driver(tmp_path, "{when: closed, late: drop}")
    made.send(view("10:00"), view("12:00"))

    assert [(10, 2)] == counts(made.send(view("10:01").as_snapshot(), view("18:00").as_snapshot()))
    assert [] == counts(made.send(view("12:30")))


def test_at_the_end_all_windows_close_and_later_rows_correct_them(tmp_path: Path) -> None:
    made = driver(tmp_path, "{when: closed, late: drop}")
    made.send(view("10:00", 1))

    assert [(10, 1)] == counts(made.until_closed())
    assert [(10, 2)] == counts(made.send(view("10:10", 2)))
    assert 1 == made.counters["overtaken"]


def test_deletes_of_a_log_are_counted_and_change_nothing(tmp_path: Path) -> None:
    made = driver(tmp_path)
    made.send(view("10:00"))

    assert [] == made.send(delete("view"))
    assert 1 == made.counters["ignored_deletes"]


@pytest.mark.parametrize("cut", [1, 2, 3, 7])
def test_what_stands_does_not_depend_on_how_the_log_is_cut(tmp_path: Path, cut: int) -> None:
    clocks = ["10:00", "11:00", "10:30", "12:00", "10:59", "11:30", "13:00", "09:00"]
    log = [view(each, number) for number, each in enumerate(clocks, 1)]
    made = driver(tmp_path, "{late: drop, allowed: 30m}")

    for start in range(0, len(log), cut):
        made.send(log[start : start + cut])

    assert {10: 2, 11: 2, 12: 1, 13: 1} == {
        key.hour: value["n"] for key, value in made.documents().items()
    }


def test_a_zero_that_groups_are_made_by_has_no_sign_whichever_row_was_first() -> None:
    reading = jn.relation(
        "reading", key="id", fields={"id": "long", "t": "string"}, derive={"c": "cast(t as double)"}
    )
    made = Driver(jn.aggregate("p", reading, by=["c"], values={"n": "count(*)"}))

    made.send(insert("reading", id=1, t="-0.0"))
    made.send(insert("reading", id=2, t="0.0"))

    assert "{0.0: {'c': 0.0, 'n': 2}}" == str(made.documents())
