"""A function that a project names is imported, and one that answers no call is told."""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from pathlib import Path

import pytest

from joinery.project.function import FunctionError, function_at, why_silent


async def awaited(event: object) -> None:
    pass


def yielding(event: object) -> Iterator[object]:
    yield event


def of_two(event: object, other: object) -> None:
    pass


def of_any(event: object, other: object = None, *more: object) -> None:
    pass


@wraps(of_two)
def with_the_other(event: object) -> None:
    of_two(event, "other")


@wraps(of_any)
def of_none() -> None:
    pass


class Awaited:
    async def __call__(self, event: object) -> None:
        pass


def that_does_not_tell(event: object) -> None:
    pass


that_does_not_tell.__signature__ = "a text"  # type: ignore[attr-defined]


def test_a_function_is_looked_for_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "steps_in_a_folder.py").write_text("def twice(n): return 2 * n\n")

    assert 6 == function_at("steps_in_a_folder:twice", tmp_path)(3)


@pytest.mark.parametrize(
    ("name", "text", "detail"),
    [
        ("no_such_steps:f", "", "ModuleNotFoundError: No module named 'no_such_steps'."),
        ("steps_without_it:f", "", "has no attribute 'f'."),
        ("steps_with_a_typo:f", "def f(:", "SyntaxError: "),
        ("steps_that_leave:f", "import sys; sys.exit('no licence')", "SystemExit: no licence."),
    ],
)
def test_a_function_that_cannot_be_imported_is_told_with_the_place_where_it_was_sought(
    name: str, text: str, detail: str, tmp_path: Path
) -> None:
    if not name.startswith("no_"):
        (tmp_path / f"{name.partition(':')[0]}.py").write_text(text)

    with pytest.raises(FunctionError, match=f"cannot import function {name}") as told:
        function_at(name, tmp_path)

    assert detail in told.value.detail
    assert f"looked for in {tmp_path} and among installed packages" in told.value.hint


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("__name__", "cannot be called"),
        ("awaited", "is async, and nothing awaits it"),
        ("yielding", "yields, and has to return"),
        ("of_two", "does not take one argument: missing a required argument: 'other'"),
    ],
)
def test_what_answers_no_call_is_refused(name: str, why: str) -> None:
    with pytest.raises(FunctionError) as told:
        function_at(f"{__name__}:{name}")

    assert f"function {__name__}:{name} {why}" == told.value.message


def test_what_may_answer_is_taken() -> None:
    assert "" == why_silent(yielding, yields=True)
    assert ["", "", ""] == [why_silent(each) for each in (of_any, dict, that_does_not_tell)]


def test_a_decorated_function_is_judged_by_what_is_called() -> None:
    assert "" == why_silent(with_the_other)
    assert "does not take one argument: too many positional arguments" == why_silent(of_none)


def test_an_object_whose_call_nothing_awaits_is_refused() -> None:
    assert "is async, and nothing awaits it" == why_silent(Awaited())
