"""The pages of `joinery ui` in Chromium, as axe judges them: for those who see little, or hear."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.examples.browser import BROWSER
from tests.services.accessible import DRIVER, Browser, axe, browsing, can_fetch_axe
from tests.unit.ui.browser import LEFT, LETTERS, PRODUCT, TOKEN

from joinery.ui.access import Door
from joinery.ui.fleet import Fleet
from joinery.ui.site import site

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason="there is no Chromium here"),
    pytest.mark.skipif(not can_fetch_axe(), reason="there is no npm here, which fetches axe"),
]
_SIGN_IN = f"""
document.querySelector('[name="name"]').value = "Ada";
document.querySelector('[name="token"]').value = "{TOKEN}";
document.querySelector('form[action="/sign-in"]').submit();
"""
_SHOWN = """
const {responseStatus} = performance.getEntriesByType("navigation")[0];
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
return `${responseStatus},${dark ? "dark" : "light"}`;
"""
_FAILED = "/p/shop/names"
_PAGES = [
    "/",
    PRODUCT,
    _FAILED,
    f"{PRODUCT}/why?key=7",
    f"{PRODUCT}/pause",
]


def why(file: Path, product: str, key: str) -> Sequence[str]:
    """Answer with lines, as the command does."""
    return [f"{product} {key}", f"  customer {key}  insert at customer/1.jsonl:1"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the page is served, with actions and answers, over what runs have left."""
    import uvicorn

    folder = Path(shutil.copytree(LEFT, tmp_path_factory.mktemp("ui") / "fleet"))
    status = folder / "shop" / "checkpoint" / "_status" / "names.json"
    failed = {"state": "failed", "why": "the disk is full", "code": "RUN_FAILED"}
    status.write_text(json.dumps(json.loads(status.read_text()) | failed))
    fleet = Fleet.load([folder / "shop" / "joinery.yaml", folder / "crm" / "joinery.yaml"])
    app = site(fleet, door=Door(TOKEN), why=why)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        serving = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        serving.start()
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        server.should_exit = True
        serving.join()


@pytest.fixture(scope="module")
def browser(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Somebody's browser."""
    try:
        axe()
    except subprocess.SubprocessError as error:
        pytest.skip(f"npm cannot fetch axe here: {error}")
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


def looked_at(browser: Browser, address: str, pages: Sequence[str]) -> dict[str, object]:
    """Return what axe finds in pages, in light and in dark, by the page."""
    found: dict[str, object] = {}
    for colours in ("light", "dark"):
        browser.prefers(colours)
        for each in pages:
            browser.open(f"{address}{each}")
            found[f"{colours} {each} {browser.does(_SHOWN)}"] = browser.serious()
    return found


def test_axe_finds_nothing_serious_on_any_page(browser: Browser, address: str) -> None:
    found = looked_at(browser, address, ["/sign-in"])
    browser.does(_SIGN_IN)
    deadline = time.monotonic() + 300
    while browser.does("return location.pathname") == "/sign-in":
        assert time.monotonic() < deadline, "signing in takes too long"
        time.sleep(0.1)
    with urllib.request.urlopen(f"{address}{PRODUCT}/dead_letters.json") as answer:
        letter = json.load(answer)[0]["id"]
    pages = [*_PAGES, f"{LETTERS}/replay?id={letter}"]
    found |= looked_at(browser, address, pages)

    all_pages = ["/sign-in", *pages]
    colours = ("light", "dark")
    expected: dict[str, object] = {
        f"{one} {page} 200,{one}": [] for one in colours for page in all_pages
    }
    assert expected == found


def test_axe_looks(browser: Browser, address: str) -> None:
    browser.open(f"{address}/")
    browser.does("document.body.append(new Image())")

    assert ["image-alt"] == [each[1] for each in browser.serious()]
