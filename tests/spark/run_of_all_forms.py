"""A run over products of all forms, and what its sinks were given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.session_run import run_to_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  customer: {key: [id], fields: {id: long, name: string, since: timestamp}}
  order:
    key: [shop, number]
    fields: {shop: string, number: long, customer_id: long, price: "decimal(8,2)"}
  follow: {key: [who, whom], fields: {who: long, whom: long}}
  post: {key: [id], fields: {id: long, author: long, text: string, at: timestamp}}
  view:
    key: [id]
    append: true
    fields: {id: long, page: string, ok: boolean, at: timestamp}
    time: at
    watermark: {delay: 1s}
  entry:
    key: [account, seq]
    append: true
    fields: {account: string, seq: long, kind: string, amount: long}
  wanted: {key: [id], fields: {id: long, condition: string}}
run: {spark: {spark.sql.shuffle.partitions: "3"}}
products:
  profile:
    root: customer
    group: all
    fields: [name]
    embed:
      orders: {many: order, on: {customer_id: id}, fields: [number, price], order: [number]}
    values: {shouted: upper(name), cost: sum(orders.price)}
    sink: {files: {path: out}}
  receipt:
    root: order
    group: all
    fields: [price]
    embed: {customer: {one: customer, on: {id: customer_id}, fields: [name]}}
    sink: {files: {path: out}}
  feed:
    root: customer
    group: all
    fields: [name]
    embed:
      posts:
        many: post
        through: {follow: {who: id}}
        on: {author: follow.whom}
        fields: [text]
        order: [-at]
        limit: 2
    sink: {files: {path: out}}
  totals:
    aggregate: order
    group: all
    by: [shop]
    values: {n: count(*), cost: sum(price)}
    sink: {files: {path: out}}
  buyers:
    aggregate: order
    group: all
    by: [customer_id]
    values: {n: count(*)}
    sink: {files: {path: out}}
  everything:
    aggregate: order
    group: all
    values: {n: count(*)}
    sink: {files: {path: out}}
  pages:
    aggregate: view
    group: all
    by: [page]
    window: {tumbling: 1m}
    values: {n: count(*)}
    sink: {files: {path: out}}
  closed:
    aggregate: view
    group: all
    by: [page]
    window: {tumbling: 1m}
    values: {n: count(*)}
    emit: {when: closed}
    sink: {files: {path: out}}
  visits:
    aggregate: view
    group: all
    by: [page]
    window: {session: 30s, max: 1h}
    values: {n: count(*)}
    sink: {files: {path: out}}
  names:
    history: customer
    group: all
    valid: since
    track: [name]
    sink: {files: {path: out}}
  balance:
    fold: entry
    group: all
    by: [account]
    sequence: seq
    kind: kind
    state: {sum: "long = 0"}
    when: {In: {sum: sum + event.amount}, Out: {sum: sum - event.amount}}
    wait: 0s
    sink: {files: {path: out}}
  failures:
    pattern: view
    group: all
    by: [page]
    define: {F: not ok, S: ok}
    match: "F{2,} -> S"
    within: 10m
    fields: {tries: count(F)}
    sink: {files: {path: out}}
  found:
    search: order
    group: all
    queries: wanted
    query: condition
    fields: {price: order.price}
    sink: {files: {path: out}}
"""
FIRST: Mapping[str, list[dict[str, Any]]] = {
    "customer": [
        {"id": 1, "name": "Ada", "since": "2026-01-01T00:00:00Z"},
        {"id": 2, "name": "Bo", "since": "2026-01-01T00:00:00Z"},
        {"id": 3, "name": "Cy", "since": "2026-01-01T00:00:00Z"},
    ],
    "order": [
        {"shop": "a,b", "number": 1, "customer_id": 1, "price": "1.50"},
        {"shop": "ö", "number": 2, "customer_id": 1, "price": "20.00"},
        {"shop": "ö", "number": 3, "customer_id": 2, "price": "3.00"},
        {"shop": "null", "number": 4, "customer_id": None, "price": "0.00"},
    ],
    "follow": [{"who": 1, "whom": 2}, {"who": 1, "whom": 3}],
    "post": [
        {"id": n, "author": 2 + n % 2, "text": f"post {n}", "at": f"2026-01-01T00:00:0{n}Z"}
        for n in range(5)
    ],
    "view": [
        {"id": n, "page": "/", "ok": n == 2, "at": f"2026-01-01T00:00:0{n}Z"} for n in range(3)
    ],
    "entry": [
        {"account": "x", "seq": 1, "kind": "In", "amount": 10},
        {"account": "x", "seq": 2, "kind": "Out", "amount": 3},
    ],
    "wanted": [{"id": 1, "condition": "price > 2"}],
}
SECOND: Mapping[str, list[dict[str, Any]]] = {
    "customer": [
        {"id": 1, "name": "Ada L.", "since": "2026-02-01T00:00:00Z"},
        {"id": 3, "__deleted": True},
    ],
    "order": [
        {"shop": "ö", "number": 2, "customer_id": 2, "price": "0.10"},
        {"shop": "ö", "number": 3, "__deleted": True},
    ],
    "follow": [{"who": 1, "whom": 3, "__deleted": True}],
    "view": [{"id": 9, "page": "/", "ok": True, "at": "2026-01-01T00:09:00Z"}],
    "entry": [{"account": "x", "seq": 3, "kind": "In", "amount": 1}],
}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of which two batches are read, one after the other."""
    made = tmp_path_factory.mktemp("state")
    (made / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    for number in range(2):
        feed(made, number)
        run_to_end(spark, made)
    return made


def feed(folder: Path, number: int) -> None:
    """Write the changes of the first batch, 0, or of the second, 1."""
    for relation, rows in (FIRST, SECOND)[number].items():
        file = folder / "data" / relation / f"{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def sent(folder: Path, product: str) -> dict[str, list[tuple[int, str | None]]]:
    """Return by key what a sink was given, each with its version, the last one at the end."""
    found: dict[str, list[tuple[int, str | None]]] = {}
    for file in sorted((folder / "out" / product).glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            value = None if told["value"] is None else line[line.index('"value":') + 8 :]
            document = value and value[: value.rindex(',"version":')]
            key = json.dumps(told["key"], ensure_ascii=False)
            found.setdefault(key, []).append((told["version"], document))
    return found
