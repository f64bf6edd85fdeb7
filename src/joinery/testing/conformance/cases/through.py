"""Cases about `many` embeds through another relation: which children are listed, and how often."""

from __future__ import annotations

from typing import Any

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import Emission, gone, upsert

_RELATIONS = """
relations:
  user: {key: [id], fields: {id: long, handle: string}}
  follow: {key: [id], fields: {id: long, follower_id: long, followee_id: long}}
  post: {key: [id], fields: {id: long, author_id: long, at: long, text: string}}
"""

_TIMELINE = f"""{_RELATIONS}
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

_ALL = f"""{_RELATIONS}
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

_HOT = f"""{_RELATIONS}
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

_AUTHORS = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
  follow: {key: [follower_id, followee_id], fields: {follower_id: long, followee_id: long}}
  post: {key: [id], fields: {id: long, author_id: long}}
products:
  p:
    root: user
    fields: []
    embed:
      feed:
        many: post
        through: {follow: {follower_id: id}}
        on: {author_id: follow.followee_id}
        fields: [id, {by: author.name}]
        order: [author.name]
        limit: 2
        embed:
          author: {one: user, on: {id: author_id}, fields: [name], hidden: true}
      followed:
        many: user
        through: {follow: {follower_id: id}}
        on: {id: follow.followee_id}
        fields: [name]
        as: map
      followers:
        many: user
        through: {follow: {followee_id: id}}
        on: {id: follow.follower_id}
        fields: []
        hidden: true
        limit: 1
    values: {reach: followers_total, shown: size(feed)}
"""

_TENANTS = """
relations:
  org: {key: [id], fields: {id: long}}
  user: {key: [id], fields: {id: long, org: long, tenant: string}}
  follow: {key: [id], fields: {id: long, tenant: string, who: long, whom: long}}
  post: {key: [tenant, id], fields: {tenant: string, id: long, by: long}}
products:
  p:
    root: org
    fields: []
    embed:
      users:
        many: user
        on: {org: id}
        fields: [id]
        embed:
          posts:
            many: post
            through: {follow: {who: id, tenant: tenant}}
            on: {by: follow.whom, tenant: follow.tenant}
            fields: [id]
            hot: {above: 1}
"""

_FAILS = f"""{_RELATIONS}
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

_AGGREGATES = f"""{_RELATIONS}
products:
  p:
    root: user
    fields: []
    embed:
      posts:
        many: post
        through: {{follow: {{follower_id: id}}}}
        on: {{author_id: follow.followee_id}}
        fields: [at]
        order: [-at]
        limit: 1
    values: {{n: count(posts), oldest: min(posts.at)}}
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


def _heats(user: int, *posts: int, total: int, hot: list[Any]) -> Emission:
    """A document with the posts that are kept, how many there are, and who is left out."""
    told: dict[str, Any] = {"posts": [{"id": each} for each in posts]}
    return upsert(user, {**told, "posts_total": total, "posts_hot": hot})


def _post(number: int, author: int | None, at: int, text: str | None = "a") -> Any:
    return insert("post", id=number, author_id=author, at=at, text=text)


def _follow(number: int, follower: int | None, followee: int | None) -> Any:
    return insert("follow", id=number, follower_id=follower, followee_id=followee)


def _user(number: int) -> Any:
    return insert("user", id=number, handle=f"u{number}")


