"""What the state of a run says of a document, beside what the logs do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from joinery.provenance.answer import Why
from joinery.provenance.in_state import InState

LOGS = Why("p", "1", '{"n": 1.50, "of": ["a"]}', "", [], [], [], 1, None, "time", {}, {}, {})
FOUND = InState("p", "1", '{"n":1.50,"of":["a"]}', "", 4, LOGS)


def test_the_same_document_is_said_to_be_the_same() -> None:
    assert [
        "p 1",
        '{"n": 1.50, "of": ["a"]}',
        "the state after batch 4; the logs up to there say the same",
    ] == [*FOUND.text_lines()]


def test_each_difference_has_what_the_state_has_in_front() -> None:
    found = replace(FOUND, document='{"n":2,"of":["a","<b>"]}')
    assert [
        "the state after batch 4; the logs up to there say otherwise:",
        "  ~ n  2 → 1.50",
        '  - of[1]  "<b>"',
    ] == [*found.lines()]
    assert {"path": "n", "state": 2, "logs": 1.5} == found.to_json()["differences"][0]
    assert "&lt;b&gt;" in found._repr_html_()


@pytest.mark.parametrize("document", [None, FOUND.document])
def test_a_document_that_only_one_of_them_has_is_a_difference(document: str | None) -> None:
    found = replace(FOUND, document=document, logs=replace(LOGS, document=None))
    assert (document is not None) == bool(found.differences)
    assert ("no document in the state" in str(found)) == (document is None)


def test_a_document_that_is_refused_is_in_neither() -> None:
    found = replace(FOUND, document=None, logs=replace(LOGS, refused="document_too_large"))
    assert () == found.differences


def test_what_the_logs_do_not_say_is_not_compared() -> None:
    unread = "no record of user has the key 1"
    found = replace(FOUND, document=None, logs=None, unread=unread)
    assert [f"no document in the state after batch 4; not compared with the logs: {unread}"] == [
        *found.lines()
    ]
    assert not found.to_json()["compared"]
    assert () == replace(FOUND, document="{}", unread=unread).differences
