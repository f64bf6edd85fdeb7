"""Entries are added to a file in its own style; every other byte stays."""

from __future__ import annotations

import pytest

from joinery.project.edit import EditError, insert
from joinery.project.load import read_tree
from joinery.project.write import Data

ROW: Data = {"key": ["id"], "fields": {"id": "long"}}
LINE = "{key: [id], fields: {id: long}}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"relations:\n  t: {LINE}\n"),
        ("relations:\n", f"relations:\n  t: {LINE}\n"),
        ("relations: # none yet\nname: x\n", f"relations: # none yet\n  t: {LINE}\nname: x\n"),
        ("name: x", f"name: x\nrelations:\n  t: {LINE}\n"),
        ("relations: {}\n", f"relations: {{t: {LINE}}}\n"),
        ("relations: {a: {b: [c]}}\n", f"relations: {{a: {{b: [c]}}, t: {LINE}}}\n"),
        ("relations: {a: 1,}\n", f"relations: {{a: 1, t: {LINE},}}\n"),
    ],
)
def test_a_missing_or_short_map_gets_its_entry(before: str, after: str) -> None:
    assert after == insert(before, ["relations"], "t", ROW)


def test_comments_order_and_alignment_stay() -> None:
    before = """\
# the shop
relations:
    user:   {key: [email],   fields: {email: string}}   # people
    order:
        key:
        - id      # a number

    # end of relations
products: {}
"""

    after = insert(before, ["relations"], "t", ROW)

    assert before.replace("a number\n", f"a number\n    t: {LINE}\n") == after


def test_an_entry_follows_a_text_of_several_lines() -> None:
    before = "relations:\n  a:\n    where: |\n      x\n      y\nname: z\n"

    after = insert(before, ["relations"], "t", ROW)

    assert before.replace("y\n", f"y\n  t: {LINE}\n") == after


def test_line_ends_of_windows_stay() -> None:
    after = insert("relations:\r\n  a: {}\r\nname: x\r\n", ["relations"], "t", ROW)

    assert f"relations:\r\n  a: {{}}\r\n  t: {LINE}\r\nname: x\r\n" == after


def test_missing_maps_on_the_way_are_made() -> None:
    before = "products:\n  p:\n    root: a\n    sink: out\n"

    after = insert(before, ["products", "p", "embed"], "b", {"many": "b"})

    assert f"{before}    embed:\n      b: {{many: b}}\n" == after


def test_a_long_entry_is_folded_into_few_lines() -> None:
    fields = {f"column_{number}": "string" for number in range(20)}

    after = insert("relations:\n  a: {}\n", ["relations"], "t", {"fields": fields})

    assert len(after.splitlines()) == 7
    assert max(map(len, after.splitlines())) <= 100


def test_a_text_that_needs_quotes_gets_them() -> None:
    value = {"a: b": "yes, {no}", "c": "${HOME} and # more", "d": "  two  spaces"}

    after = insert("relations:\n  a: {}\n", ["relations"], "t # x", value)

    tree = read_tree(after)
    assert "'yes, {no}'" in after
    assert "$${HOME}" in after
    assert tree is not None


def test_an_entry_that_is_there_is_refused() -> None:
    with pytest.raises(EditError, match="exists already"):
        insert("relations: {a: {}}\n", ["relations"], "a", ROW)


@pytest.mark.parametrize(
    "text",
    [
        "one: &x {a: 1}\nrelations: *x\n",
        "relations: [a]\n",
        "relations: none\n",
    ],
)
def test_what_is_no_map_of_its_own_is_refused(text: str) -> None:
    with pytest.raises(EditError):
        insert(text, ["relations"], "t", ROW)


def test_a_long_line_is_not_broken_between_a_key_and_its_value() -> None:
    fields = {f"column_{number}": "timestamp" for number in range(9)}

    made = insert("relations:\n  a: {key: [id]}\n", ["relations"], "b", {"fields": fields})

    assert 4 < made.count("\n")
    assert [] == [line for line in made.splitlines()[2:] if line.endswith(":")]
    assert max(map(len, made.splitlines())) <= 100
