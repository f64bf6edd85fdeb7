"""Cases about embeds through another relation at any depth, and what is computed of them."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.conformance.cases.follows import RELATIONS, follow, post, user
from joinery.testing.driver import upsert

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

_AGGREGATES = f"""{RELATIONS}
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


CASES = (
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
)

AGGREGATE_CASES = (
    case(
        "aggregates read the whole list, before its limit",
        _AGGREGATES,
        when(
            *(user(1), follow(1, 1, 7), follow(2, 1, 8), post(10, 7, 4), post(11, 8, 2)),
            then=[upsert(1, {"posts": [{"at": 4}], "posts_total": 2, "n": 2, "oldest": 2})],
        ),
        when(
            delete("follow", id=2),
            then=[upsert(1, {"posts": [{"at": 4}], "posts_total": 1, "n": 1, "oldest": 4})],
        ),
    ),
)