CASES = (
    case(
        "a new row of the through relation brings old children, in one order over all",
        _TIMELINE,
        when(
            *(_user(1), _post(10, 7, 1), _post(11, 8, 2), _post(12, 7, 3)),
            then=[_shows(1, total=0)],
        ),
        when(_follow(1, 1, 7), then=[_shows(1, (12, "a"), (10, "a"), total=2)]),
        when(_follow(2, 1, 8), then=[_shows(1, (12, "a"), (11, "a"), total=3)]),
    ),
    case(
        "a row of the through relation that goes takes its children away",
        _TIMELINE,
        when(
            *(_user(1), _post(10, 7, 1), _post(11, 8, 2), _follow(1, 1, 7), _follow(2, 1, 8)),
            then=[_shows(1, (11, "a"), (10, "a"), total=2)],
        ),
        when(delete("follow", id=2), then=[_shows(1, (10, "a"), total=1)]),
        when(delete("follow", id=1), then=[_shows(1, total=0)]),
    ),
    case(
        "a child that goes is replaced by the next, whoever wrote it",
        _TIMELINE,
        when(
            *(_user(1), _follow(1, 1, 7), _follow(2, 1, 8)),
            *(_post(10, 7, 4), _post(11, 7, 3), _post(12, 8, 2), _post(13, 8, 1)),
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
            *(_user(1), _user(2), _follow(1, 1, 7), _follow(2, 2, 7)),
            *(_post(10, 7, 1), _post(11, 7, 2), _post(12, 7, 3)),
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
            *(_user(1), _user(2), _user(3), _post(10, 7, 1)),
            *(_follow(1, 1, 7), _follow(2, 2, 8), _follow(3, 3, 7), _follow(4, 3, 8)),
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
            *(_user(1), _post(10, 7, 1), _follow(1, 1, 7), _follow(2, 1, 7)),
            then=[_shows(1, (10, "a"), total=1)],
        ),
        when(delete("follow", id=1)),
        when(_follow(3, 1, 7), delete("follow", id=2)),
        when(delete("follow", id=3), then=[_shows(1, total=0)]),
    ),
    case(
        "a row of the through relation may move on both sides",
        _TIMELINE,
        when(
            *(_user(1), _user(2), _post(10, 7, 1), _post(11, 8, 2), _follow(1, 1, 7)),
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
            *(_user(1), _post(10, None, 1), _post(11, 7, 2)),
            *(_follow(1, 1, None), _follow(2, None, 7)),
            then=[_shows(1, total=0)],
        ),
        when(update("follow", id=2, follower_id=1), then=[_shows(1, (11, "a"), total=1)]),
        when(update("post", id=10, author_id=7), then=[_shows(1, (11, "a"), (10, "a"), total=2)]),
        when(update("follow", id=2, followee_id=None), then=[_shows(1, total=0)]),
    ),
    case(
        "a parent that comes last finds what is there, also when it comes again",
        _TIMELINE,
        when(_post(10, 7, 1), _follow(1, 1, 7), _follow(2, 1, 8)),
        when(_user(1), then=[_shows(1, (10, "a"), total=1)]),
        when(delete("user", id=1), then=[gone(1)]),
        when(_post(11, 8, 2)),
        when(_user(1), then=[_shows(1, (11, "a"), (10, "a"), total=2)]),
    ),
    case(
        "what changes on both sides in one batch is sent once",
        _TIMELINE,
        when(_user(1), _follow(1, 1, 7), _post(10, 7, 1), then=[_shows(1, (10, "a"), total=1)]),
        when(
            *(delete("follow", id=1), _follow(2, 1, 7), update("post", id=10, text="b")),
            *(_follow(3, 1, 8), _post(11, 8, 5), delete("follow", id=3)),
            then=[_shows(1, (10, "b"), total=1)],
        ),
        when(
            *(delete("follow", id=2), update("post", id=10, author_id=8), _follow(4, 1, 8)),
            then=[_shows(1, (11, "a"), (10, "b"), total=2)],
        ),
    ),
    case(
        "without a limit all are listed, by their key, but those that `where` leaves out",
        _ALL,
        when(
            *(_user(1), _follow(1, 1, 7), _follow(2, 1, 8)),
            *(_post(12, 7, 1), _post(10, 8, 2), _post(11, 7, 3, None)),
            then=[_lists(1, 10, 12)],
        ),
        when(update("post", id=11, text="b"), then=[_lists(1, 10, 11, 12)]),
        when(update("post", id=10, text=None), then=[_lists(1, 11, 12)]),
        when(update("post", id=12, at=7)),
    ),
    case(
        "whom too many rows name is left out, exactly, and told",
        _HOT,
        when(
            *(_user(1), _user(2), _post(10, 7, 1), _post(11, 8, 2)),
            *(_follow(1, 1, 7), _follow(2, 1, 8), _follow(3, 2, 7)),
            then=[
                _heats(1, 11, 10, total=2, hot=[]),
                _heats(2, 10, total=1, hot=[]),
            ],
        ),
        when(
            _follow(4, 9, 7),
            then=[_heats(1, 11, total=1, hot=[7]), _heats(2, total=0, hot=[7])],
        ),
        when(_post(12, 7, 5)),
        when(
            delete("follow", id=4),
            then=[_heats(1, 12, 11, total=3, hot=[]), _heats(2, 12, 10, total=2, hot=[])],
        ),
    ),
    case(
        "rows are counted, not parents: one that repeats another, and one that leads nowhere",
        _HOT,
        when(
            *(_user(1), _post(10, 7, 1), _follow(1, 1, 7), _follow(2, 1, 7)),
            then=[_heats(1, 10, total=1, hot=[])],
        ),
        when(_follow(3, None, 7), then=[_heats(1, total=0, hot=[7])]),
        when(delete("follow", id=2), then=[_heats(1, 10, total=1, hot=[])]),
    ),
    case(
        "who is left out is told in order, also where he has no children",
        _HOT,
        when(
            *(_user(1), _post(10, 6, 1), _follow(10, 1, 6)),
            *(_follow(1, 1, 20), _follow(2, 2, 20), _follow(3, 3, 20)),
            *(_follow(4, 1, 3), _follow(5, 2, 3), _follow(6, 3, 3)),
            then=[_heats(1, 10, total=1, hot=[3, 20])],
        ),
        when(
            *(_user(2), _follow(7, 2, 5)),
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
            *(_user(1), _user(2), _user(3), _post(10, 7, 1), _follow(1, 1, 7), _follow(2, 2, 7)),
            then=[
                _heats(1, 10, total=1, hot=[]),
                _heats(2, 10, total=1, hot=[]),
                _heats(3, total=0, hot=[]),
            ],
        ),
        when(
            *(delete("follow", id=1), _follow(3, 3, 7), _follow(4, 4, 7), _post(11, 7, 2)),
            then=[
                _heats(1, total=0, hot=[]),
                _heats(2, total=0, hot=[7]),
                _heats(3, total=0, hot=[7]),
            ],
        ),
        when(
            *(delete("follow", id=2), _follow(5, 1, 7), delete("follow", id=4)),
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
    case(
        "children have embeds of their own, which change their order, too",
        _AUTHORS,
        when(
            *(insert("user", id=1, name="a"), insert("user", id=2, name="c")),
            *(insert("user", id=3, name="b"), insert("post", id=10, author_id=2)),
            *(insert("post", id=11, author_id=3), insert("post", id=12, author_id=2)),
            insert("follow", follower_id=1, followee_id=2),
            insert("follow", follower_id=1, followee_id=3),
            insert("follow", follower_id=2, followee_id=3),
            then=[
                upsert(
                    1,
                    {
                        "feed": [{"id": 11, "by": "b"}, {"id": 10, "by": "c"}],
                        "feed_total": 3,
                        "followed": {"2": {"name": "c"}, "3": {"name": "b"}},
                        "reach": 0,
                        "shown": 2,
                    },
                ),
                upsert(
                    2,
                    {
                        "feed": [{"id": 11, "by": "b"}],
                        "feed_total": 1,
                        "followed": {"3": {"name": "b"}},
                        "reach": 1,
                        "shown": 1,
                    },
                ),
                upsert(3, {"feed": [], "feed_total": 0, "followed": {}, "reach": 2, "shown": 0}),
            ],
        ),
        when(
            update("user", id=3, name="d"),
            then=[
                upsert(
                    1,
                    {
                        "feed": [{"id": 10, "by": "c"}, {"id": 12, "by": "c"}],
                        "feed_total": 3,
                        "followed": {"2": {"name": "c"}, "3": {"name": "d"}},
                        "reach": 0,
                        "shown": 2,
                    },
                ),
                upsert(
                    2,
                    {
                        "feed": [{"id": 11, "by": "d"}],
                        "feed_total": 1,
                        "followed": {"3": {"name": "d"}},
                        "reach": 1,
                        "shown": 1,
                    },
                ),
            ],
        ),
    ),
    case(
        "it stands at any depth, and compares several columns",
        _TENANTS,
        when(
            *(insert("org", id=1), insert("user", id=1, org=1, tenant="x")),
            *(insert("user", id=2, org=1, tenant="y"), insert("post", tenant="x", id=10, by=7)),
            *(insert("post", tenant="y", id=10, by=7), insert("post", tenant="x", id=11, by=7)),
            insert("follow", id=1, tenant="x", who=1, whom=7),
            insert("follow", id=2, tenant="x", who=2, whom=7),
            then=[
                upsert(
                    1,
                    {
                        "users": [
                            {
                                "id": 1,
                                "posts": [],
                                "posts_hot": [{"by": 7, "tenant": "x"}],
                            },
                            {"id": 2, "posts": [], "posts_hot": []},
                        ]
                    },
                )
            ],
        ),
        when(
            update("follow", id=2, tenant="y"),
            then=[
                upsert(
                    1,
                    {
                        "users": [
                            {"id": 1, "posts": [{"id": 10}, {"id": 11}], "posts_hot": []},
                            {"id": 2, "posts": [{"id": 10}], "posts_hot": []},
                        ]
                    },
                )
            ],
        ),
    ),
    case(
        "above its limit a list fails its document, counted over the whole list",
        _FAILS,
        when(
            *(_user(1), _follow(1, 1, 7), _follow(2, 1, 8), _post(10, 7, 1)),
            then=[_lists(1, 10)],
        ),
        when(_post(11, 8, 2), dead=[1]),
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

AGGREGATE_CASES = (
    case(
        "aggregates read the whole list, before its limit",
        _AGGREGATES,
        when(
            *(_user(1), _follow(1, 1, 7), _follow(2, 1, 8), _post(10, 7, 4), _post(11, 8, 2)),
            then=[upsert(1, {"posts": [{"at": 4}], "posts_total": 2, "n": 2, "oldest": 2})],
        ),
        when(
            delete("follow", id=2),
            then=[upsert(1, {"posts": [{"at": 4}], "posts_total": 1, "n": 1, "oldest": 4})],
        ),
    ),
)
