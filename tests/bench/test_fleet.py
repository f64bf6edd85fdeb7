"""What the statements of a fleet answer is what the reference answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from bench.fleet.compare import Sent, difference
from bench.fleet.flink_printed import wrong
from bench.fleet.log import History, LogFiles
from bench.fleet.shape import Fleet, declared, make_fleet
from bench.fleet.truth import Truth
from joinery.testing import Driver
from joinery.testing.changes import insert

CHANGES = 1_000


def left_by_the_reference(fleet: Fleet, folder: Path) -> dict[str, dict[str, str]]:
    """Return the documents of each product once the rows that stand were inserted, as text."""
    (folder / "joinery.yaml").write_text(declared(fleet, out="out"), encoding="utf-8")
    project = jn.load(folder / "joinery.yaml")
    found = {}
    for product in fleet.products:
        driver = Driver(project.products[product.name])
        driver.send(
            [
                insert(name, **json.loads(line))
                for name in product.relations
                for line in (folder / "rows" / f"{name}.jsonl").read_text().splitlines()
            ]
        )
        key = product.root.relation.key[0]
        found[product.name] = {
            json.dumps({key: id}, separators=(",", ":")): json.dumps(value, default=as_shown)
            for id, value in driver.documents().items()
        }
    return found


def as_shown(value: Any) -> Any:
    """Return a decimal or a time as documents show it."""
    return f"{value:%Y-%m-%dT%H:%M:%SZ}" if hasattr(value, "year") else float(value)


@pytest.mark.parametrize("seed", range(4))
def test_a_statement_answers_what_the_reference_answers(seed: int, tmp_path: Path) -> None:
    fleet = make_fleet(seed, relations=12, products=10)
    history = History(fleet)
    LogFiles(tmp_path / "data").write(history.lines(CHANGES), files=2, total=CHANGES)
    history.write_rows(tmp_path / "rows")

    left = left_by_the_reference(fleet, tmp_path)

    truth = Truth(fleet, tmp_path / "rows")
    for product in fleet.products:
        found = Sent(left[product.name], lines=0, unchanged=0, falling=0)
        assert found.documents
        assert difference(truth, product, found) == ""


def test_a_document_that_differs_is_told(tmp_path: Path) -> None:
    fleet = make_fleet(1, relations=12, products=1)
    history = History(fleet)
    LogFiles(tmp_path / "data").write(history.lines(CHANGES), files=2, total=CHANGES)
    history.write_rows(tmp_path / "rows")
    truth, [product] = Truth(fleet, tmp_path / "rows"), fleet.products
    right = dict(truth.documents(product))
    key, text = next(iter(right.items()))

    def told(documents: dict[str, str], **counted: int) -> str:
        some = {"lines": 0, "unchanged": 0, "falling": 0, **counted}
        return difference(truth, product, Sent(documents, **some))

    assert told(right) == ""
    assert told({**right, key: text.replace("{", '{"more": 1, ', 1)}).startswith(f"{key} is")
    assert told({**right, '{"id":-1}': text}) == '1 too many, such as {"id":-1}'
    assert told({each: right[each] for each in right if each != key}).startswith(f"{key} is miss")
    assert told(right, unchanged=1).startswith("1 sent unchanged")


def test_a_fleet_of_a_hundred_has_all_that_it_is_to_have() -> None:
    fleet = make_fleet(7)

    nodes = [node for product in fleet.products for node in product.root.walk()]
    assert len(fleet.relations) == 40
    assert len(fleet.products) == 100
    assert {node.cardinality for node in nodes} == {"root", "one", "newest", "many", "across"}
    assert sum(each.hot for each in fleet.relations) == 5
    assert any(node.aggregates for node in nodes)
    assert any(node.limit for node in nodes)
    assert any(
        len({embed.on for embed in node.embeds if embed.relation == each.relation}) > 1
        for node in nodes
        for each in node.embeds
    )


def as_flink_prints(value: Any) -> str:
    match value:
        case dict():
            return f"({', '.join(map(as_flink_prints, value.values()))})"
        case [_, *_]:
            return f"[{', '.join(map(as_flink_prints, reversed(value)))}]"
        case None | []:
            return "NULL"
        case bool():
            return str(value).upper()
        case _:
            return str(value)


@pytest.fixture
def printed(tmp_path: Path) -> tuple[Fleet, list[str]]:
    """A fleet whose rows are in a folder, and the lines that Flink would print of it."""
    fleet = make_fleet(7, relations=12, products=8)
    history = History(fleet)
    assert list(history.lines(CHANGES))
    history.write_rows(tmp_path / "rows")
    truth, lines = Truth(fleet, tmp_path / "rows"), []
    for product in fleet.products:
        for key, document in truth.documents(product):
            plain = ",".join(str(each) for each in json.loads(key).values())
            text = as_flink_prints(json.loads(document))
            lines.append(f"{product.name}:1> +I[{plain}, {text}]")
    truth.close()
    return fleet, lines


def test_what_flink_prints_is_compared(printed: tuple[Fleet, list[str]], tmp_path: Path) -> None:
    fleet, lines = printed
    log, rows = tmp_path / "log", tmp_path / "rows"
    name = lines[0].partition(":")[0]
    taken_back = lines[0].replace("+I", "-D", 1)

    def found(*printed: str) -> dict[str, str]:
        log.write_text("\n".join(("WARNING: something", *printed)), encoding="utf-8")
        return wrong(fleet, rows, log)

    assert {} == found(*lines)
    assert {} == found(lines[0], taken_back, *lines)
    assert [name] == [*found(*lines[1:])]
    assert "stands 2 times" in found(lines[0], *lines)[name]
    assert "too many" in found(lines[0].replace("[", "[999999", 1), *lines)[name]
