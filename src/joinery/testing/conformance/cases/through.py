"""Cases about `many` embeds through another relation: which children are listed, and how often."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.conformance.cases.follows import RELATIONS, follow, post, user
from joinery.testing.driver import Emission, gone, upsert

_TIMELINE = f"""{RELATIONS}
products:
  p:
    root: user
    fields: []
    embed:
      posts:
        many: post
        through: {{follow: {{follower_id: id}}}}
        on: {{author_id: follow.followee_id}}
        fields: [id, text]
        order: [-at]
        limit: 2
"""

_LOGS = """
relations:
  user: {key: [id], fields: {id: long}}
  follow:
    append: true
    key: [id]
    fields: {id: long, follower_id: long, followee_id: long}
  post: {append: true, key: [id], fields: {id: long, author_id: long}}
products:
  p:
    root: user
    fields: []
    embed:
      posts:
        many: post
        through: {follow: {follower_id: id}}
        on: {author_id: follow.followee_id}
        fields: [id]
        order: [-id]
        limit: 2
"""

_ALL = f"""{RELATIONS}
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
        where: text is not null
"""

_FAILS = f"""{RELATIONS}
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
        limit: 1
        overflow: fail
"""


def _shows(user: int, *posts: tuple[int, str], total: int) -> Emission:
    """A timeline: the posts that are kept, by id and text, and how many there are."""
    told = [{"id": number, "text": text} for number, text in posts]
    return upsert(user, {"posts": told, "posts_total": total})


def _lists(user: int, *posts: int) -> Emission:
    """A document of `_ALL`."""
    return upsert(user, {"posts": [{"id": each} for each in posts]})


def _of_logs(user: int, *posts: int, total: int) -> Emission:
    return upsert(user, {"posts": [{"id": each} for each in posts], "posts_total": total})


CASES = (
    case(
        "a new row of the through relation brings old children, in one order over all",
        _TIMELINE,
        when(
            *(user(1), post(10, 7, 1), post(11, 8, 2), post(12, 7, 3)),
            then=[_shows(1, total=0)],
        ),
        when(follow(1, 1, 7), then=[_shows(1, (12, "a"), (10, "a"), total=2)]),
        when(follow(2, 1, 8), then=[_shows(1, (12, "a"), (11, "a"), total=3)]),
    ),
    case(
        "a row of the through relation that goes takes its children away",
        _TIMELINE,
        when(
            *(user(1), post(10, 7, 1), post(11, 8, 2), follow(1, 1, 7), follow(2, 1, 8)),
            then=[_shows(1, (11, "a"), (10, "a"), total=2)],
        ),
        when(delete("follow", id=2), then=[_shows(1, (10, "a"), total=1)]),
        when(delete("follow", id=1), then=[_shows(1, total=0)]),
    ),
    case(
        "a child that goes is replaced by the next, whoever wrote it",
        _TIMELINE,
        when(
            *(user(1), follow(1, 1, 7), follow(2, 1, 8)),
            *(post(10, 7, 4), post(11, 7, 3), post(12, 8, 2), post(13, 8, 1)),
            then=[_shows(1, (10, "a"), (11, "a"), total=4)],
        ),
        when(delete("post", id=11), then=[_shows(1, (10, "a"), (12, "a"), total=3)]),
        when(delete("post", id=13), then=[_shows(1, (10, "a"), (12, "a"), total=2)]),
        when(delete("post", id=10), then=[_shows(1, (12, "a"), total=1)]),
    ),
    case(
        "a child that changes is shown so to all whom it reaches, where its order puts it",
        _TIMELINE,
        when(
            *(user(1), user(2), follow(1, 1, 7), follow(2, 2, 7)),
            *(post(10, 7, 1), post(11, 7, 2), post(12, 7, 3)),
            then=[_shows(user, (12, "a"), (11, "a"), total=3) for user in (1, 2)],
        ),
        when(
            update("post", id=12, text="b"),
            then=[_shows(user, (12, "b"), (11, "a"), total=3) for user in (1, 2)],
        ),
        when(
            update("post", id=10, at=9),
            then=[_shows(user, (10, "a"), (12, "b"), total=3) for user in (1, 2)],
        ),
        when(update("post", id=11, text="c")),
    ),
    case(
        "a child that moves leaves some lists and reaches others",
        _TIMELINE,
        when(
            *(user(1), user(2), user(3), post(10, 7, 1)),
            *(follow(1, 1, 7), follow(2, 2, 8), follow(3, 3, 7), follow(4, 3, 8)),
            then=[_shows(1, (10, "a"), total=1), _shows(2, total=0), _shows(3, (10, "a"), total=1)],
        ),
        when(
            update("post", id=10, author_id=8),
            then=[_shows(1, total=0), _shows(2, (10, "a"), total=1)],
        ),
        when(
            update("post", id=10, author_id=7, text="b"),
            then=[_shows(1, (10, "b"), total=1), _shows(2, total=0), _shows(3, (10, "b"), total=1)],
        ),
    ),
    case(
        "a child is listed and counted once, however many rows lead to it",
        _TIMELINE,
        when(
            *(user(1), post(10, 7, 1), follow(1, 1, 7), follow(2, 1, 7)),
            then=[_shows(1, (10, "a"), total=1)],
        ),
        when(delete("follow", id=1)),
        when(follow(3, 1, 7), delete("follow", id=2)),
        when(delete("follow", id=3), then=[_shows(1, total=0)]),
    ),
    case(
        "a row of the through relation may move on both sides",
        _TIMELINE,
        when(
            *(user(1), user(2), post(10, 7, 1), post(11, 8, 2), follow(1, 1, 7)),
            then=[_shows(1, (10, "a"), total=1), _shows(2, total=0)],
        ),
        when(update("follow", id=1, followee_id=8), then=[_shows(1, (11, "a"), total=1)]),
        when(
            update("follow", id=1, follower_id=2),
            then=[_shows(1, total=0), _shows(2, (11, "a"), total=1)],
        ),
        when(
            update("follow", id=1, follower_id=1, followee_id=7),
            then=[_shows(1, (10, "a"), total=1), _shows(2, total=0)],
        ),
    ),
    case(
        "nulls lead nowhere",
        _TIMELINE,
        when(
            *(user(1), post(10, None, 1), post(11, 7, 2)),
            *(follow(1, 1, None), follow(2, None, 7)),
            then=[_shows(1, total=0)],
        ),
        when(update("follow", id=2, follower_id=1), then=[_shows(1, (11, "a"), total=1)]),
        when(update("post", id=10, author_id=7), then=[_shows(1, (11, "a"), (10, "a"), total=2)]),
        when(update("follow", id=2, followee_id=None), then=[_shows(1, total=0)]),
    ),
    case(
        "a parent that comes last finds what is there, also when it comes again",
        _TIMELINE,
        when(post(10, 7, 1), follow(1, 1, 7), follow(2, 1, 8)),
        when(user(1), then=[_shows(1, (10, "a"), total=1)]),
        when(delete("user", id=1), then=[gone(1)]),
        when(post(11, 8, 2)),
        when(user(1), then=[_shows(1, (11, "a"), (10, "a"), total=2)]),
    ),
    case(
        "what changes on both sides in one batch is sent once",
        _TIMELINE,
        when(user(1), follow(1, 1, 7), post(10, 7, 1), then=[_shows(1, (10, "a"), total=1)]),
        when(
            *(delete("follow", id=1), follow(2, 1, 7), update("post", id=10, text="b")),
            *(follow(3, 1, 8), post(11, 8, 5), delete("follow", id=3)),
            then=[_shows(1, (10, "b"), total=1)],
        ),
        when(
            *(delete("follow", id=2), update("post", id=10, author_id=8), follow(4, 1, 8)),
            then=[_shows(1, (11, "a"), (10, "b"), total=2)],
        ),
    ),
    case(
        "without a limit all are listed, by their key, but those that `where` leaves out",
        _ALL,
        when(
            *(user(1), follow(1, 1, 7), follow(2, 1, 8)),
            *(post(12, 7, 1), post(10, 8, 2), post(11, 7, 3, None)),
            then=[_lists(1, 10, 12)],
        ),
        when(update("post", id=11, text="b"), then=[_lists(1, 10, 11, 12)]),
        when(update("post", id=10, text=None), then=[_lists(1, 11, 12)]),
        when(update("post", id=12, at=7)),
    ),
    case(
        "above its limit a list fails its document, counted over the whole list",
        _FAILS,
        when(
            *(user(1), follow(1, 1, 7), follow(2, 1, 8), post(10, 7, 1)),
            then=[_lists(1, 10)],
        ),
        when(post(11, 8, 2), dead=[1]),
        when(delete("post", id=10), then=[_lists(1, 11)]),
    ),
    case(
        "rows of a log that lead to children count once, come again or not, and are never deleted",
        _LOGS,
        when(
            insert("user", id=1),
            insert("post", id=7, author_id=5),
            insert("follow", id=1, follower_id=1, followee_id=5),
            then=[_of_logs(1, 7, total=1)],
        ),
        when(insert("follow", id=1, follower_id=1, followee_id=5), delete("follow", id=1)),
        when(
            insert("follow", id=1, follower_id=1, followee_id=5),
            insert("follow", id=2, follower_id=1, followee_id=6),
            insert("post", id=8, author_id=6),
            then=[_of_logs(1, 8, 7, total=2)],
        ),
        when(
            delete("post", id=8),
            insert("post", id=9, author_id=5),
            then=[_of_logs(1, 9, 8, total=3)],
        ),
        when(insert("user", id=2), then=[_of_logs(2, total=0)]),
        when(
            insert("follow", id=3, follower_id=2, followee_id=6),
            then=[_of_logs(2, 8, total=1)],
        ),
        when(delete("user", id=1), then=[gone(1)]),
    ),
)
