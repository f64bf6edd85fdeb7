"""What a product did, as a table of the last hours or days."""

from __future__ import annotations

from joinery.observe.history import history_lines
from joinery.observe.history_file import Batches, Minute

NOON = 1_700_049_600.0  # 2023-11-15 12:00:00Z


def minute(
    seconds: float,
    batches: Batches | None = None,
    *,
    fresh_s: float | None = 0.5,
    rows_left: int = 0,
    waits: tuple[str, ...] = (),
    ended: str = "",
) -> Minute:
    return Minute(
        at=NOON + seconds,
        sent=5,
        fresh_s=fresh_s,
        rows_left=rows_left,
        batches=batches or Batches(),
        waits=waits,
        ended=ended,
    )


def test_minutes_of_an_hour_are_one_row_of_sums_and_worst_cases() -> None:
    quick = Batches(count=50, last=50, rows=900, longest_s=1.2, writing_s=0.3)
    slow = Batches(count=2, last=52, rows=100, longest_s=42.0, writing_s=40.0)

    lines = list(
        history_lines(
            "card",
            [
                minute(60, quick),
                minute(120, slow, fresh_s=44.0, rows_left=310_000, waits=("opensearch items",)),
                minute(3600, fresh_s=None, ended="ended"),
            ],
            86_400.0,
        )
    )

    assert [
        "card, by 1h",
        "  from                  batches   rows  sent  longest  writing  fresh   behind",
        "  2023-11-15 12:00:00Z       52  1,000    10     42 s      95%   44 s  310,000"
        "  waited for opensearch items",
        "  2023-11-15 13:00:00Z        0      0     5        -        -      -        0  ended",
    ] == lines


def test_the_less_is_asked_for_the_shorter_are_its_parts() -> None:
    minutes = [minute(60.0 * at) for at in range(120)]

    rows = {since: len(list(history_lines("card", minutes, since))) - 2 for since in (1500, 7200)}

    assert {1500: 120, 7200: 24} == rows


def test_a_product_of_which_nothing_was_written_says_so() -> None:
    assert ["card: nothing is on record"] == list(history_lines("card", [], 60.0))
