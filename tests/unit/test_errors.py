"""What a traceback shows of an error: the message, and below it place and hint."""

from __future__ import annotations

import inspect
import pickle
import traceback
from typing import Any

import pytest

import joinery as jn
from joinery.errors import JoineryError, Location, ProjectErrors, SpecError


def shown(error: BaseException) -> str:
    """Return the end of a traceback of `error`."""
    return "".join(traceback.format_exception_only(error))


def test_a_traceback_shows_the_facts_and_the_hint() -> None:
    error = SpecError("no such thing", code="SPEC_VALUE", detail="There are two.", hint="Take one.")

    assert shown(error).endswith("SPEC_VALUE no such thing\nThere are two.\nhint: Take one.\n")


def test_a_traceback_shows_every_problem_with_its_place_and_hint() -> None:
    place = Location("joinery.yaml", 3, 7)
    first = SpecError("one", location=place, code="SPEC_VALUE", detail="Why.", hint="Do this.")

    error = ProjectErrors((first, JoineryError("two")))

    expected = "joinery.yaml:3:7: SPEC_VALUE one\n  Why.\n  hint: Do this.\nJOINERY two\n"
    assert shown(error).endswith(expected)


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ({"values": {"n": "upper(nme)"}}, "products.person.values.n: PLAN_UNKNOWN_COLUMN there"),
        ({"fields": ["id", "nme"]}, "products.person.fields.nme: PLAN_UNKNOWN_FIELD relation"),
    ],
)
def test_a_traceback_shows_where_in_a_project_of_python_a_problem_is(
    part: dict[str, Any], place: str
) -> None:
    person = jn.relation("person", key="id", fields={"id": "long", "name": "string"})
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    project = jn.Project("people", products=[jn.document("person", person, **part)])

    with pytest.raises(ProjectErrors) as refused:
        project.products["person"].explain()

    assert f"\n{__file__}:{line}: {place} " in shown(refused.value)


@pytest.mark.parametrize("name", ["<cell>", "long" * 100])
def test_what_no_file_declares_is_shown_by_its_path_alone(name: str) -> None:
    calls = """if True:
        person = jn.relation("person", key="id", fields={"id": "long"})
        made = jn.Project("people", products=[jn.document("person", person, fields=["nme"])])"""
    told: dict[str, Any] = {"jn": jn}
    exec(compile(calls, name, "exec"), told)

    with pytest.raises(ProjectErrors) as refused:
        told["made"].products["person"].explain()

    assert "\nproducts.person.fields.nme: PLAN_UNKNOWN_FIELD " in shown(refused.value)


def test_the_hint_is_shown_once_beyond_the_border_of_a_process() -> None:
    error = SpecError("no such thing", hint="Take another.")

    assert shown(error) == shown(pickle.loads(pickle.dumps(error)))
