"""What was written a moment ago is found although no index shows it."""

from __future__ import annotations

from joinery.solutions.single_table.recent import Recent

NAME = ("name",)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_newest_row_is_found_by_its_values_and_no_other() -> None:
    recent = Recent(5)
    recent.put("a", {"name": "old"}, {NAME: "old"})
    recent.put("a", {"name": "new"}, {NAME: "new"})

    assert [] == list(recent.matching(NAME, "old"))
    assert [{"name": "new"}] == list(recent.matching(NAME, "new"))


def test_a_row_that_went_covers_what_an_index_still_shows() -> None:
    recent = Recent(5)
    recent.put("a", None, {})

    assert "a" in recent
    assert [] == list(recent.matching(NAME, "old"))


def test_a_row_is_kept_until_indexes_show_it() -> None:
    clock = Clock()
    recent = Recent(5, clock)
    recent.put("a", {"name": "x"}, {NAME: "x"})

    clock.now = 4.0
    recent.expire()
    assert "a" in recent

    clock.now = 6.0
    recent.expire()
    assert "a" not in recent
    assert [] == list(recent.matching(NAME, "x"))
