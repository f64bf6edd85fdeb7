"""Cases about events without a key, which are identified by their places in the log."""

from __future__ import annotations

from joinery.testing.changes import RowChange, insert
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert

_VIEWS = """
relations:
  web: {append: true, fields: {page: long}}
  shop: {append: true, fields: {page: long}}
  pages: {key: [id], fields: {id: long, title: string}}
streams:
"""
_UNITED = f"{_VIEWS}  from_shop: {{from: shop}}\n  s: {{from: web, steps: [{{union: from_shop}}"
_LOOKUP = "{lookup: pages, on: {id: page}, fields: [title]"


def _place(topic: str, line: int, number: int = 0) -> str:
    return f"{topic}/{number:06d}.jsonl/{line}"


def _web(page: int) -> RowChange:
    return insert("web", page=page)


def _shop(page: int) -> RowChange:
    return insert("shop", page=page)


def _page(title: str) -> RowChange:
    return insert("pages", id=1, title=title)


def _seen(place: str, title: str | None) -> Emission:
    return upsert(place, {"page": 1, "title": title})


CASES = (
    stream_case(
        "an event without a key is known by its topic, file and line",
        f"{_VIEWS}  s: {{from: web}}\n",
        batch(
            _web(5),
            _web(5),
            sends=[upsert(_place("web", 1), {"page": 5}), upsert(_place("web", 2), {"page": 5})],
        ),
        batch(_web(5), sends=[upsert(_place("web", 1, 1), {"page": 5})]),
    ),
    stream_case(
        "united events without a key are known apart by their topics",
        f"{_UNITED}]}}\n",
        batch(
            _web(1),
            _shop(2),
            _shop(3),
            sends=[
                upsert(_place("web", 1), {"page": 1}),
                upsert(_place("shop", 1), {"page": 2}),
                upsert(_place("shop", 2), {"page": 3}),
            ],
        ),
    ),
    stream_case(
        "wait: united events without a key all wait for one row",
        f"{_UNITED}, {_LOOKUP}, on_miss: 'wait:5m'}}]}}\n",
        batch(_web(1), _shop(1)),
        batch(
            _page("tea"),
            sends=[_seen(_place("web", 1), "tea"), _seen(_place("shop", 1), "tea")],
        ),
    ),
    stream_case(
        "re_emit: united events without a key are all sent again",
        f"{_UNITED}, {_LOOKUP}, on_change: re_emit, for: 7d}}]}}\n",
        batch(
            _web(1),
            _shop(1),
            sends=[_seen(_place("web", 1), None), _seen(_place("shop", 1), None)],
        ),
        batch(
            _page("tea"),
            sends=[_seen(_place("web", 1), "tea"), _seen(_place("shop", 1), "tea")],
        ),
    ),
)
