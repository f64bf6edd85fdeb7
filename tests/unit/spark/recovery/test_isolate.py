"""A batch that fails again and again is halved until the records that break it are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.spark.recovery import isolate as module
from joinery.spark.recovery.attempt import Attempts
from joinery.spark.recovery.isolate import Quarantine, Suspect, isolate

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {customer: {key: [id], fields: {id: long}}}
products: {profile: {root: customer, sink: {files: {path: out}}}}
"""
# Speaks as the probe does: of 40 records, it fails at number 7 and dies of number 30.
PROBE = """
import json, os
from joinery.child import pipes_to_parent
parent = pipes_to_parent()
told = json.loads(parent.receive())
def say(answer):
    parent.send(json.dumps(answer).encode())
with open(told["folder"] + "/../../started", "a") as started:
    started.write("x")
print("what a library prints is no answer")
say({"count": 40})
while True:
    first, end, what = json.loads(parent.receive())
    if what == "place":
        place = {"source": "changes", "topics": ["customer"], "name": None,
                 "partition": None, "file": "1.jsonl", "number": first}
        say({"place": place})
        continue
    if first <= 30 < end:
        os._exit(52)
    say({"why": "it fails" if first <= 7 < end else ""})
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectSpec:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    (tmp_path / "fake_probe.py").write_text(PROBE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_PROBE", "fake_probe")
    return load_spec(tmp_path / "joinery.yaml")


@pytest.fixture
def suspect(tmp_path: Path) -> Suspect:
    root = tmp_path / "c"
    return Suspect(query="profile", root=root, checkpoint=root / "profile", scratch=root)


def attempts(suspect: Suspect) -> Attempts:
    return Attempts(suspect.root, suspect.query)


def test_records_that_fail_or_kill_alone_are_noted_by_their_places(
    spec: ProjectSpec, suspect: Suspect
) -> None:
    for _ in range(2):
        attempts(suspect).failed(4, "no memory")

    found = isolate(spec, suspect)

    assert [7, 30] == [each.number for each in found]
    assert found == Quarantine(suspect.root, "profile").places()
    assert not (suspect.root / "_isolation/profile").exists()


def test_a_process_that_died_is_started_anew(
    spec: ProjectSpec, suspect: Suspect, tmp_path: Path
) -> None:
    for _ in range(2):
        attempts(suspect).failed(4, "no memory")

    isolate(spec, suspect)

    deaths = 7  # 0-40, 20-40, 30-40, 30-35, 30-32, 30-31 and the first of these again
    assert 4 < len((suspect.root / "started").read_text()) <= 1 + deaths


@pytest.mark.parametrize("failures", [[], [4], [3, 4]])
def test_a_batch_is_searched_only_after_it_failed_twice_in_a_row(
    spec: ProjectSpec, suspect: Suspect, failures: list[int]
) -> None:
    for batch in failures:
        attempts(suspect).failed(batch, "no memory")

    assert () == isolate(spec, suspect)


def test_a_batch_is_searched_once(spec: ProjectSpec, suspect: Suspect) -> None:
    for _ in range(2):
        attempts(suspect).failed(4, "no memory")
    isolate(spec, suspect)
    attempts(suspect).failed(4, "no memory")

    assert () == isolate(spec, suspect)


def test_nothing_is_noted_while_a_registry_is_away_and_the_next_start_searches_again(
    spec: ProjectSpec, suspect: Suspect, tmp_path: Path
) -> None:
    answer = 'say({"away": "no registry"} if first <= 7 < end else {"why":'
    away = PROBE.replace('say({"why":', answer)
    (tmp_path / "fake_probe.py").write_text(away)
    for _ in range(2):
        attempts(suspect).failed(4, "no memory")

    assert () == isolate(spec, suspect)

    told = attempts(suspect).read()
    assert told is not None
    assert not told.searched


def test_a_batch_that_went_through_leaves_no_trace(suspect: Suspect) -> None:
    attempts(suspect).failed(4, "no memory")

    attempts(suspect).passed()

    assert attempts(suspect).read() is None


def test_places_are_noted_once_and_kept(suspect: Suspect) -> None:
    place: dict[str, Any] = {
        "source": "changes",
        "topics": ("customer",),
        "name": None,
        "partition": 0,
        "file": None,
    }
    quarantine = Quarantine(suspect.root, "profile")
    first, second = (module.PoisonPlace(**place, number=number) for number in (1, 2))

    quarantine.add([first])
    quarantine.add([first, second])

    assert (first, second) == quarantine.places()
    assert json.loads((suspect.root / "_quarantine/profile.json").read_text())
