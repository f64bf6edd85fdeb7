"""Cases about embeds through another relation that leave out whom too many rows name."""

from __future__ import annotations

from typing import Any

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.conformance.cases.follows import RELATIONS, follow, post, user
from joinery.testing.driver import Emission, upsert

_HOT = f"""{RELATIONS}
products:
  p:
    root: user
    fields: []
    embed:
      posts:
        many: post
        through: {{follow: {{follower_id: id}}}}
        on: {{author_id: follow.followee_id}}
        fields: [id]
        order: [-at]
        limit: 2
        hot: {{above: 2}}
"""

_HANDLES = """
relations:
  reader: {key: [id], fields: {id: long, handle: string}}
  follow: {key: [handle, author_id], fields: {handle: string, author_id: int}, where: author_id > 0}
  post: {key: [id], fields: {id: long, author_id: "decimal(4,1)"}}
products:
  p:
    root: reader
    fields: []
    embed:
      posts:
        many: post
        through: {follow: [handle]}
        on: {author_id: follow.author_id}
        fields: [id]
        limit: 3
        hot: {above: 1}
"""


def _heats(user: int, *posts: int, total: int, hot: list[Any]) -> Emission:
    """A document with the posts that are kept, how many there are, and who is left out."""
    told: dict[str, Any] = {"posts": [{"id": each} for each in posts]}
    return upsert(user, {**told, "posts_total": total, "posts_hot": hot})


CASES = (
    case(
        "whom too many rows name is left out, exactly, and told",
        _HOT,
        when(
            *(user(1), user(2), post(10, 7, 1), post(11, 8, 2)),
            *(follow(1, 1, 7), follow(2, 1, 8), follow(3, 2, 7)),
            then=[
                _heats(1, 11, 10, total=2, hot=[]),
                _heats(2, 10, total=1, hot=[]),
            ],
        ),
        when(
            follow(4, 9, 7),
            then=[_heats(1, 11, total=1, hot=[7]), _heats(2, total=0, hot=[7])],
        ),
        when(post(12, 7, 5)),
        when(
            delete("follow", id=4),
            then=[_heats(1, 12, 11, total=3, hot=[]), _heats(2, 12, 10, total=2, hot=[])],
        ),
    ),
    case(
        "rows are counted, not parents: one that repeats another, and one that leads nowhere",
        _HOT,
        when(
            *(user(1), post(10, 7, 1), follow(1, 1, 7), follow(2, 1, 7)),
            then=[_heats(1, 10, total=1, hot=[])],
        ),
        when(follow(3, None, 7), then=[_heats(1, total=0, hot=[7])]),
        when(delete("follow", id=2), then=[_heats(1, 10, total=1, hot=[])]),
    ),
    case(
        "who is left out is told in order, also where he has no children",
        _HOT,
        when(
            *(user(1), post(10, 6, 1), follow(10, 1, 6)),
            *(follow(1, 1, 20), follow(2, 2, 20), follow(3, 3, 20)),
            *(follow(4, 1, 3), follow(5, 2, 3), follow(6, 3, 3)),
            then=[_heats(1, 10, total=1, hot=[3, 20])],
        ),
        when(
            *(user(2), follow(7, 2, 5)),
            then=[_heats(2, total=0, hot=[3, 20])],
        ),
        when(
            *(delete("follow", id=1), delete("follow", id=6)),
            then=[_heats(1, 10, total=1, hot=[]), _heats(2, total=0, hot=[])],
        ),
    ),
    case(
        "who becomes hot while rows come and go is told right to each",
        _HOT,
        when(
            *(user(1), user(2), user(3), post(10, 7, 1), follow(1, 1, 7), follow(2, 2, 7)),
            then=[
                _heats(1, 10, total=1, hot=[]),
                _heats(2, 10, total=1, hot=[]),
                _heats(3, total=0, hot=[]),
            ],
        ),
        when(
            *(delete("follow", id=1), follow(3, 3, 7), follow(4, 4, 7), post(11, 7, 2)),
            then=[
                _heats(1, total=0, hot=[]),
                _heats(2, total=0, hot=[7]),
                _heats(3, total=0, hot=[7]),
            ],
        ),
        when(
            *(delete("follow", id=2), follow(5, 1, 7), delete("follow", id=4)),
            *(update("post", id=10, at=9),),
            then=[
                _heats(1, 10, 11, total=2, hot=[]),
                _heats(2, total=0, hot=[]),
                _heats(3, 10, 11, total=2, hot=[]),
            ],
        ),
    ),
    case(
        "parents that share the value need not have it as their key, and types may widen",
        _HANDLES,
        when(
            *(insert("reader", id=1, handle="a"), insert("reader", id=2, handle="a")),
            *(insert("reader", id=3, handle=None), insert("follow", handle="a", author_id=7)),
            *(insert("post", id=10, author_id="7.0"), insert("post", id=11, author_id="7.5")),
            then=[
                _heats(1, 10, total=1, hot=[]),
                _heats(2, 10, total=1, hot=[]),
                _heats(3, total=0, hot=[]),
            ],
        ),
        when(
            *(insert("follow", handle="b", author_id=7), update("reader", id=2, handle="b")),
            *(update("reader", id=3, handle="c"), insert("follow", handle="c", author_id=-1)),
            then=[_heats(1, total=0, hot=[7.0]), _heats(2, total=0, hot=[7.0])],
        ),
    ),
)
