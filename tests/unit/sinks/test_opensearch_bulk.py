"""A bulk request sends each document at its version, and its answer leaves none out."""

from __future__ import annotations

from typing import Any

from joinery.sinks.line import StagedRow
from joinery.sinks.opensearch_bulk import Action, body_of, body_of_deletes, id_of, outcome_of


def action(id: str, value: str | None = "{}", version: int = 7) -> Action:
    return Action(id, StagedRow(f'{{"id":"{id}"}}', value, version))


def failed(status: int, kind: str = "some_exception") -> dict[str, Any]:
    return {"index": {"status": status, "error": {"type": kind, "reason": "why"}}}


def test_documents_and_deletes_are_sent_at_their_versions() -> None:
    body = body_of([action("a", '{"n":1}'), action('b"', None, 8)])

    assert (
        b'{"index":{"_id":"a","version":7,"version_type":"external_gte"}}\n{"n":1}\n'
        b'{"delete":{"_id":"b\\"","version":8,"version_type":"external_gte"}}\n'
    ) == body


def test_a_delete_is_remembered_under_a_name_of_its_own() -> None:
    body = body_of_deletes([action("a", None, 8)], "deleted:")

    assert (
        b'{"index":{"_id":"deleted:a","version":8,"version_type":"external_gte"}}\n{"version":8}\n'
    ) == body


def test_an_answer_without_errors_needs_no_reading() -> None:
    outcome = outcome_of([action("a")], {"errors": False})

    assert (0, [], []) == (outcome.older, outcome.refused, outcome.again)


def test_each_failure_is_sorted_by_what_can_be_done() -> None:
    actions = [action(each) for each in "abcde"]
    items = [
        {"index": {"status": 201}},
        failed(409),
        failed(429),
        failed(400, "mapper_parsing_exception"),
        {"delete": {"status": 404}},
    ]

    outcome = outcome_of(actions, {"errors": True, "items": items})

    assert 1 == outcome.older
    assert [actions[2]] == outcome.again
    assert [("document_refused", "mapper_parsing_exception: why")] == [
        (each.reason, each.detail) for each in outcome.refused
    ]
    assert "" == outcome.denied


def test_a_user_without_rights_is_told_and_no_document_is_refused_for_it() -> None:
    outcome = outcome_of([action("a")], {"errors": True, "items": [failed(403, "security")]})

    assert ([], "security: why") == (outcome.refused, outcome.denied)


def test_an_id_that_is_too_long_is_a_hash_of_it() -> None:
    long, longer = (StagedRow(f'{{"id":"{"é" * size}"}}', None, 1) for size in (251, 252))

    assert 71 == len(id_of(long))
    assert id_of(long) != id_of(longer)
    assert "é" * 250 == id_of(StagedRow(f'{{"id":"{"é" * 250}"}}', None, 1))
