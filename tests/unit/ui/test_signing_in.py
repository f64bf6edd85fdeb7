"""Who may act on the page: somebody who signed in, by a form that was shown to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.ui import browser
from tests.unit.ui.browser import (
    CHANGING,
    FORM,
    LETTERS,
    PRODUCT,
    TOKEN,
    Person,
    client,
    control,
    everything,
    fields,
    opened,
    tree,
    words,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette

app = browser.app
folder = browser.folder


@pytest.mark.parametrize("address", ["/", PRODUCT, "/nothing", *CHANGING])
def test_without_actions_nothing_is_answered_but_reading(folder: Path, address: str) -> None:
    before = everything(folder)

    answers = [
        client(opened(folder)).request(method, address)
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")
    ]

    assert {405} == {each.status_code for each in answers}
    assert {"GET, HEAD"} == {each.headers["allow"] for each in answers}
    assert before == everything(folder)


def test_without_actions_nothing_to_act_with_is_shown(folder: Path) -> None:
    for address in ("/", PRODUCT):
        page = client(opened(folder)).get(address).text
        assert not [each for each in tree(page).iter("form") if each.attrib["method"] == "post"]
        named = [each.attrib.get("href", "") for each in tree(page).iter("a")]
        assert not [each for each in named if each in CHANGING or each == LETTERS]
    for address in CHANGING:
        assert 404 == client(opened(folder)).get(address).status_code


@pytest.mark.parametrize("address", [*CHANGING[2:], LETTERS])
def test_who_has_not_signed_in_is_asked_to_and_comes_back(app: Starlette, address: str) -> None:
    stranger = client(app)
    shown = stranger.get(f"{address}?id=a%26b")
    form = fields(shown.text, "/sign-in") | {"name": "Ada", "token": TOKEN}
    answer = stranger.post("/sign-in", data=form, follow_redirects=False)

    assert "/sign-in" == shown.url.path
    assert (303, f"{address}?id=a%26b") == (answer.status_code, answer.headers["location"])


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example", "//evil.example", "/\\evil.example", "/a\r\nb", "x", ""]
)
def test_signing_in_leads_nowhere_else(app: Starlette, elsewhere: str) -> None:
    stranger = client(app)
    shown = stranger.get("/sign-in", params={"next": elsewhere}).text
    form = fields(shown, "/sign-in") | {"name": "Ada", "token": TOKEN, "next": elsewhere}
    answer = stranger.post("/sign-in", data=form, follow_redirects=False)

    assert (303, "/") == (answer.status_code, answer.headers["location"])


def test_the_cookie_is_for_this_page_alone_and_holds_no_token(app: Starlette) -> None:
    given = Person(app).signed_in.headers["set-cookie"]
    secure = Person(app, address="https://127.0.0.1:9465").signed_in.headers["set-cookie"]

    assert given.startswith("joinery_visit_9465=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(given.split("; "))
    assert TOKEN not in given
    assert ("Secure" in given, "Secure" in secure) == (False, True)


def test_a_wrong_token_is_refused_and_makes_the_next_wait(app: Starlette) -> None:
    stranger = client(app)
    form = fields(stranger.get("/sign-in").text, "/sign-in") | {"name": "Ada", "token": "guess"}
    wrong = stranger.post("/sign-in", data=form)
    early = stranger.post("/sign-in", data=form | {"token": TOKEN})

    assert (403, 429) == (wrong.status_code, early.status_code)
    assert "Not signed in: the token is wrong." in words(wrong.text)
    assert ("1", "1") == (wrong.headers["retry-after"], early.headers["retry-after"])
    assert "guess" not in wrong.text
    assert "/sign-in" == stranger.get(f"{PRODUCT}/pause").url.path


def test_a_name_has_to_be_typed(app: Starlette) -> None:
    stranger = client(app)
    form = fields(stranger.get("/sign-in").text, "/sign-in") | {"name": "\x07", "token": TOKEN}

    assert 400 == stranger.post("/sign-in", data=form).status_code
    assert "/sign-in" == stranger.get(f"{PRODUCT}/pause").url.path


def test_a_sign_in_form_of_another_browser_is_refused(app: Starlette) -> None:
    form = fields(client(app).get("/sign-in").text, "/sign-in") | {"name": "Ada", "token": TOKEN}

    answers = [client(app).post("/sign-in", data=form)]
    other = client(app)
    other.get("/sign-in")
    answers.append(other.post("/sign-in", data=form))

    assert [403, 403] == [each.status_code for each in answers]
    assert not other.cookies.get("joinery_visit_9465")


@pytest.mark.parametrize("form", [{}, {"form": ""}, {"form": "x"}])
@pytest.mark.parametrize("address", CHANGING[1:])
def test_a_form_that_was_not_shown_changes_nothing(
    app: Starlette, folder: Path, address: str, form: dict[str, str]
) -> None:
    ada, before = Person(app), everything(folder)
    for each in (ada.browser, client(app)):
        answer = each.post(address, data={"id": "8604ef4f074a", **form})
        assert 403 == answer.status_code

    assert before == everything(folder)
    assert "signed in as Ada" in ada.asked(f"{PRODUCT}/pause")


def test_the_form_of_another_visitor_changes_nothing(app: Starlette, folder: Path) -> None:
    ada, ben = Person(app), Person(app, "Ben")
    shown = ben.asked(f"{PRODUCT}/pause")

    assert 403 == ada.send(f"{PRODUCT}/pause", shown)[0]
    assert () == control(folder).actions()


def test_who_signed_out_acts_no_more(app: Starlette, folder: Path) -> None:
    ada = Person(app)
    shown = ada.asked(f"{PRODUCT}/pause")
    cookie = ada.browser.cookies["joinery_visit_9465"]
    ada.browser.post("/sign-out", data=fields(shown, "/sign-out"))
    ada.browser.cookies.set("joinery_visit_9465", cookie)

    assert 403 == ada.send(f"{PRODUCT}/pause", shown)[0]
    assert () == control(folder).actions()


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"id=" + b"x" * (1 << 20), FORM, 413),
        (b"&".join(b"id=%d" % each for each in range(1001)), FORM, 400),
        (b'{"form": "x"}', "application/json", 415),
        (b"form=x", "text/plain", 415),
    ],
)
def test_what_is_no_form_is_refused(app: Starlette, content: bytes, kind: str, status: int) -> None:
    answer = Person(app).browser.post(
        f"{PRODUCT}/pause", content=content, headers={"content-type": kind}
    )

    assert status == answer.status_code
