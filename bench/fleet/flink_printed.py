"""The documents that Flink printed, compared with what they must be.

Flink prints a changelog of nested rows and arrays without names of fields; its arrays have no
order, and a list without rows is null.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from bench.fleet.shape import Fleet, Product
from bench.fleet.truth import Truth

_PRINTED = re.compile(r"(\w+):\d+> ([+-])[IUD]\[([^(]*), (\(.*\))\]$", re.DOTALL)


def printed(log: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield product, sign, key and document, as text, of each line of a changelog."""
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if found := _PRINTED.match(line.rstrip("\n")):
                name, sign, key, document = found.groups()
                yield name, sign, key, document


def wrong(fleet: Fleet, rows: Path, log: Path) -> dict[str, str]:
    """Return what is wrong with the documents that Flink printed, by product."""
    standing = {each.name: Counter[tuple[str, Any]]() for each in fleet.products}
    for name, sign, key, document in printed(log):
        standing[name][key, parsed(document)] += 1 if sign == "+" else -1
    truth = Truth(fleet, rows)
    try:
        told = {each.name: _difference(truth, each, standing[each.name]) for each in fleet.products}
    finally:
        truth.close()
    return {name: text for name, text in told.items() if text}


def _difference(truth: Truth, product: Product, standing: Counter[tuple[str, Any]]) -> str:
    left = +standing
    if odd := next((each for each, count in standing.items() if count not in (0, 1)), None):
        return f"{odd} stands {standing[odd]} times"
    for key, wanted in truth.documents(product):
        plain = ",".join(str(each) for each in json.loads(key).values())
        document = plain, meant(json.loads(wanted))
        if not left.pop(document, 0):
            others = [each for each in left if each[0] == plain]
            return f"{key} is {others[:1]}, wanted {document[1]}"
    return f"{len(left)} too many, such as {next(iter(left))}" if left else ""


def parsed(text: str) -> Any:
    """Read what Flink prints of nested rows and arrays: `(1, a, [(2, b)], NULL)`."""
    tokens = iter(re.findall(r"[(\[]|[)\]]|, |[^(\[)\],]+|,", text))
    return _group(tokens, next(tokens))


def _group(tokens: Iterator[str], opened: str) -> Any:
    parts: list[Any] = []
    held: Any = ""
    for token in tokens:
        if token in "([":
            held = _group(tokens, token)
        elif token in (", ", ")", "]"):
            parts.append(meant(held) if isinstance(held, str) else held)
            held = ""
            if token != ", ":
                break
        else:
            held = token
    return tuple(parts) if opened == "(" else tuple(sorted(parts, key=repr)) or None


def meant(value: Any) -> Any:
    """Return a value in a form that both have: names of fields, order of lists left out."""
    match value:
        case dict():
            return tuple(meant(each) for each in value.values())
        case list():
            return tuple(sorted((meant(each) for each in value), key=repr)) or None
        case None:
            return None
        case bool():
            return str(value).upper()
        case _:
            return _plain(str(value).strip())


def _plain(text: str) -> str | None:
    try:
        return None if text == "NULL" else f"{Decimal(text).normalize():f}"
    except InvalidOperation:
        return text
