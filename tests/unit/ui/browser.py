"""A fleet whose page can be acted on, and somebody in front of a browser."""

from __future__ import annotations

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
