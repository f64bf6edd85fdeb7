"""A followed document is shown by what changed in it."""

from __future__ import annotations

import json
from pathlib import Path

from joinery.cli.follow import Follower, differences

PULL = {"repo": "r", "index": 1, "title": "Fix", "status": "open"}


def test_a_row_that_comes_leaves_or_changes_is_one_line_each() -> None:
    before = {"pulls": [PULL, {**PULL, "index": 2}], "verified": None}
    after = {"pulls": [{**PULL, "status": "merged"}, {**PULL, "index": 3}], "verified": True}

    assert [
        ("-", "pulls r #2"),
        ("~", 'pulls r #1: status "open" → "merged"'),
        ("+", 'pulls r #3 "Fix"'),
        ("~", "verified null → true"),
    ] == list(differences(before, after))


def test_coming_and_going_are_told() -> None:
    assert [("*", "new document: 1 pulls")] == list(differences(None, {"pulls": [PULL]}))
    assert [("-", "document deleted")] == list(differences({"pulls": []}, None))


def test_only_followed_keys_of_new_files_are_shown(tmp_path: Path) -> None:
    told: list[str] = []
    follower = Follower(tmp_path, {"a@x": "ann"}, "email", told.append)
    lines = [
        {"key": {"email": "a@x"}, "value": {"n": 1}, "version": 1},
        {"key": {"email": "b@x"}, "value": {"n": 1}, "version": 1},
        {"key": {"email": "a@x"}, "value": {"n": 2}, "version": 2},
    ]
    (tmp_path / "1.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))

    follower.look()
    follower.look()

    assert ["ann * new document:", "ann ~ n 1 → 2"] == [" ".join(each.split()) for each in told]
