"""Places: the longest known part of a path, and the character within a scalar."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import Location
from joinery.project.load import load_spec
from joinery.project.mark import Locations, Mark


def place_of(folder: Path, where: str, word: str) -> tuple[str, str]:
    """Return the text from the place that is computed for `word`, and from where it is."""
    file = folder / "joinery.yaml"
    head = "relations: {a: {key: [id], fields: {id: long}}}\nproducts:\n  p:\n    root: a\n"
    text = f"{head}    where: {where}\n"
    file.write_text(text, encoding="utf-8")
    spec = load_spec(file)
    value = spec.products[0].root.where or ""
    found = spec.locations.within(("products", "p", "where"), value.index(word))
    assert found is not None
    return text.split("\n")[found.line - 1][found.column - 1 :][: len(word)], word


@pytest.mark.parametrize(
    "where",
    [
        "id > 0 and wrong",
        '"id > 0 and wrong"',
        "'id = ''x'' and wrong'",
        '"id = \\"x\\" and wrong"',
        "|\n      id > 0\n      and wrong",
        ">\n      id > 0\n        and  wrong",
        ">-\n\n      id > 0 and\n      (  wrong )",
        "id > 0\n      and  wrong",
        '"id > 0\n      and wrong"',
    ],
)
def test_a_character_of_a_scalar_is_found_however_it_is_written(tmp_path: Path, where: str) -> None:
    found, word = place_of(tmp_path, where, "wrong")

    assert word == found


def test_a_part_that_is_not_known_stands_where_the_longest_known_one_does() -> None:
    here = Location("f", 3, 4)
    locations = Locations({("a", "b"): Mark(here, Location("f", 3, 1))})

    assert here == locations.locate(("a", "b", "c", 0))
    assert here == locations.locate(("a", "b", "c"), key=True)
    assert Location("f", 3, 1) == locations.locate(("a", "b"), key=True)
    assert locations.locate(("x",)) is None


def test_a_scalar_with_variables_is_located_as_a_whole() -> None:
    here = Location("f", 1, 1)
    locations = Locations({("a",): Mark(here, raw='"${X} > y"')})

    assert here == locations.within(("a",), 5)
