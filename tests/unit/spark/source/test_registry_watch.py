"""A schema registry that tasks wait for is told for each source that reads by it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from joinery.model.progress import Waiting
from joinery.project.schema_registry import RegistryOptions
from joinery.spark.source.registry_watch import RegistryWatch

WAIT = {"reason": "http://a:1: it cannot be connected to", "attempts": 3, "since": 7500}
TARGET = 'the schema registry of source "shop"'


def watch(told: list[tuple[str, Waiting | None]]) -> RegistryWatch:
    registries = {"shop": RegistryOptions("http://a:1/,http://b:2"), "old": None}
    relations: Any = [
        SimpleNamespace(source=name, registry=registries[name]) for name in registries
    ]
    return RegistryWatch(cast("Any", None), relations, lambda *each: told.append(each))


def test_a_wait_is_told_of_the_sources_of_the_registry_as_it_changes() -> None:
    told: list[tuple[str, Waiting | None]] = []
    registries = watch(told)

    for attempts in (3, 3, 4):
        registries.note({"http://a:1, http://b:2": {**WAIT, "attempts": attempts}})
    registries.note({"http://elsewhere:1": WAIT})

    assert [(TARGET, 3), (TARGET, 4)] == [(name, each.attempts) for name, each in told if each]
    waiting = told[0][1]
    assert waiting is not None
    assert (7.5, "shop") == (waiting.since, waiting.source)
    assert waiting.is_of((), ("shop",))
    assert not waiting.is_of((), ("old",))


def test_a_wait_is_over_once_it_is_missed_twice() -> None:
    told: list[tuple[str, Waiting | None]] = []
    registries = watch(told)

    registries.note({"http://a:1, http://b:2": WAIT})
    registries.note({})
    before = len(told)
    registries.note({})
    registries.note({})

    assert 1 == before
    assert [(TARGET, None)] == told[1:]
