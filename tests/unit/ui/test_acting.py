"""What can be done on the page, by whom, and what is told and kept of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from joinery.delivery.control import ControlLog
from joinery.delivery.query_paths import QueryPaths
from joinery.ui.access import Door
from joinery.ui.fleet import Fleet
from joinery.ui.site import site

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

LEFT = Path(__file__).parent / "fleet"
ADDRESS = "http://127.0.0.1:9465"
PRODUCT = "/p/shop/customer_profile"
LETTERS = f"{PRODUCT}/dead-letters"
TOKEN = "a token of many characters"
FORM = "application/x-www-form-urlencoded"
CHANGING = [
    "/sign-in",
    "/sign-out",
    *(f"{PRODUCT}/{verb}" for verb in ("pause", "resume")),
    *(f"{LETTERS}/{verb}" for verb in ("replay", "drop")),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LEFT, tmp_path / "fleet"))


def opened(folder: Path, *, door: Door | None = None) -> Starlette:
    files = [folder / "shop" / "joinery.yaml", folder / "crm" / "joinery.yaml"]
    return site(Fleet.load(files), door=door)


@pytest.fixture
def app(folder: Path) -> Starlette:
    return opened(folder, door=Door(TOKEN))


def client(app: Starlette, address: str = ADDRESS) -> TestClient:
    from starlette.testclient import TestClient

    return TestClient(app, base_url=address)


def tree(text: str) -> Any:
    """Return a page, read as HTML's standard says; one with mistakes is refused."""
    import html5lib

    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


def fields(text: str, action: str) -> dict[str, Any]:
    """Return what the form that is sent to an address carries, as a browser reads it."""
    [form] = [each for each in tree(text).iter("form") if each.attrib.get("action") == action]
    found: dict[str, Any] = {}
    for each in form.iter("input"):
        if each.attrib.get("type") != "checkbox":
            found.setdefault(each.attrib["name"], []).append(each.attrib.get("value", ""))
    for each in form.iter("textarea"):
        found[each.attrib["name"]] = [each.text or ""]
    return found


class Person:
    """Somebody in front of a browser, who has signed in."""

    def __init__(self, app: Starlette, name: str = "Ada", address: str = ADDRESS) -> None:
        self.browser = client(app, address)
        shown = self.browser.get("/sign-in").text
        form = fields(shown, "/sign-in") | {"name": name, "token": TOKEN}
        self.signed_in = self.browser.post("/sign-in", data=form, follow_redirects=False)

    def asked(self, address: str, **query: Any) -> str:
        answer = self.browser.get(address, params=query)
        assert 200 == answer.status_code
        return str(answer.text)

    def send(self, address: str, shown: str, **more: Any) -> tuple[int, str]:
        """Send the form of a page, some fields filled in; return the status and the text."""
        answer = self.browser.post(address, data=fields(shown, address) | more)
        return answer.status_code, words(answer.text)

    def does(self, address: str, **more: Any) -> tuple[int, str]:
        """Open a page and confirm what it asks."""
        return self.send(address, self.asked(address), **more)

    def letters(self) -> dict[str, str]:
        found = self.browser.get(f"{PRODUCT}/dead_letters.json").json()
        return {each["place"]: each["id"] for each in found}

    def history(self) -> list[dict[str, Any]]:
        return list(self.browser.get(f"{PRODUCT}/actions.json").json())


def words(page: str) -> str:
    [main] = tree(page).iter("main")
    return " ".join("".join(main.itertext()).split())


def control(folder: Path) -> ControlLog:
    return ControlLog(QueryPaths.of(folder / "shop" / "checkpoint", "core").control_file)


def replayed(folder: Path) -> list[str]:
    files = sorted((folder / "shop" / "data" / "customer").glob("*.replay.jsonl"))
    return [line for file in files for line in file.read_text().splitlines()]


def everything(folder: Path) -> dict[Path, int]:
    return {each: each.stat().st_mtime_ns for each in folder.rglob("*")}


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


def test_a_disk_that_is_full_is_told(app: Starlette, folder: Path) -> None:
    ada = Person(app)
    (folder / "shop" / "checkpoint" / "_control").write_text("a file in place of the folder")

    answer = ada.browser.post(f"{PRODUCT}/pause", data=fields(ada.asked("/sign-in"), "/sign-out"))

    assert 409 == answer.status_code
    assert "It could not be done" in answer.text


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
