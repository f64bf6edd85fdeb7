"""How many processors there are is known on every system that Joinery runs on."""

from __future__ import annotations

import os

import pytest

from joinery.processor import usable_processors
from joinery.solutions.stored.crew import processors


def test_linux_counts_those_that_are_left_to_the_process() -> None:
    assert len(os.sched_getaffinity(0)) == usable_processors()


def test_a_system_without_affinity_counts_those_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)

    assert 3 == usable_processors()
    assert 3 == processors()


def test_a_local_session_is_cut_for_the_machine_also_without_affinity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from joinery.spark.launch import _cores
    from joinery.spark.real_time.run import real_time_settings

    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)

    assert 3 == _cores("local[*]")
    assert "3" in real_time_settings(master_given=False).values()
