"""What can be done to products on the page, by whom, and what is told and kept of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.ui import browser
from tests.unit.ui.browser import (
    CHANGING,
    LETTERS,
    PRODUCT,
    TOKEN,
    Person,
    client,
    control,
    fields,
    opened,
    tree,
    words,
)

from joinery.ui.access import Door

if TYPE_CHECKING:
    from starlette.applications import Starlette

app = browser.app
folder = browser.folder


def test_a_product_is_paused_with_those_of_its_query_once_somebody_confirms(
    app: Starlette, folder: Path
) -> None:
    ada = Person(app)
    shown = ada.asked(f"{PRODUCT}/pause")
    assert () == control(folder).actions()

    status, text = ada.send(f"{PRODUCT}/pause", shown, why="stock-taking")

    assert 200 == status
    assert "customer_profile, order_card: no run is active; the next one starts paused" in text
    [action] = control(folder).actions()
    assert ("pause", "stock-taking") == (action.verb, action.why)
    assert action.by.startswith("Ada (page of ")
    states = {e["product"]: e["state"] for e in ada.browser.get("/products.json").json()}
    assert ("paused", "paused", "ended") == tuple(
        states[each] for each in ("customer_profile", "order_card", "names")
    )
    page = ada.browser.get(PRODUCT).text
    assert "paused by Ada (page of " in page
    assert [f"{PRODUCT}/resume"] == [
        each.attrib["href"] for each in tree(page).iter("a") if each.attrib.get("href") in CHANGING
    ]


def test_a_product_is_resumed(app: Starlette, folder: Path) -> None:
    ada, ben = Person(app), Person(app, "Ben")
    ada.does(f"{PRODUCT}/pause")

    status, text = ben.does(f"{PRODUCT}/resume")

    assert 200 == status
    assert "no run is active; the next one runs it" in text
    assert control(folder).paused is None
    assert ["resume", "pause"] == [each["verb"] for each in ben.history()]
    assert ["Ben", "Ada"] == [each["by"].partition(" (")[0] for each in ben.history()]


def test_the_second_of_two_is_told_who_was_first(app: Starlette, folder: Path) -> None:
    ada, ben = Person(app), Person(app, "Ben")
    address = f"{PRODUCT}/pause"
    both = [(each, each.asked(address)) for each in (ada, ben)]

    (_, first), (status, second) = [each.send(address, shown, why="mine") for each, shown in both]

    assert "was paused before" not in first
    assert 200 == status
    assert "customer_profile, order_card: was paused before, by Ada (page of " in second
    assert 1 == len(control(folder).actions())
    assert "It is paused already." in words(ben.asked(address))
    assert "Paused by Ada (page of " in words(ben.asked(address))


def test_real_time_is_not_paused(folder: Path) -> None:
    file = folder / "crm" / "joinery.yaml"
    file.write_text(file.read_text().replace("run: {", "run: {real_time: true, "))
    ada = Person(opened(folder, door=Door(TOKEN)))

    answer = ada.browser.get("/p/crm/lead_card/pause")

    assert 409 == answer.status_code
    assert "A run in real-time mode cannot be paused" in words(answer.text)


@pytest.mark.parametrize("why", ["a" * 201, "a\x00b", "\u202etxet"])
def test_a_reason_that_cannot_be_kept_is_refused(app: Starlette, folder: Path, why: str) -> None:
    assert 400 == Person(app).does(f"{PRODUCT}/pause", why=why)[0]
    assert () == control(folder).actions()


def test_a_disk_that_is_full_is_told(app: Starlette, folder: Path) -> None:
    ada = Person(app)
    (folder / "shop" / "checkpoint" / "_control").write_text("a file in place of the folder")

    answer = ada.browser.post(f"{PRODUCT}/pause", data=fields(ada.asked("/sign-in"), "/sign-out"))

    assert 409 == answer.status_code
    assert "It could not be done" in answer.text


def test_hostile_documents_and_names_are_text(app: Starlette) -> None:
    eve = Person(app, "<img src=y>")
    eve.does(f"{PRODUCT}/pause", why='"><script>alert(1)</script>')
    ids = list(eve.letters().values())
    pages = [
        eve.asked(LETTERS),
        eve.asked(f"{LETTERS}/replay", id=ids),
        *(eve.asked(f"{LETTERS}/replay", id=each) for each in ids),
        eve.asked(f"{LETTERS}/drop", reason="<b>"),
        eve.asked(f"{PRODUCT}/resume"),
        eve.asked(PRODUCT),
    ]

    for page in map(tree, pages):
        assert 1 == len(list(page.iter("script")))
        assert not [each for each in page.iter("img") if not each.attrib["src"].endswith(".svg")]
        assert not list(page.iter("b"))


def test_history_is_csv_and_json(app: Starlette) -> None:
    ada = Person(app, "=cmd")
    ada.does(f"{PRODUCT}/pause", why="@why")

    [line] = ada.browser.get(f"{PRODUCT}/actions.csv").text.splitlines()[1:]

    assert line.split(",")[1:3] == ["pause", ""]
    assert "'=cmd (page of " in line
    assert "'@why" in line


def test_every_page_can_be_used_without_seeing_it(app: Starlette) -> None:
    ada = Person(app)
    id = ada.letters()["2.jsonl:1"]
    pages = {
        "sign in": client(app).get("/sign-in").text,
        "wrong": client(app).post("/sign-in", data={"name": "Ada"}).text,
        "signed in": ada.asked("/sign-in"),
        "products": ada.asked("/"),
        "product": ada.asked(PRODUCT),
        "pause": ada.asked(f"{PRODUCT}/pause"),
        "letters": ada.asked(LETTERS),
        "replay": ada.asked(f"{LETTERS}/replay", id=id),
        "drop": ada.asked(f"{LETTERS}/drop", reason="undecodable"),
        "told": ada.browser.get(f"{LETTERS}/drop").text,
    }

    found = {name: faults(tree(page)) for name, page in pages.items()}
    assert {name: [] for name in pages} == found


def faults(page: Any) -> list[str]:
    """Return what keeps a page from being used by keyboard and by ear."""
    every = list(page.iter())
    ids = [each.attrib["id"] for each in every if "id" in each.attrib]
    labelled = {each.attrib.get("for") for each in page.iter("label")}
    within = {id(one) for each in page.iter("label") for one in each.iter()}
    asked = [each for each in every if each.tag in ("input", "select", "textarea")]
    shown = [each for each in asked if each.attrib.get("type") != "hidden"]
    found = [
        f"no label: {each.attrib}"
        for each in shown
        if id(each) not in within and each.attrib.get("id") not in labelled
    ]
    found += [f"id twice: {each}" for each in set(ids) if ids.count(each) > 1]
    found += [
        f"{name} leads nowhere: {each.attrib[name]}"
        for each in every
        for name in ("aria-labelledby", "aria-describedby")
        if name in each.attrib and not set(each.attrib[name].split()) <= set(ids)
    ]
    found += [
        f"no text: {each.tag} {each.attrib}"
        for each in every
        if each.tag in ("a", "button", "th", "h1", "h2", "title")
        and not "".join(each.itertext()).strip()
    ]
    found += [f"focus by number: {each.attrib}" for each in every if _jumps(each)]
    found += ["not one h1"] if 1 != len(list(page.iter("h1"))) else []
    found += ["not one main"] if 1 != len(list(page.iter("main"))) else []
    return found


def _jumps(each: Any) -> bool:
    return each.attrib.get("tabindex", "0") not in ("0", "-1") or "autofocus" in each.attrib
