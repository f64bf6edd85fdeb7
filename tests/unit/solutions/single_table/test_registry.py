"""Slots are few, stable, and never more than a table has indexes for."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from joinery.solutions.single_table.registry import open_registry
from joinery.solutions.single_table.slot import MOST, Need, TooManySlotsError, assign


def needs(**columns: int) -> list[Need]:
    return [(name, (f"c{at:02}",)) for name, count in columns.items() for at in range(count)]


def test_relations_share_slots() -> None:
    assert {1, 2, 3} == set(assign(needs(user=3, star=2, repo=1), {}).values())


def test_two_needs_of_a_relation_never_share_one() -> None:
    slots = assign(needs(user=MOST, star=7), {})

    assert list(range(1, MOST + 1)) == sorted(s for (name, _), s in slots.items() if name == "user")


@pytest.mark.parametrize("seed", range(20))
def test_a_slot_stays_when_products_come_and_go(seed: int) -> None:
    random = Random(seed)
    everything = needs(user=6, star=4, repo=3)
    slots: dict[Need, int] = {}

    for _ in range(5):
        before = dict(slots)
        slots = assign(random.sample(everything, 5), slots)
        assert before.items() <= slots.items()
        taken = [(name, slot) for (name, _), slot in slots.items()]
        assert len(set(taken)) == len(taken)


def test_more_joins_than_indexes_are_refused_with_what_to_do() -> None:
    with pytest.raises(TooManySlotsError) as refused:
        assign(needs(user=MOST + 1), {})

    assert (
        'relation "user" needs more than the 20 indexes of a DynamoDB table'
        == refused.value.message
    )
    assert "(c00), (c01)" in refused.value.detail
    assert "another `table`" in refused.value.hint


def test_a_relative_registry_is_beside_the_project_file(tmp_path: Path) -> None:
    below = tmp_path / "checkpoint" / "slots.db"
    named = open_registry("sqlite:///shared.db", "documents", below, tmp_path)
    named.add({("star", ("repo",)): 1})

    again = open_registry(f"sqlite:///{tmp_path / 'shared.db'}", "documents", below)

    assert {("star", ("repo",)): 1} == again.read()
    assert not below.exists()
