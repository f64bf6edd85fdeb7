"""The pages, over what a real run has left: its status files, leases and dead letters."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from joinery.delivery.lease import Lease
from joinery.delivery.query_paths import QueryPaths
from joinery.ui.fleet import Fleet, FleetError
from joinery.ui.site import site

if TYPE_CHECKING:
    from starlette.testclient import TestClient

LEFT = Path(__file__).parent / "fleet"
ADDRESS = "http://127.0.0.1:9465"
PRODUCT = "/p/shop/customer_profile"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LEFT, tmp_path / "fleet"))


def opened(folder: Path) -> TestClient:
    from starlette.testclient import TestClient

    files = [folder / "shop" / "joinery.yaml", folder / "crm" / "joinery.yaml"]
    return TestClient(site(Fleet.load(files)), base_url=ADDRESS)


def tree(text: str) -> Any:
    """Return a page, read as HTML's standard says; one with mistakes is refused."""
    import html5lib

    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


def texts(page: Any, tag: str) -> list[str]:
    return ["".join(each.itertext()).strip() for each in page.iter(tag)]


def states(client: TestClient) -> dict[str, str]:
    found = client.get("/products.json").json()
    return {each["product"]: each["state"] for each in found}


@pytest.fixture
def live(folder: Path) -> Iterator[Path]:
    """What a run leaves while it goes on: its lease is held, its status says so."""
    checkpoint = folder / "shop" / "checkpoint"
    leases = [Lease(checkpoint / "_leases" / f"{each}.lease", each) for each in ("core", "names")]
    for lease in leases:
        lease.take()
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    for file in (checkpoint / "_status").iterdir():
        told = json.loads(file.read_text())
        told |= {"state": "running", "caught_up": True, "caught_up_at": now, "written_at": now}
        file.write_text(json.dumps(told))
    yield folder
    for lease in leases:
        lease.release()


def test_the_first_page_shows_the_products_of_all_projects(folder: Path) -> None:
    page = tree(opened(folder).get("/").text)

    shown = [each for each in texts(page, "a") if each.endswith(("profile", "card", "names"))]
    assert ["customer_profile", "names", "order_card", "lead_card"] == shown
    assert "4 products · 1 never run · 3 ended" in " ".join(texts(page, "p"))


def test_what_wants_attention_is_first_and_says_why(live: Path) -> None:
    file = live / "shop" / "checkpoint" / "_status" / "names.json"
    told = json.loads(file.read_text())
    waiting = {"product": "names", "target": "opensearch", "reason": "refused", "attempts": 3}
    told["waiting"] = [{**waiting, "since": 0.0, "grace_s": 30.0}]
    file.write_text(json.dumps(told))

    client = opened(live)

    assert ["names", "customer_profile", "order_card", "lead_card"] == list(states(client))
    assert "because opensearch: refused" in client.get("/?attention=1").text
    assert "order_card" not in client.get("/?attention=1").text


def test_a_run_that_was_killed_is_gone(live: Path) -> None:
    lease = live / "shop" / "checkpoint" / "_leases" / "core.lease"
    held = json.loads(lease.read_text())
    lease.write_text(json.dumps({**held, "processes": [2**22 + 1]}))

    client = opened(live)

    assert {"gone", "live", "never run"} == set(states(client).values())
    assert "start the run again" in client.get(PRODUCT).text


def test_a_status_file_cut_short_is_told_and_hides_no_other_product(live: Path) -> None:
    file = live / "shop" / "checkpoint" / "_status" / "core.json"
    file.write_bytes(file.read_bytes()[:100])

    client = opened(live)

    assert {"unknown", "live", "never run"} == set(states(client).values())
    assert "core.json cannot be read: it is truncated" in client.get(PRODUCT).text


@pytest.mark.parametrize("content", [b"[]", b"null", b"\xff", b'{"products": []}', b""])
def test_no_content_of_a_status_file_takes_the_page_away(folder: Path, content: bytes) -> None:
    (folder / "shop" / "checkpoint" / "_status" / "core.json").write_bytes(content)

    client = opened(folder)

    assert 200 == client.get("/").status_code
    assert 200 == client.get(PRODUCT).status_code


