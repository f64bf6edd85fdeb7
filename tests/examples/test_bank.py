"""The parts of the bank example that need no Spark: its ledger, its tables, its page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from examples.bank.__main__ import mend
from examples.bank.ledger import NAMES, Ledger
from examples.bank.serving import Views
from examples.log import FileLog
from examples.page import served
from tests.examples.browser import BROWSER, dumped
from tests.sqlite_file import sqlite_file

import joinery as jn
from joinery.testing.changes import RowChange, insert
from joinery.testing.driver import Driver

ROOT = Path(__file__).parents[2] / "examples/bank"
ACCOUNTS = range(1, len(NAMES) + 1)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    made = Ledger(FileLog(tmp_path_factory.mktemp("log")))
    made.begin()
    made.act(100, now=60.0)  # what was held back is written now
    return made


@pytest.fixture(scope="module")
def told(ledger: Ledger) -> list[RowChange]:
    ledger.act(0, now=120.0)
    assert isinstance(ledger.log, FileLog)
    files = sorted(ledger.log.folder.glob("entry/*.jsonl"))
    lines = [line for file in files for line in file.read_text().splitlines()]
    return [insert("entry", **json.loads(line)) for line in lines]


def folded(project: jn.Project, view: str, told: list[RowChange]) -> dict[int, Any]:
    driver = Driver(project.products[view])
    driver.send(told)
    return {int(str(key)): row for key, row in driver.documents().items()}


def test_the_views_are_what_a_plain_fold_of_the_log_makes(
    ledger: Ledger, told: list[RowChange]
) -> None:
    project = jn.load(ROOT / "joinery.yaml")

    accounts = folded(project, "account", told)

    assert {each: ledger.state(each)["balance"] for each in ACCOUNTS} == {
        account: row["balance"] for account, row in accounts.items()
    }
    assert ledger.sent() == folded(project, "transfer", told)
    assert {each: ledger.statement(each) for each in ACCOUNTS} == folded(project, "statement", told)
    assert len(told) > ledger.entries()
    assert 0 < ledger.told["late"]


def test_the_fraud_view_warns_of_too_many_until_it_is_mended(
    ledger: Ledger, told: list[RowChange], tmp_path: Path
) -> None:
    file = shutil.copy(ROOT / "joinery.yaml", tmp_path)

    wrong = folded(jn.load(file), "fraud", told)
    mended = folded(mend(Path(file)), "fraud", told)

    suspicious = [each for each in ACCOUNTS if ledger.state(each)["suspicious"]]
    assert suspicious == [each for each, row in mended.items() if row["suspicious"]]
    assert [1, 2, 3, 4] == suspicious
    assert 10 < sum(row["suspicious"] for row in wrong.values())


def test_there_is_nothing_to_show_before_the_first_batch(tmp_path: Path) -> None:
    shown = Views(tmp_path / "bank.db").shown()

    assert {"accounts": [], "transfers": 0, "open": 0, "statements": []} == shown


def test_suspicious_accounts_are_shown_with_their_statements(tmp_path: Path) -> None:
    file = tmp_path / "bank.db"
    with sqlite_file(file) as database:
        for view, row in (
            ("account", {"owner": "Ada", "balance": 100}),
            ("statement", {"owner": "Ada", "balance": 100, "entries": []}),
            ("fraud", {"suspicious": True}),
            ("transfer", {"settled": False}),
        ):
            database.execute(f"create table {view} (id, document)")
            database.execute(f"insert into {view} values (1, ?)", (json.dumps(row),))

    shown = Views(file).shown()

    assert [{"owner": "Ada", "balance": 100, "suspicious": True}] == shown["accounts"]
    assert (1, 1) == (shown["transfers"], shown["open"])
    assert ["Ada"] == [each["owner"] for each in shown["statements"]]


@pytest.mark.services
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_a_browser_shows_accounts_and_statements(tmp_path: Path) -> None:
    account = {"owner": "<i>Ada</i>", "balance": -123456, "suspicious": True}
    entries = [{"number": 7, "type": "Sent", "cents": 50}]
    statement = {"owner": "Ada", "balance": -123456, "entries": entries}
    shown = {"accounts": [account], "transfers": 3, "open": 1, "statements": [statement]}

    with served(ROOT / "page.html", lambda: shown) as address:
        dom = dumped(address, tmp_path)

    assert '<div class="suspicious"><b>&lt;i&gt;Ada&lt;/i&gt;</b>-1,234.56</div>' in dom
    assert "1 of them suspicious; 3 transfers, 1 of them under way" in dom
    assert "<span>7. Sent</span><span>0.50</span>" in dom
