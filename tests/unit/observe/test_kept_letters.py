"""Dead letters of some names, and what was done about them, from the files of their folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joinery.observe.kept_letters import HandledLetters, KeptLetters, kept_letters
from joinery.observe.outline import letters_folder
from joinery.testing.conformance.project import load_text

PROJECT = """
relations: {user: {key: [id], fields: {id: long, name: string}}}
products: {person: {root: user, sink: {files: {path: out}}}}
"""
NOON = "2026-01-02T12:00:00Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / ".joinery" / "dead_letters"
    folder.mkdir(parents=True)
    return folder


def kept(folder: Path) -> KeptLetters | None:
    return kept_letters(letters_folder(replace(load_text(PROJECT), folder=folder.parents[1])))


def written(folder: Path, *topics: str) -> list[str]:
    """Write a letter of each topic; return their ids."""
    letter = {"reason": "undecodable", "file": "1.jsonl", "time": "2026-01-01T00:00:00Z"}
    lines = [json.dumps({**letter, "topic": e, "line": n}) for n, e in enumerate(topics)]
    (folder / "person-1.jsonl").write_text("\n".join(lines))
    found = kept(folder)
    assert found is not None
    return [each.id for each in found.letters]


def marked(folder: Path, *marks: dict[str, Any]) -> None:
    full = ({"until": NOON, "at": NOON, "state": "dropped", **each} for each in marks)
    (folder / ".marks.jsonl").write_text("\n".join(json.dumps(each) for each in full))


def test_what_somebody_did_at_once_is_one(folder: Path) -> None:
    one, two, three = written(folder, "user", "user", "user")
    later = "2026-01-03T12:00:00Z"
    marked(
        folder,
        {"id": three, "by": "ben", "at": later, "state": "replayed"},
        {"id": one, "by": "ada"},
        {"id": two, "by": "ada"},
    )

    found = kept(folder)

    assert found is not None
    assert () == found.open
    assert [
        HandledLetters("dropped", NOON, "ada", 2),
        HandledLetters("replayed", later, "ben", 1),
    ] == found.handled()


def test_a_mark_of_before_who_was_kept_is_nobodys(folder: Path) -> None:
    [one] = written(folder, "user")
    marked(folder, {"id": one})

    found = kept(folder)

    assert found is not None
    assert [HandledLetters("dropped", NOON, "", 1)] == found.handled()


def test_what_was_done_about_others_is_left_out(folder: Path) -> None:
    other, user = written(folder, "other", "user")
    marked(folder, {"id": user, "by": "ada"}, {"id": other, "by": "ben"})

    found = kept(folder)

    assert found is not None
    assert ["ben"] == [each.by for each in found.of({"other"}).handled()]
    assert [other] == [each.id for each in found.of({"other"}).letters]


def test_a_folder_that_holds_anything_else_is_not_read(folder: Path) -> None:
    written(folder, "user")
    (folder / "person-2.jsonl").write_text("no letter")

    assert kept(folder) is None
