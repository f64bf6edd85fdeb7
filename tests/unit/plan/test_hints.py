"""What is often written at first is refused with what to write in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.plan.build import build_plan
from joinery.project.load import load_spec

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
  visit: {append: true, key: [id], fields: {id: long, at: timestamp}, time: at}
products:
  page: {root: customer, fields: [id, name]%s}
"""


@pytest.mark.parametrize(
    ("more", "told", "hint"),
    [
        (
            ", sink: lake",
            'there is no sink "lake"',
            "Declare it beside the products: sinks: {lake: {files: {path: out}}}.",
        ),
        (
            ", emit: closed",
            '"emit" of product "page" needs a map, not "closed"',
            "Write {when: closed}.",
        ),
        (", emit: soon", '"emit" of product "page" needs a map, not "soon"', ""),
        (
            ", where: name = 'a: b'",
            "not YAML: while parsing a flow mapping, expected ',' or '}', but got ':'",
            "Put a text with brackets, braces, a comma or a colon in quotes.",
        ),
        (
            ", values: {first: names[0]}",
            "not YAML: while parsing a flow mapping, expected ',' or '}', but got '['",
            "Put a text with brackets, braces, a comma or a colon in quotes.",
        ),
        (
            ", embed: {c: {one: customer, on: [id]}}, values: {n: max(c.name)}",
            "an aggregate needs a field of a many embed",
            '"c" is one object: use its field without max.',
        ),
        (
            "}\n\tagain: {root: customer",
            r"not YAML: while scanning for the next token, found character '\t'"
            " that cannot start any token",
            "Indent with spaces, not with tabs.",
        ),
        (
            "}\n  again: {root: customer, fields: {id, name}",
            '"fields" of product "again" needs a list, or something for each name, not a map',
            "Write [id, name].",
        ),
        (
            "}\nstreams:\n  seen: {from: visit, steps: [{filter: 'not seen(id, for => 30m)'}]",
            "write a duration in quotes: '30m'",
            "",
        ),
    ],
)
def test_a_first_try_is_answered(tmp_path: Path, more: str, told: str, hint: str) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT % more)

    with pytest.raises(ProjectErrors) as caught:
        build_plan(load_spec(file))

    problem = caught.value.problems[0]
    assert (told, hint) == (problem.message, problem.hint)
