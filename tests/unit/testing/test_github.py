"""The generated history is reproducible, exact in number and consistent with itself."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from joinery.testing.github import (
    RELATIONS,
    TOPICS,
    UPDATE_HEAVY,
    History,
    debezium_line,
    flat_line,
    generate,
)


def test_the_same_seed_gives_the_same_lines() -> None:
    first = list(History(3000, seed=5).lines(3000))
    second = list(History(3000, seed=5).lines(3000))

    assert first == second
    assert first != list(History(3000, seed=6).lines(3000))


def test_a_history_has_exactly_the_changes_asked_for(tmp_path: Path) -> None:
    written = generate(tmp_path, changes=2000, files=3, update_heavy=500)

    lines = sum(len(file.read_text().splitlines()) for file in tmp_path.glob("*/*.jsonl"))
    assert 2500 == written == lines
    assert not list(tmp_path.glob("*/.*"))


def test_before_is_the_row_as_it_was_left() -> None:
    rows: dict[tuple[int, str], str] = {}
    for relation, op, before, after, _ in History(5000, seed=1).lines(5000):
        if before:
            assert rows.pop((relation, before)) == before
        if after:
            rows[relation, after] = after
        assert (op == "c") == (before is None)
        assert (op == "d") == (after is None)


def test_positions_rise_with_the_history() -> None:
    lines = islice(History(500).lines(500), 500)

    positions = [json.loads(debezium_line(line))["source"]["lsn"] for line in lines]

    assert positions == sorted(set(positions))


def test_a_flat_delete_carries_its_row_and_the_mark() -> None:
    line = (0, "d", '{"id":1,"email":"a@example.com"}', None, 9)

    expected = {"id": 1, "email": "a@example.com", "__deleted": True}
    assert expected == json.loads(flat_line(line))


def test_the_update_heavy_phase_updates_nine_times_in_ten() -> None:
    history = History(5000)
    list(history.lines(5000))

    ops = [op for _, op, _, _, _ in history.lines(4000, UPDATE_HEAVY)]

    assert 0.8 < ops.count("u") / len(ops) < 0.95


def test_every_relation_has_a_topic() -> None:
    assert len(RELATIONS) == len(TOPICS)
