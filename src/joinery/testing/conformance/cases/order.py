"""Cases about the order of lists, and about what a limit keeps."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert


def _project(embed: str) -> str:
    return f"""
relations:
  user: {{key: [id], fields: {{id: long, name: string}}}}
  post:
    key: [id]
    fields: {{id: string, user_id: long, score: int, title: string, hot: boolean}}
products:
  p:
    root: user
    fields: [name]
    embed:
      posts: {{many: post, on: {{user_id: id}}, fields: [id], {embed}}}
"""


_BY_KEY = _project("hidden: false")
_BY_SCORE = _project("order: [score]")
_BY_SCORE_DOWN = _project("order: [-score, title]")
_BY_EXPRESSION = _project("order: [length(title)]")
_LIMIT = _project("order: [-score], limit: 2")
_LIMIT_WHERE = _project("order: [score], limit: 1, where: hot")
_FAIL = _project("limit: 2, overflow: fail")
_FAIL_HIDDEN = _project("limit: 1, overflow: fail, hidden: true")
_LIMITED_MAP = _project("order: [-score], limit: 2, as: map")


def _posts(*ids: str) -> dict[str, object]:
    return {"name": None, "posts": [{"id": each} for each in ids]}


def _limited(total: int, *ids: str) -> dict[str, object]:
    return {**_posts(*ids), "posts_total": total}


_TIES = [
    insert("post", id="c", user_id=1, score=1),
    insert("post", id="a", user_id=1, score=2),
    insert("post", id="b", user_id=1, score=1),
    insert("post", id="d", user_id=1),
]

CASES = (
    case(
        "without an order a list stands in the order of its keys, text by UTF-8 bytes",
        _BY_KEY,
        when(
            insert("user", id=1),
            insert("post", id="b", user_id=1),
            insert("post", id="\U0001f600", user_id=1),
            insert("post", id="B", user_id=1),
            insert("post", id="\ufb01", user_id=1),
            insert("post", id="", user_id=1),
            insert("post", id="ba", user_id=1),
            then=[upsert(1, _posts("", "B", "b", "ba", "\ufb01", "\U0001f600"))],
        ),
    ),
    case(
        "ascending, nulls come first and the key breaks ties",
        _BY_SCORE,
        when(insert("user", id=1), *_TIES, then=[upsert(1, _posts("d", "b", "c", "a"))]),
    ),
    case(
        "descending, nulls come last and the key still breaks ties upwards",
        _BY_SCORE_DOWN,
        when(insert("user", id=1), *_TIES, then=[upsert(1, _posts("a", "b", "c", "d"))]),
        when(
            update("post", id="b", title="z"),
            then=[upsert(1, _posts("a", "c", "b", "d"))],
        ),
    ),
    case(
        "a list is ordered by an expression over columns that it does not show",
        _BY_EXPRESSION,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1, title="zzz"),
            insert("post", id="b", user_id=1, title="zz"),
            insert("post", id="c", user_id=1, title="aaaa"),
            then=[upsert(1, _posts("b", "a", "c"))],
        ),
    ),
    case(
        "a change of the order alone sends the document",
        _BY_SCORE,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1, score=1),
            insert("post", id="b", user_id=1, score=2),
            then=[upsert(1, _posts("a", "b"))],
        ),
        when(update("post", id="a", score=3), then=[upsert(1, _posts("b", "a"))]),
        when(update("post", id="a", score=4)),
    ),
    case(
        "when a kept child leaves, the next takes its place",
        _LIMIT,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1, score=3),
            insert("post", id="b", user_id=1, score=2),
            insert("post", id="c", user_id=1, score=1),
            then=[upsert(1, _limited(3, "a", "b"))],
        ),
        when(delete("post", id="a"), then=[upsert(1, _limited(2, "b", "c"))]),
        when(update("post", id="b", user_id=None), then=[upsert(1, _limited(1, "c"))]),
    ),
    case(
        "a child beyond the limit changes only the total",
        _LIMIT,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1, score=3),
            insert("post", id="b", user_id=1, score=2),
            then=[upsert(1, _limited(2, "a", "b"))],
        ),
        when(insert("post", id="c", user_id=1, score=1), then=[upsert(1, _limited(3, "a", "b"))]),
        when(update("post", id="c", score=0)),
        when(update("post", id="c", score=9), then=[upsert(1, _limited(3, "c", "a"))]),
    ),
    case(
        "a limited list without rows is empty and its total is 0",
        _LIMIT,
        when(insert("user", id=1), then=[upsert(1, _limited(0))]),
    ),
    case(
        "a limit and its total count after the where",
        _LIMIT_WHERE,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1, score=1, hot=False),
            insert("post", id="b", user_id=1, score=2, hot=True),
            insert("post", id="c", user_id=1, score=3, hot=True),
            then=[upsert(1, _limited(2, "b"))],
        ),
        when(update("post", id="a", hot=True), then=[upsert(1, _limited(3, "a"))]),
        when(
            update("post", id="a", hot=False),
            update("post", id="b", hot=False),
            then=[upsert(1, _limited(1, "c"))],
        ),
    ),
    case(
        "a limited map keeps the first of the order",
        _LIMITED_MAP,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1, score=1),
            insert("post", id="b", user_id=1, score=2),
            insert("post", id="c", user_id=1, score=3),
            then=[
                upsert(
                    1,
                    {
                        "name": None,
                        "posts": {"c": {"id": "c"}, "b": {"id": "b"}},
                        "posts_total": 3,
                    },
                )
            ],
        ),
    ),
    case(
        "a document above a limit that fails is a dead letter once, and is sent when back",
        _FAIL,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1),
            insert("post", id="b", user_id=1),
            then=[upsert(1, _posts("a", "b"))],
        ),
        when(insert("post", id="c", user_id=1), dead=[1]),
        when(insert("post", id="d", user_id=1)),
        when(delete("post", id="d")),
        when(delete("post", id="a"), then=[upsert(1, _posts("b", "c"))]),
    ),
    case(
        "a document that is above its limit from the start is not sent before it is back",
        _FAIL,
        when(
            insert("post", id="a", user_id=1),
            insert("post", id="b", user_id=1),
            insert("post", id="c", user_id=1),
        ),
        when(insert("user", id=1), dead=[1]),
        when(delete("user", id=1)),
        when(insert("user", id=1), dead=[1]),
        when(delete("post", id="c"), then=[upsert(1, _posts("a", "b"))]),
    ),
    case(
        "a root that goes while above its limit is one tombstone",
        _FAIL,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1),
            insert("post", id="b", user_id=1),
            then=[upsert(1, _posts("a", "b"))],
        ),
        when(insert("post", id="c", user_id=1), dead=[1]),
        when(delete("user", id=1), then=[gone(1)]),
    ),
    case(
        "a document above its limit within a batch alone is no dead letter",
        _FAIL,
        when(
            insert("user", id=1),
            insert("post", id="a", user_id=1),
            insert("post", id="b", user_id=1),
            insert("post", id="c", user_id=1),
            delete("post", id="b"),
            then=[upsert(1, _posts("a", "c"))],
        ),
    ),
    case(
        "a hidden embed above a limit that fails keeps its document back",
        _FAIL_HIDDEN,
        when(
            insert("user", id=1, name="x"),
            insert("post", id="a", user_id=1),
            then=[upsert(1, {"name": "x"})],
        ),
        when(insert("post", id="b", user_id=1), dead=[1]),
        when(update("user", id=1, name="y")),
        when(delete("post", id="a"), then=[upsert(1, {"name": "y"})]),
    ),
)