def test_what_operators_asked_that_cannot_be_read_takes_no_page_away(folder: Path) -> None:
    control = QueryPaths.of(folder / "shop" / "checkpoint", "core").control_file
    control.unlink(missing_ok=True)
    control.mkdir(parents=True)

    client = opened(folder)

    assert 200 == client.get(PRODUCT).status_code
    assert "core.jsonl cannot be read: Is a directory" in client.get("/").text


def test_dead_letters_that_cannot_be_read_are_said_to_be_so(folder: Path) -> None:
    (folder / "shop" / "dead_letters" / "core-2.jsonl").write_text('{"reason": "unde')

    assert "cannot be read" in opened(folder).get(PRODUCT).text


def test_a_project_that_never_ran_has_its_page(folder: Path) -> None:
    page = opened(folder).get("/p/crm/lead_card")

    assert "never run" in page.text
    assert "no batch has finished yet" in page.text
    tree(page.text)


def test_a_product_shows_its_batches_dead_letters_and_plan(folder: Path) -> None:
    page = opened(folder).get(PRODUCT).text

    assert "Nest orders" in page
    assert "dead: 3, expected 0" in page
    assert "2 undecodable, 1 wrong_type" in page
    titles = ["the last 24 hours", "reads", "shows everything up to", "last batches", "hot keys"]
    assert [*titles, "counted", "dead letters", "plan"] == [
        each.partition(" CSV")[0] for each in (" ".join(t.split()) for t in texts(tree(page), "h2"))
    ]


def test_a_hot_key_is_named_and_listed(live: Path) -> None:
    file = live / "shop" / "checkpoint" / "_status" / "core.json"
    told = json.loads(file.read_text())
    hot = {"node": "Match p/q", "by": "x", "key": "<b>7", "messages": 6000, "error": 500}
    told["products"]["customer_profile"]["hot_keys"] = [{**hot, "of": 10_000, "batches": 20}]
    file.write_text(json.dumps(told))

    client = opened(live)

    named = (
        "hot key: x = <b>7 has 60% (up to 65%) of the messages of Match p/q in the last 20 batches"
    )
    assert named in texts(tree(client.get(PRODUCT).text), "p")
    assert any(named in each for each in texts(tree(client.get("/").text), "td"))
    [row] = client.get(f"{PRODUCT}/hot_keys.json").json()
    assert ("<b>7", 0.6, 0.65, 6000) == (
        row["key"],
        row["share"],
        row["share_at_most"],
        row["messages"],
    )
    assert [] == client.get("/p/shop/order_card/hot_keys.json").json()


def test_a_product_shows_its_last_day(folder: Path) -> None:
    now = datetime.now(UTC)
    file = folder / "shop" / "checkpoint" / "_status" / "core" / f"{now:%Y-%m-%d}.jsonl"
    file.parent.mkdir()
    products = {"customer_profile": [120, 700], "order_card": [3, None]}
    line = {"at": now.isoformat(), "rows_left": 7, "paused": False, "products": products}
    file.write_text(json.dumps(line) + '\n{"at": "20')

    client = opened(folder)

    [minute] = client.get(f"{PRODUCT}/minutes.json").json()
    assert (120, 0.7, 7) == (minute["sent"], minute["fresh_s"], minute["rows_left"])
    page = client.get(PRODUCT).text
    assert "fresh: at most 0.7 s" in page
    tree(page)
    assert 3 == page.count("<path d=")
    assert "fresh: not known" in client.get("/p/shop/order_card").text


def test_a_product_shows_what_is_kept_of_earlier_batches(folder: Path) -> None:
    client = opened(folder)

    told = "2 marks, the newest of batch 17 (2026-01-02 03:04:05Z); 61.2 MB"
    assert told in texts(tree(client.get(PRODUCT).text), "dd")


def test_hostile_documents_are_text(folder: Path) -> None:
    client = opened(folder)
    page = client.get(PRODUCT).text

    assert "onerror=alert(2)" in page
    assert ["/static/live.js"] == [
        each.attrib["src"].partition("?")[0] for each in tree(page).iter("script")
    ]
    assert {"img": 1} == {"img": len(list(tree(page).iter("img")))}
    assert "<img src=x" not in page
    assert "<script>fetch" not in page


