"""The hash of a program of each form is that of an earlier version, whose checkpoints go on.

Where one differs, every checkpoint of its form is refused. What a node learns is left out where it
says nothing (`program._ADDED`), so that only programs which use it have another hash. A hash is
written anew only where state really has another meaning.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.plan.product import Plan
from joinery.solutions.spark_state.fingerprint import fingerprint
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.lower_stream import lower_streams

RELATIONS = """\
relations:
  user: {key: [id], fields: {id: long, name: string, city: string, at: timestamp}}
  post:
    key: [id]
    fields: {id: long, user: long, text: string, score: int, at: timestamp}
    time: at
  follow: {key: [id], fields: {id: long, follower: long, followee: long}}
  city: {key: [name], fields: {name: string, country: string, at: timestamp}, time: at}
  query: {key: [id], fields: {id: long, city: string, text: string}}
  event:
    append: true
    key: [id]
    fields: {id: long, user: long, no: long, type: string, amount: long, at: timestamp}
    time: at
    watermark: {delay: 10s}
products:
  p: """
POSTS = "many: post, on: {user: id}, fields: [text]"
COUNT = "aggregate: event, by: [user], values: {n: count(*), top: max(amount)}"
STEPS = "define: {A: amount > 1, B: amount < 1}, match: A B+, within: 20m, fields: {n: count(B)}"
STATE = "state: {sum: long = 0}, when: {In: {sum: sum + event.amount}}"
PRODUCTS = {
    "to-many": ("{root: user, embed: {posts: {" + POSTS + "}}}", "6e29140e32be1877"),
    "best": (
        "{root: user, embed: {posts: {" + POSTS + ", order: [-score], limit: 3}}}",
        "f9476fc5be1ea677",
    ),
    "map": ("{root: user, embed: {posts: {" + POSTS + ", as: map}}}", "bd03e2d499c45148"),
    "to-one": ("{root: post, embed: {by: {one: user, on: {id: user}}}}", "5462638583b999a8"),
    "nested": (
        "{root: city, embed: {users: {many: user, on: {city: name}, embed: {posts: {"
        + POSTS
        + "}}}}}",
        "360e4be1571d7469",
    ),
    "through": (
        "{root: user, embed: {posts: {many: post, through: {follow: {follower: id}},"
        " on: {user: follow.followee}, order: [-at], limit: 9}}}",
        "3f3f7b2047b2b218",
    ),
    "within": (
        "{root: post, embed: {near: {many: event, on: {user: user}, within: [0s, 30m]}}}",
        "424fb9464839e307",
    ),
    "as of": (
        "{root: post, embed: {place: {one: city, on: {name: text}, as_of: at}}}",
        "91b8e22b1ab83af7",
    ),
    "aggregate": ("{" + COUNT + "}", "6760bb6d123e4528"),
    "windows": ("{" + COUNT + ", window: {tumbling: 1m}}", "111c3f8608408586"),
    "windows once": (
        "{" + COUNT + ", window: {tumbling: 1m}, emit: {when: closed}}",
        "29a1fce1682711c7",
    ),
    "sliding": ("{" + COUNT + ", window: {sliding: 1m}}", "1ea9ff4de82dd03e"),
    "sessions": ("{" + COUNT + ", window: {session: 30m, max: 12h}}", "554353814d563538"),
    "history": ("{history: city, valid: at, track: [country]}", "bf5d6a662332d240"),
    "pattern": ("{pattern: event, by: [user], " + STEPS + "}", "aadbd01731102b41"),
    "search": ("{search: user, queries: query, query: text, on: [city]}", "dcfeda8ccb1590bc"),
    "words": ("{search: user, queries: query, query: text, language: lucene}", "95e7dbfbd2eb83ce"),
    "fold": ("{fold: event, by: [user], sequence: no, " + STATE + "}", "3a0e04b075a5e75a"),
    "fold at once": (
        "{fold: event, by: [user], sequence: no, wait: 0s, " + STATE + "}",
        "7527c83804db8c23",
    ),
}
STREAMS = {
    "lookup": ("[{lookup: user, on: {id: user}, on_change: re_emit, for: 7d}]", "1884ac54814c3781"),
    "as of": ("[{lookup: city, on: {name: type}, as_of: event}]", "92049c191404d745"),
    "rolling": ("[{rolling: {by: [user], over: 10m, values: {n: count(*)}}}]", "e620c037aa1774d4"),
}


def plan(text: str, folder: Path) -> Plan:
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return jn.load(folder / "joinery.yaml").plan


@pytest.mark.parametrize("form", PRODUCTS)
def test_a_checkpoint_of_a_product_goes_on(form: str, tmp_path: Path) -> None:
    text, first = PRODUCTS[form]

    program = lower(plan(RELATIONS + text + "\n", tmp_path).products)

    assert first == fingerprint(program).program[:16]


@pytest.mark.parametrize("steps", STREAMS)
def test_a_checkpoint_of_a_stream_goes_on(steps: str, tmp_path: Path) -> None:
    text, first = STREAMS[steps]
    relations = RELATIONS.partition("products:")[0]
    streams = f"streams:\n  s: {{from: event, steps: {text}, sink: {{files: {{path: out}}}}}}\n"

    lowered = lower_streams(
        plan(relations + streams, tmp_path).streams,
        tombstone_retention_micros=1,
        max_document_bytes=1,
    )

    assert first == fingerprint(lowered.program).program[:16]
