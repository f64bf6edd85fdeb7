from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from bench.nexmark.answers import difference, of_flink, spread
from bench.nexmark.events import FIRST_ID, House, write
from bench.nexmark.queries import QUERIES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "nexmark"


def test_each_query_is_a_file_of_at_most_15_lines() -> None:
    files = {each.stem: each for each in FOLDER.glob("q*.yaml")}

    assert {name for name, query in QUERIES.items() if "ours" not in query.why_not} == set(files)
    lines = {name: len(each.read_text("utf-8").splitlines()) for name, each in files.items()}
    assert {} == {name: each for name, each in lines.items() if each > 15}


def test_the_page_shows_a_query_as_it_is() -> None:
    page = (ROOT / "docs" / "nexmark.md").read_text("utf-8")

    shown = re.findall(r"```yaml (q\d+)\n(.*?)```", page, re.DOTALL)
    assert [("q5", (FOLDER / "q5.yaml").read_text("utf-8"))] == shown


def test_of_a_hundred_events_two_are_people_and_six_auctions() -> None:
    told = Counter(name for name, _ in islice(House(1).events(), 1_000))

    assert {"person": 20, "auction": 60, "bid": 920} == told


def test_half_the_bids_are_on_the_hot_auction_and_most_are_by_the_hot_bidder() -> None:
    bids = [row for name, row in islice(House(1).events(), 1_600) if name == "bid"]

    hot = Counter(row["auction"] for row in bids)[FIRST_ID]
    assert 0.45 < hot / len(bids) < 0.55
    assert 0.7 < Counter(row["bidder"] for row in bids)[FIRST_ID + 1] / len(bids) < 0.8


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, 500)

    def contents(folder: Path) -> dict[str, bytes]:
        files = folder.rglob("*.jsonl")
        return {str(each.relative_to(folder)): each.read_bytes() for each in files}

    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        ({"a": 1, "b": {"c": 2, "d": None}}, [(1, 2, None)]),
        ({"a": 1, "list": [{"b": 5}, {"b": 4}]}, [(1, 1, 5), (1, 2, 4)]),
        ({"a": 1, "list": []}, []),
    ],
)
def test_a_document_is_spread_over_rows(
    value: dict[str, object], rows: list[tuple[object, ...]]
) -> None:
    assert rows == list(spread(value, ranked=True))


def test_rows_that_flink_takes_back_are_gone(tmp_path: Path) -> None:
    log = tmp_path / "flink.log"
    log.write_text(
        "1> +I[1, null]\n2> +I[2, x]\n1> -U[1, null]\n1> +U[1, y]\n2> -D[2, x]\n", "utf-8"
    )

    assert [("1", "y")] == list(of_flink(log))


def test_a_difference_is_told_with_examples() -> None:
    wanted = Counter({(1, 2.5): 2, (2, None): 1})

    assert "" == difference(["BIGINT", "DOUBLE"], wanted, [("1", "2.5"), (1, 2.5), (2, None)])
    assert "2 rows are missing, 1 too many, such as (1, 2.5) and (3, 1.0)" == difference(
        ["BIGINT", "DOUBLE"], wanted, [(1, 2.5), (3, 1)]
    )
