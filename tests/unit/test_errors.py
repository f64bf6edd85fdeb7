"""What a traceback shows of an error: the message, and below it place and hint."""

from __future__ import annotations

import pickle
import traceback

from joinery.errors import JoineryError, Location, ProjectErrors, SpecError


def shown(error: BaseException) -> str:
    """Return the end of a traceback of `error`."""
    return "".join(traceback.format_exception_only(error))


def test_a_traceback_shows_the_hint() -> None:
    error = SpecError("no such thing", code="SPEC_VALUE", hint="Take another.")

    assert shown(error).endswith("SPEC_VALUE no such thing\nhint: Take another.\n")


def test_a_traceback_shows_every_problem_with_its_place_and_hint() -> None:
    place = Location("joinery.yaml", 3, 7)
    first = SpecError("one", code="SPEC_VALUE", location=place, hint="Do this.")

    error = ProjectErrors((first, JoineryError("two")))

    expected = "joinery.yaml:3:7: SPEC_VALUE one\n  hint: Do this.\nJOINERY two\n"
    assert shown(error).endswith(expected)


def test_the_hint_is_shown_once_beyond_the_border_of_a_process() -> None:
    error = SpecError("no such thing", hint="Take another.")

    assert shown(error) == shown(pickle.loads(pickle.dumps(error)))
