"""Each form of a product takes its own keys, and refuses those of all others."""

from __future__ import annotations

import pytest

from joinery.errors import ProjectErrors
from joinery.project import grammar
from joinery.testing.conformance.project import load_text

FORMS = {
    "outbox": "outbox: order, sink: {kafka: {topic: t}}",
    "aggregate": "aggregate: order, by: [shop]",
    "search": "search: order, queries: query, query: condition",
    "history": "history: order, valid: at",
    "pattern": "pattern: order, match: A",
    "fold": 'fold: order, sequence: id, state: {sum: "long = 0"}',
}
OTHERS = [
    (form, key)
    for form in FORMS
    for key in {key for keys in grammar.FORM_KEYS.values() for key in keys}
    if key not in grammar.FORM_KEYS[form]
]


def problems(product: str) -> set[str]:
    with pytest.raises(ProjectErrors) as refused:
        load_text(f"joinery: 1\nrelations: {{}}\nproducts:\n  p: {{{product}}}\n")
    return {problem.message for problem in refused.value.problems}


@pytest.mark.parametrize(("form", "key"), sorted(OTHERS))
def test_a_form_refuses_the_keys_of_others(form: str, key: str) -> None:
    assert f'product "p" has both "{form}" and "{key}"' in problems(f"{FORMS[form]}, {key}: x")


def test_a_product_of_documents_refuses_what_only_other_forms_have() -> None:
    assert {'product "p" has "known_at" without "history"'} == problems("root: order, known_at: at")


def test_every_form_is_known_to_the_reader() -> None:
    assert {*FORMS, "root"} == grammar.FORM_KEYS.keys()
