"""What an endless history gathers on its way is what its lines come to."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from bench.compare.endless_history import EndlessHistory
from bench.compare.expected import expected_profiles
from joinery.testing.github import debezium_line, write_lines

CHANGES = 30_000
ONE_IN = 7


def test_profiles_are_those_of_all_lines_written_part_by_part(tmp_path: Path) -> None:
    history = EndlessHistory(ONE_IN)
    for part in range(3):
        lines = history.lines(CHANGES // 3)
        write_lines(lines, tmp_path, name=f"part-{part}", render=debezium_line)

    expected = {
        email: profile
        for email, profile in expected_profiles(tmp_path).items()
        if history.is_looked_at(int(email[1 : email.index("@")]))
    }
    assert expected == history.profiles()
    stars = [star for _, profile in islice(expected.items(), 200) for star in profile[1]]
    assert len(expected) > 300
    assert any(description is None for _, description in stars)
    assert any(description is not None for _, description in stars)


def test_the_same_number_gives_the_same_line() -> None:
    whole = list(EndlessHistory(ONE_IN).lines(2_000))
    parts = EndlessHistory(ONE_IN)
    assert whole == [*parts.lines(700), *parts.lines(1_300)]
