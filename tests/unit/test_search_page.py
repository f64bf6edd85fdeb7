"""What docs/search.md shows is what Joinery takes and gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.unit.page import Page

import joinery as jn
from joinery.plan.check import check
from joinery.plan.search import SearchForm
from joinery.project import grammar
from joinery.semantics.reference import ReferenceSolution
from joinery.semantics.text_parser import build_text_query
from joinery.testing.changes import insert
from joinery.testing.conformance.runner import document_line

PAGE = Page("search.md")


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    assert [] == check(PAGE.written(tmp_path))


def test_the_rows_of_the_page_give_its_matches(tmp_path: Path) -> None:
    product = jn.load(PAGE.written(tmp_path)).products["alert"].plan
    relations = {each.name: each for each in product.relations}
    changes = [
        insert(name, **json.loads(line)).change(relations[name])
        for name in relations
        for line in PAGE.lines(f"json {name}")
    ]

    sent = ReferenceSolution(product).apply(changes, 1)

    lines = [document_line(each, product) for each in sent.documents]
    assert [f'{each[:-1]},"version":1}}' for each in PAGE.lines("json matches")] == lines


def test_the_text_queries_of_the_page_are_read(tmp_path: Path) -> None:
    file = PAGE.written(tmp_path, "yaml text")
    product = jn.load(file).products["hit"].plan
    assert isinstance(product.form, SearchForm)
    columns = "caption:|pages:|filings.title:"
    (table,) = re.findall(r"\| written .*?\n\n", PAGE.text, re.DOTALL)
    written = [each for each in re.findall(r"`([^`]+)`", table) if re.match(columns, each)]

    queries = [build_text_query(each, product.form.documents.row) for each in written]

    assert len(queries) == 7


def test_python_declares_the_project_of_the_page(tmp_path: Path) -> None:
    project = PAGE.declared()

    assert jn.load(PAGE.written(tmp_path)).to_yaml() == project.to_yaml()


def test_the_page_tells_every_key() -> None:
    assert {"search", *grammar.FORM_KEYS["search"]} - {"fields"} <= set(
        re.findall(r"^\| `(\w+)` \|", PAGE.text, re.MULTILINE)
    )
