"""A target that has lost its documents under a kept checkpoint."""

from __future__ import annotations

from pathlib import Path

from joinery.delivery.sent_mark import SentMark


def test_targets_that_documents_were_sent_to_are_remembered(tmp_path: Path) -> None:
    documents = {"page": {"upserts": 2}, "card": {"tombstones": 1}}
    SentMark(tmp_path, tmp_path).note(documents, {"page": ["console"], "card": ["console"]})

    again = SentMark(tmp_path, tmp_path)
    assert (True, False) == (again.has("page", "console"), again.has("page", "files /out"))
    assert again.has("card", "console") is None


def test_what_was_sent_nowhere_is_in_no_target(tmp_path: Path) -> None:
    SentMark(tmp_path, tmp_path).note({"page": {"upserts": 2}}, {"page": []})

    assert SentMark(tmp_path, tmp_path).has("page", "console") is False


def test_a_target_that_came_back_lacks_what_was_sent_meanwhile(tmp_path: Path) -> None:
    for targets in (["console", "files /out"], ["files /out"]):
        SentMark(tmp_path, tmp_path).note({"page": {"upserts": 1}}, {"page": targets})

    mark = SentMark(tmp_path, tmp_path)
    assert (False, True) == (mark.has("page", "console"), mark.has("page", "files /out"))


def test_a_project_that_was_moved_keeps_its_targets(tmp_path: Path) -> None:
    old, new = Path("/old/shop"), Path("/new/shop")
    documents = {"page": {"upserts": 1}}
    SentMark(tmp_path, old).note(documents, {"page": [f"files {old}/out/page"]})

    assert SentMark(tmp_path, new).has("page", f"files {new}/out/page")


def test_a_mark_of_an_older_version_names_no_targets(tmp_path: Path) -> None:
    (tmp_path / "joinery.sent").mkdir()
    (tmp_path / "joinery.sent/page").touch()

    assert SentMark(tmp_path, tmp_path).has("page", "console") is None
