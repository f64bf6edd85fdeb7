"""A product that triggers keep up to date."""

from __future__ import annotations

from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
  star: {key: [user_id, repo_id], fields: {user_id: long, repo_id: long, at: timestamp}}
  repo: {key: [id], fields: {id: long, name: string}}
products:
  profile:
    root: user
    fields: [id, name]
    embed:
      stars:
        many: star
        on: {user_id: id}
        fields: {repo: r.name}
        embed: {r: {one: repo, on: {id: repo_id}, hidden: true}}
    sink: {files: {path: out}}
"""


def product() -> Product:
    return build_plan(load_text(PROJECT)).products[0]
