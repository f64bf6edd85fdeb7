"""A product of each form, with the hash of its program in checkpoints that stand."""

from __future__ import annotations

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
        "79ef3c09fb7bc2b8",
    ),
    "within": (
        "{root: post, embed: {near: {many: event, on: {user: user}, within: [0s, 30m]}}}",
        "6b450a944716c0ce",
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
    "search": ("{search: user, queries: query, query: text, on: [city]}", "b965d006792a378d"),
    "words": ("{search: user, queries: query, query: text, language: lucene}", "3fb6092c2101b436"),
    "fold": ("{fold: event, by: [user], sequence: no, " + STATE + "}", "3a0e04b075a5e75a"),
    "fold at once": (
        "{fold: event, by: [user], sequence: no, wait: 0s, " + STATE + "}",
        "7527c83804db8c23",
    ),
}
