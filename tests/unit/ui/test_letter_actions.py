"""Dead letters that are replayed, fixed and dropped on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.ui import browser
from tests.unit.ui.browser import LETTERS, PRODUCT, Person, fields, replayed, words

if TYPE_CHECKING:
    from starlette.applications import Starlette

app = browser.app
folder = browser.folder


def test_a_dead_letter_is_fixed_and_replayed(app: Starlette, folder: Path) -> None:
    ada = Person(app)
    id = ada.letters()["2.jsonl:1"]
    shown = ada.asked(f"{LETTERS}/replay", id=id)
    assert ['{"id": 51, "name": <img src=x onerror=alert(2)>}'] == fields(
        shown, f"{LETTERS}/replay"
    )["value"]

    status, text = ada.send(f"{LETTERS}/replay", shown, value='{"id": 51,\r\n "name": "Eve"}')

    assert (200, True) == (status, "1 dead letter replayed" in text)
    assert ['1\t{"id": 51,  "name": "Eve"}'] == replayed(folder)
    assert {"2.jsonl:2", "2.jsonl:3"} == set(ada.letters())
    [done] = ada.history()
    assert ("replay", 1) == (done["verb"], done["letters"])
    assert done["by"].startswith("Ada (page of ")
    assert "Ada (page of " in ada.asked(PRODUCT)


def test_a_dead_letter_is_not_replayed_as_nothing(app: Starlette, folder: Path) -> None:
    ada = Person(app)
    shown = ada.asked(f"{LETTERS}/replay", id=ada.letters()["2.jsonl:1"])

    text = ada.send(f"{LETTERS}/replay", shown, value=" \r\n")[1]

    assert "The value is empty" in text
    assert "drop the dead letter" in text
    assert [] == replayed(folder)


def test_a_value_that_nobody_altered_goes_back_as_it_was(app: Starlette, folder: Path) -> None:
    file = folder / "shop" / "dead_letters" / "core-000001-0000000002.jsonl"
    letter = json.loads((file.with_name("core-000001-0000000001.jsonl")).read_text().split("\n")[0])
    file.write_text(json.dumps(letter | {"line": 9, "value": "\r\n a\rb "}) + "\n")
    ada = Person(app)
    shown = ada.asked(f"{LETTERS}/replay", id=ada.letters()["2.jsonl:9"])

    assert 200 == ada.send(f"{LETTERS}/replay", shown)[0]

    [file] = (folder / "shop" / "data" / "customer").glob("*.replay.jsonl")
    assert b"9\t\r  a\rb \n" == file.read_bytes()


def test_all_of_a_reason_are_those_that_were_shown(app: Starlette, folder: Path) -> None:
    ada = Person(app)
    shown = ada.asked(f"{LETTERS}/drop", reason="undecodable")
    file = folder / "shop" / "dead_letters" / "core-000001-0000000001.jsonl"
    letter = json.loads(file.read_text().splitlines()[0])
    later = letter | {"line": 9, "time": "2026-11-25T00:00:00Z"}
    file.with_name("core-000001-0000000002.jsonl").write_text(json.dumps(later) + "\n")

    status, text = ada.send(f"{LETTERS}/drop", shown)

    assert "Drop 2 dead letters of customer_profile?" in words(shown)
    assert (200, True) == (status, "2 dead letters dropped" in text)
    assert {"2.jsonl:3", "2.jsonl:9"} == set(ada.letters())
    assert [] == replayed(folder)


def test_some_are_dropped_and_the_second_of_two_is_told_who_was_first(app: Starlette) -> None:
    ada, ben = Person(app), Person(app, "Ben")
    ids = [ada.letters()[each] for each in ("2.jsonl:1", "2.jsonl:2")]
    mine, theirs = ada.asked(f"{LETTERS}/drop", id=ids), ben.asked(f"{LETTERS}/replay", id=ids)

    assert "2 dead letters dropped" in ada.send(f"{LETTERS}/drop", mine)[1]
    status, text = ben.send(f"{LETTERS}/replay", theirs)

    assert 409 == status
    assert "No dead letter was replayed" in text
    assert f"{ids[0]} was dropped before, by Ada (page of " in text
    assert "None of them is open any more" in words(ben.asked(f"{LETTERS}/drop", id=ids))
    assert ["drop"] == [each["verb"] for each in ben.history()]


def test_letters_of_other_products_and_of_none_are_left(app: Starlette, folder: Path) -> None:
    ada = Person(app)
    id = ada.letters()["2.jsonl:1"]
    stranger = "/p/crm/lead_card/dead-letters/drop"
    form = fields(ada.asked(f"{LETTERS}/drop", id=id), f"{LETTERS}/drop")

    answer = ada.browser.post(stranger, data=form)

    assert 409 == answer.status_code
    assert f"{id} is not a dead letter of this product" in answer.text
    assert 3 == len(ada.letters())


@pytest.mark.parametrize("query", [{}, {"id": []}, {"reason": ""}])
def test_nothing_chosen_is_said(app: Starlette, query: dict[str, Any]) -> None:
    answer = Person(app).browser.get(f"{LETTERS}/drop", params=query)

    assert 400 == answer.status_code
    assert "No dead letters are chosen" in answer.text


@pytest.mark.parametrize("until", ["", "soon", "2026-11-25"])
def test_a_reason_without_a_time_drops_nothing(app: Starlette, until: str) -> None:
    ada = Person(app)
    shown = ada.asked(f"{LETTERS}/drop", reason="undecodable")

    assert 400 == ada.send(f"{LETTERS}/drop", shown, until=until)[0]
    assert 3 == len(ada.letters())


def test_what_cannot_be_put_back_is_told_and_stays(app: Starlette, folder: Path) -> None:
    folder_of_letters = folder / "shop" / "dead_letters"
    letter: dict[str, object] = {"reason": "document_refused", "detail": "why", "version": 1}
    letter |= {"product": "customer_profile", "sink": "redis a", "key": '{"id":1}'}
    letter |= {"time": "2026-11-25T00:00:00Z"}
    (folder_of_letters / "core-000001-0000000002.jsonl").write_text(
        json.dumps({**letter, "value": "{}"}) + "\n"
    )
    ada = Person(app)
    shown = ada.asked(f"{LETTERS}/replay", reason="document_refused")

    status, text = ada.send(f"{LETTERS}/replay", shown)

    assert "value" not in fields(shown, f"{LETTERS}/replay")
    assert 409 == status
    assert 'was not put back: product "customer_profile" has no sink "redis a" any more' in text
    assert 4 == len(ada.letters())


def test_letters_that_are_not_listed_are_not_handled(app: Starlette, folder: Path) -> None:
    (folder / "shop" / "dead_letters" / "core-2.jsonl").write_text('{"reason": "unde')
    ada = Person(app)

    for address in (LETTERS, f"{LETTERS}/drop?id=8604ef4f074a"):
        answer = ada.browser.get(address)
        assert 409 == answer.status_code
        assert "joinery dlq" in answer.text
