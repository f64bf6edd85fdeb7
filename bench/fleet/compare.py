"""The documents that a run of the fleet left, compared with what they must be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fleet.shape import Fleet, Product
from bench.fleet.truth import Truth


@dataclass(frozen=True, slots=True)
class Sent:
    """What a sink's files say of a product.

    Attributes:
        documents: The newest of each key that stands, as text.
        lines: How many were sent.
        unchanged: Of them, those that say what the one before them said.
        falling: Of them, those whose version is not above the one before.
    """

    documents: dict[str, str]
    lines: int
    unchanged: int
    falling: int


def sent(folder: Path) -> Sent:
    """Read a product's files in their order."""
    newest: dict[str, tuple[int, str | None]] = {}
    lines = unchanged = falling = 0
    for key, value, version in _lines(folder):
        lines += 1
        before = newest.get(key)
        if before is not None:
            unchanged += before[1] == value
            falling += before[0] >= version
        newest[key] = version, value
    found = {key: value for key, (_, value) in newest.items() if value is not None}
    return Sent(found, lines, unchanged, falling)


def _lines(folder: Path) -> Iterator[tuple[str, str | None, int]]:
    """Yield key, value and version, cut out of the lines as they are."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                head, _, version = line.rstrip().rpartition(',"version":')
                key, _, value = head.partition(',"value":')
                told = None if value == "null" else value
                yield key.removeprefix('{"key":'), told, int(version.removesuffix("}"))


def difference(truth: Truth, product: Product, found: Sent) -> str:
    """Return what is wrong with a product's documents; empty where nothing is."""
    if found.unchanged or found.falling:
        return f"{found.unchanged} sent unchanged, {found.falling} of no higher version"
    left = dict(found.documents)
    for key, wanted in truth.documents(product):
        got = left.pop(key, None)
        if got is None:
            return f"{key} is missing, wanted {wanted}"
        if got != wanted and not _same(json.loads(got), json.loads(wanted)):
            return f"{key} is {got}, wanted {wanted}"
    return f"{len(left)} too many, such as {next(iter(left))}" if left else ""


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same, as ordered as they are: JSON objects keep their order."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_same(one[each], other[each]) for each in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    # Decimals with and without their last zeros are the same number; true is not 1.
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def differences(fleet: Fleet, rows: Path, out: Path) -> dict[str, str]:
    """Return what is wrong, by product, of all that a run left in `out`."""
    truth = Truth(fleet, rows)
    try:
        told = {
            each.name: difference(truth, each, sent(out / each.name)) for each in fleet.products
        }
    finally:
        truth.close()
    return {name: text for name, text in told.items() if text}