def test_a_hostile_filter_is_text(folder: Path) -> None:
    page = opened(folder).get("/", params={"q": '"><script>alert(3)</script>', "sort": "<b>"}).text

    assert "<script>alert" not in page
    assert "<b>" not in page
    tree(page)


def test_every_table_is_csv_and_json(folder: Path) -> None:
    client = opened(folder)

    for table in ("relations", "batches", "hot_keys", "counters", "dead_letters"):
        rows = client.get(f"{PRODUCT}/{table}.json").json()
        lines = client.get(f"{PRODUCT}/{table}.csv").text.splitlines()
        assert len(list(csv.DictReader(lines))) == len(rows)
    assert 4 == len(client.get("/products.json").json())
    assert ["names"] == [each["product"] for each in client.get("/products.json?q=names").json()]


def test_a_spreadsheet_finds_no_formula_in_a_document(folder: Path) -> None:
    client = opened(folder)

    values = [
        row["value"]
        for row in csv.DictReader(client.get(f"{PRODUCT}/dead_letters.csv").text.splitlines())
    ]

    assert "'=cmd|' /C calc'!A0" in values
    assert "=cmd|' /C calc'!A0" in [
        each["value"] for each in client.get(f"{PRODUCT}/dead_letters.json").json()
    ]


@pytest.mark.parametrize("address", ["/", PRODUCT, "/nothing", "/products.csv", "/static/page.css"])
def test_every_answer_allows_only_what_is_its_own(folder: Path, address: str) -> None:
    headers = opened(folder).get(address).headers

    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "nosniff" == headers["x-content-type-options"]


def test_a_page_asks_for_nothing_of_others_and_has_no_script_or_style_within(folder: Path) -> None:
    for address in ("/", PRODUCT):
        page = tree(opened(folder).get(address).text)
        named = [each.attrib.get(name, "") for each in page.iter() for name in ("href", "src")]
        assert all(each.startswith(("/", "#")) for each in named if each)
        assert not [each for each in page.iter() if "style" in each.attrib]
        assert not [name for each in page.iter() for name in each.attrib if name.startswith("on")]
        assert "" == "".join("".join(each.itertext()) for each in page.iter("script"))


def test_the_picture_of_a_plan_is_whole_svg(folder: Path) -> None:
    from xml.etree import ElementTree as ET

    answer = opened(folder).get(f"{PRODUCT}/plan.svg")

    assert "image/svg+xml" == answer.headers["content-type"]
    assert "svg" in ET.fromstring(answer.text).tag


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9465", "", "127.0.0.1.evil.example"]
)
def test_a_name_that_is_not_this_machines_is_refused(folder: Path, host: str) -> None:
    assert 421 == opened(folder).get("/", headers={"host": host}).status_code


@pytest.mark.parametrize("host", ["localhost:9465", "127.0.0.1", "[::1]:9465", "LOCALHOST"])
def test_names_of_this_machine_are_answered(folder: Path, host: str) -> None:
    assert 200 == opened(folder).get("/", headers={"host": host}).status_code


def test_nothing_can_be_changed(folder: Path) -> None:
    before = {each: each.stat().st_mtime_ns for each in folder.rglob("*")}
    client = opened(folder)

    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert 405 == client.request(method, PRODUCT).status_code
    client.get(PRODUCT)

    assert before == {each: each.stat().st_mtime_ns for each in folder.rglob("*")}


@pytest.mark.parametrize(
    "address",
    ["/p/shop/none", "/p/none/names", "/nothing", f"{PRODUCT}/batches.xml", "/static/../page.py"],
)
def test_what_is_not_there_is_said_to_be_not_there(folder: Path, address: str) -> None:
    answer = opened(folder).get(address)

    assert 404 == answer.status_code
    assert os.fspath(folder) not in answer.text


def test_two_projects_of_one_name_have_addresses_of_their_own(folder: Path) -> None:
    shutil.copytree(folder / "shop", folder / "other")

    fleet = Fleet.load([folder / "shop", folder / "other"])

    assert ["shop", "shop-2"] == [each.slug for each in fleet.places]
    with pytest.raises(FleetError, match="named twice"):
        Fleet.load([folder / "shop", folder / "shop"])
