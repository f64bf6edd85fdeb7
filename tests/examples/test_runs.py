"""The examples, each by its one command, on embedded parts.

One has a process of its own, as a user's has; the others take the session of all tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.spark, pytest.mark.slow]
Printed = Callable[..., str]


def printed_alone(module: str, *arguments: str) -> str:
    """Run an example in a process of its own; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def printed(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Printed:
    """What an example prints that is run as its command is, where there is a session."""

    def run(module: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [module, *arguments])
        import_module(f"{module}.__main__").main()
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("read", ["state", pytest.param("database", marks=pytest.mark.exhaustive)])
def test_the_coffee_shop_opens_and_serves(read: str, tmp_path: Path) -> None:
    sizes = ("--seconds", "4", "--orders", "400", "--rate", "50", "--compared", "20000")
    told = printed_alone(
        "examples.coffee_shop",
        *("--read", read, "--folder", str(tmp_path), "--compare-seconds", "0.3"),
        *sizes,
    )

    assert re.search(r"the dashboard is at http://127\.0\.0\.1:\d+", told)
    assert f"consistency, customers read from {read}: " in told
    assert re.search(r"a new price reached the \d+ orders of its product in [\d.]+ s", told)
    assert "history was replayed into a new version" in told
    assert "the flat table is" in told
    assert (tmp_path / "comparison_0.svg").stat().st_size > 1000


def test_the_social_network_answers_in_three_ways(printed: Printed, tmp_path: Path) -> None:
    told = printed(
        "examples.social_network",
        *("--folder", str(tmp_path), "--profiles", "200", "--views", "2000"),
        *("--singles", "3", "--backlog", "500", "--no-warm-up"),
    )

    assert "who viewed me: " in told
    assert "the three variants gave the same answers" in told
    assert ["in the event", "queried", "merged"] == re.findall(r"^\| (\w[\w ]+?) \| \d", told, re.M)
    assert "recovery, guards off: 500 views" in told
    assert "recovery, guards on: 500 views" in told
    assert (tmp_path / "stampede.svg").stat().st_size > 1000


def test_web_traffic_is_corrected_by_what_comes_late(printed: Printed, tmp_path: Path) -> None:
    told = printed("examples.web_traffic", "--folder", str(tmp_path), "--seconds", "10")

    assert re.search(r"the page is at http://127\.0\.0\.1:\d+", told)
    assert re.search(r"views, [1-9]\d* of them below the watermark", told)
    assert "requests a second: equal to a plain count" in told
    assert "unique visitors: equal to a plain count" in told


def test_timelines_are_what_a_plain_search_finds(printed: Printed, tmp_path: Path) -> None:
    told = printed("examples.timeline", "--folder", str(tmp_path), "--seconds", "10")

    assert re.search(r"the page is at http://127\.0\.0\.1:\d+", told)
    assert "left out, followed by too many" in told
    assert "all timelines: equal to a plain search of all follows and posts" in told


def test_alerts_are_what_trying_each_search_on_each_listing_finds(
    printed: Printed, tmp_path: Path
) -> None:
    told = printed("examples.alerts", "--folder", str(tmp_path), "--seconds", "10")

    assert re.search(r"the page is at http://127\.0\.0\.1:\d+", told)
    assert re.search(r"[1-9]\d* entered, [1-9]\d* changed, [1-9]\d* left", told)
    assert "all alerts: equal to trying each search on each listing" in told


def test_matches_are_what_a_plain_search_of_all_rows_finds(
    printed: Printed, tmp_path: Path
) -> None:
    told = printed("examples.fraud", "--folder", str(tmp_path), "--seconds", "10")

    assert re.search(r"the page is at http://127\.0\.0\.1:\d+", told)
    assert re.search(r"[1-9]\d* entered, \d+ changed, \d+ left", told)
    assert "all matches: equal to a plain search of all rows" in told


def test_a_bank_is_what_a_plain_fold_of_its_log_makes(printed: Printed, tmp_path: Path) -> None:
    told = printed("examples.bank", "--folder", str(tmp_path), "--seconds", "6")

    assert re.search(r"the page is at http://127\.0\.0\.1:\d+", told)
    before, after = map(int, re.findall(r"^(\d+) accounts are suspicious", told, re.M))
    assert before > after > 0
    assert "all views: equal to a plain fold of the log" in told
