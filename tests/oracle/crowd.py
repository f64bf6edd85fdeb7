"""A project of many wide rows at a few join values, for state that outgrows one value."""

from __future__ import annotations

from random import Random

from tests.oracle.history import Writer
from tests.oracle.shape import Shape

from joinery.model.change import Change
from joinery.plan.product import Plan
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user: {key: [k0], fields: {k0: int, j0: int, c0: string}}
  post: {key: [k0], fields: {k0: long, j0: int, j1: int, c0: string, c1: int}}
products:
  whole:
    root: user
    fields: [c0]
    embed:
      posts: {many: post, on: {j0: k0}, fields: [k0, c0], order: [c1]}
  first:
    root: user
    fields: [j0]
    embed:
      posts: {many: post, on: [j0], fields: [k0, c0, c1], order: [-c1, c0], limit: 3}
    values: {n: count(posts), total: sum(posts.c1), top: max(posts.c0)}
  numbers:
    root: user
    fields: []
    embed:
      posts: {many: post, on: {j1: j0}, fields: [c0, c1], where: c1 > 0, hidden: true}
    values: {n: count(posts) filter (where posts.c1 > 1), mean: avg(posts.c1), kept: size(posts)}
  latest:
    root: user
    fields: [k0]
    embed:
      post: {one: post, on: {j0: k0}, fields: [k0, c0], order: [-c1]}
  authors:
    root: post
    fields: [c1, {author: u.c0}]
    embed:
      u: {one: user, on: {k0: j0}, fields: [c0], hidden: true}
      peers: {many: user, on: {j0: j1}, fields: [c0]}
  nested:
    root: user
    fields: []
    embed:
      posts:
        many: post
        on: {j0: k0}
        fields: [{by: u.c0}, c1]
        as: map
        limit: 40
        where: u.k0 is not null
        embed:
          u: {one: user, on: {k0: j1}, fields: [k0, c0], hidden: true}
"""


def make_crowd_shape(seed: int) -> Shape:
    return Shape(seed, load_text(PROJECT))


def make_crowd_history(seed: int, plan: Plan) -> list[Change]:
    """Return changes of 8 users and 900 posts, so long that a user has pages of them."""
    random = Random(f"crowd {seed}")
    relations = dict.fromkeys(r for p in plan.products for r in p.relations)
    writers = {
        each.name: Writer(
            random, each, plain=False, keys=8 if "user" in each.name else 900, padding=1_000
        )
        for each in relations
    }
    chosen = random.choices(list(writers), [1 if "user" in name else 9 for name in writers], k=2500)
    return [change for name in chosen for change in writers[name].write()]
