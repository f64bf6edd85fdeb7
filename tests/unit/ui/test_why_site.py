"""The page that says why a document looks the way it does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.ui.browser import ADDRESS, LEFT, PRODUCT, client, tree

from joinery.errors import SpecError
from joinery.ui.fleet import Fleet
from joinery.ui.site import site
from joinery.ui.why_site import Answer

FILES = [LEFT / "shop" / "joinery.yaml"]


def told(file: Path, product: str, key: str) -> Sequence[str]:
    """Answer with what was asked."""
    if key == "none":
        raise SpecError("no record has the key <none>", detail="It is 7.", hint="Try another.")
    return [f"{product} {key}", f"of {file.name}"]


def asked(answer: Answer | None, address: str) -> tuple[int, str]:
    found = client(site(Fleet.load(FILES), why=answer)).get(address)
    return found.status_code, found.text


def test_an_answer_is_shown_as_text() -> None:
    status, text = asked(told, f"{PRODUCT}/why?key=%3Cb%3E7")

    assert 200 == status
    assert "customer_profile &lt;b&gt;7\nof joinery.yaml" in text
    assert "<b>7" not in text
    tree(text)


def test_without_a_key_there_is_the_form_alone() -> None:
    def never(file: Path, product: str, key: str) -> Sequence[str]:
        raise AssertionError("nothing was asked")

    status, text = asked(never, f"{PRODUCT}/why")

    assert (200, True, False) == (status, 'name="key"' in text, "<pre" in text)


def test_what_has_no_answer_says_so() -> None:
    status, text = asked(told, f"{PRODUCT}/why?key=none")

    assert 400 == status
    assert ">no record has the key &lt;none&gt;. It is 7. Try another.<" in text


@pytest.mark.parametrize(("answer", "status"), [(None, 404), (told, 200)], ids=["off", "on"])
def test_only_a_page_that_answers_leads_there(answer: Answer | None, status: int) -> None:
    page = asked(answer, PRODUCT)[1]

    assert status == asked(answer, f"{PRODUCT}/why?key=7")[0]
    assert (status == 200) == (f'href="{PRODUCT}/why"' in page)


def test_one_question_is_answered_at_a_time() -> None:
    begun, over = threading.Event(), threading.Event()

    def slow(file: Path, product: str, key: str) -> Sequence[str]:
        begun.set()
        assert over.wait(60)
        return [key]

    app, found = site(Fleet.load(FILES), why=slow), list[int]()
    first = threading.Thread(
        target=lambda: found.append(client(app).get(f"{PRODUCT}/why?key=1").status_code)
    )
    first.start()
    assert begun.wait(60)
    second = client(app, ADDRESS).get(f"{PRODUCT}/why?key=2")
    over.set()
    first.join()

    assert (503, [200]) == (second.status_code, found)
    assert "another question is being answered" in second.text
