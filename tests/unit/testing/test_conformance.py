"""How the suite judges what a solution sent."""

from __future__ import annotations

from joinery.solutions.protocol import Sent
from joinery.testing.changes import insert
from joinery.testing.conformance import case, when
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.suite import problem_of, versions_problem
from joinery.testing.driver import upsert

PROJECT = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
products:
  p: {root: user, fields: [id, name]}
"""
CASE = case(
    "a user is a document",
    PROJECT,
    when(insert("user", id=1), then=[upsert(1, {"id": 1, "name": None})]),
)


def line(key: int, value: str, version: int = 1) -> str:
    return f'{{"key":{{"id":{key}}},"value":{value},"version":{version}}}'


def sent(*lines: str) -> Sent:
    return Sent({"p": lines}, {})


def test_what_was_expected_is_no_problem() -> None:
    assert problem_of(CASE, [sent(line(1, '{"id":1,"name":null}'))], "p") == ""


def test_the_order_of_names_matters() -> None:
    problem = problem_of(CASE, [sent(line(1, '{"name":null,"id":1}'))], "p")

    assert problem.startswith('batch 1 sent {"[1]": {"name": null, "id": 1}}, expected')


def test_a_document_too_many_is_a_problem() -> None:
    good = line(1, '{"id":1,"name":null}')

    assert "expected {}" in problem_of(CASE, [sent(good), sent(good)], "p")


def test_one_key_twice_in_a_batch_is_a_problem() -> None:
    good = line(1, '{"id":1,"name":null}')

    assert "the key [1] twice" in problem_of(CASE, [sent(good, good)], "p")


def test_a_dead_letter_that_nobody_expected_is_a_problem() -> None:
    batch = Sent({"p": [line(1, '{"id":1,"name":null}')]}, {"p": ['{"id":1}']})

    assert "dead letters" in problem_of(CASE, [batch], "p")


def test_a_version_that_does_not_rise_is_a_problem() -> None:
    lines = [line(1, "null", 5), line(2, "null", 1), line(1, "null", 5)]

    assert versions_problem(lines) == 'the versions of {"id": 1} do not rise'
    assert versions_problem(lines[:2]) == ""


def test_joined_projects_keep_apart_under_their_prefixes() -> None:
    spec = load_text(PROJECT)

    project = joined([prefixed(spec, "a_"), prefixed(spec, "b_")])

    assert ["a_user", "b_user"] == [each.topic for each in project.relations]
    assert ["a_p", "b_p"] == [each.name for each in project.products]
    assert {"conformance"} == {each.group for each in project.products}
