"""A world of which as many rows go as come: users, stars, repositories and pull requests.

The oldest row of a topic leaves, and a row under a key that was never there takes its place;
only the repository `r0` stays, and a tenth of all stars point at it.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.sqlite_file import sqlite_file

PROJECT = """\
name: churn
sources: {{changes: {{files: {{path: data}}}}}}
defaults: {{format: json}}
relations:
  user: {{key: [id], fields: {{id: long, name: string}}}}
  repo: {{key: [name], fields: {{name: string, description: string}}}}
  star: {{key: [number, user, repo], fields: {{number: long, user: string, repo: string}}}}
  pull: {{key: [number], fields: {{number: long, author: string, title: string}}}}
products:
  profile:
    root: user
    fields: [id, name]
    embed:
      stars:
        many: star
        on: {{user: name}}
        fields: [number, {{description: r.description}}]
        embed: {{r: {{one: repo, on: {{name: repo}}, fields: [description], hidden: true}}}}
      pulls: {{many: pull, on: {{author: name}}, fields: [number, title]}}
    sink: {{sqlite: {{path: out/documents.db}}}}
run: {{max_rows_per_batch: {rows}, tombstone_retention: {retention}}}
"""
_SHARES = {"user": 0.1, "repo": 0.02, "star": 0.6, "pull": 0.28}
_KEYS = {
    "user": ("id",),
    "repo": ("name",),
    "star": ("number", "user", "repo"),
    "pull": ("number",),
}
Row = dict[str, Any]


class Churn:
    """The rows that are there, the oldest first.

    Args:
        live: How many rows there are, of all topics, once it is filled.
        seed: Draws.
    """

    def __init__(self, live: int, seed: int = 7) -> None:
        self._drawn = random.Random(seed)
        self._rounds = 0
        self._next = dict.fromkeys(_SHARES, 1)
        self._hot: Row = {"name": "r0", "description": "the hot one"}
        self.rows: dict[str, deque[Row]] = {topic: deque() for topic in _SHARES}
        self._filling = [
            (topic, self._come(topic))
            for topic, share in _SHARES.items()
            for _ in range(round(live * share))
        ]
        self._filling.append(("repo", self._hot))

    def changes(self, count: int) -> Iterator[tuple[str, Row]]:
        """Yield the first rows, if it is the first time, then `count` deletes and inserts."""
        yield from self._filling
        self._filling = []
        self._rounds += 1
        self._hot = {"name": "r0", "description": f"the hot one, round {self._rounds}"}
        yield "repo", self._hot
        topics, weights = list(_SHARES), list(_SHARES.values())
        for topic in self._drawn.choices(topics, weights, k=count // 2):
            gone = self.rows[topic].popleft()
            yield topic, {name: gone[name] for name in _KEYS[topic]} | {"__deleted": True}
            yield topic, self._come(topic)

    def documents(self) -> dict[int, Row]:
        """Join the rows plainly."""
        texts = {each["name"]: each["description"] for each in [*self.rows["repo"], self._hot]}
        found = {each["name"]: {**each, "stars": [], "pulls": []} for each in self.rows["user"]}
        for star in self.rows["star"]:
            if star["user"] in found:
                told = {"number": star["number"], "description": texts.get(star["repo"])}
                found[star["user"]]["stars"].append(told)
        for pull in self.rows["pull"]:
            if pull["author"] in found:
                told = {"number": pull["number"], "title": pull["title"]}
                found[pull["author"]]["pulls"].append(told)
        return {each["id"]: each for each in found.values()}

    def _come(self, topic: str) -> Row:
        number = self._next[topic]
        self._next[topic] += 1
        row = self._row(topic, number)
        self.rows[topic].append(row)
        return row

    def _row(self, topic: str, number: int) -> Row:
        match topic:
            case "user":
                return {"id": number, "name": f"u{number}"}
            case "repo":
                return {"name": f"r{number}", "description": f"repository {number}"}
            case "star":
                repo = "r0" if number % 10 == 0 else self._some("repo")["name"]
                return {"number": number, "user": self._some("user")["name"], "repo": repo}
            case _:
                author = self._some("user")["name"]
                return {"number": number, "author": author, "title": f"pull request {number}"}

    def _some(self, topic: str) -> Row:
        """Draw one of the newer rows: none of a long queue's middle is at hand."""
        rows = self.rows[topic]
        return rows[-1 - self._drawn.randrange(min(len(rows), 500))]


def write_project(folder: Path, *, rows: int, retention: str) -> None:
    """Write the project file."""
    (folder / "joinery.yaml").write_text(PROJECT.format(rows=rows, retention=retention))


def write_changes(folder: Path, number: int, changes: Iterator[tuple[str, Row]]) -> int:
    """Write a file a topic, and return how many changes they hold."""
    count = 0
    for topic in _SHARES:
        (folder / "data" / topic).mkdir(parents=True, exist_ok=True)
    parts = {t: folder / "data" / t / f".{number:04d}.jsonl.part" for t in _SHARES}
    files = {topic: part.open("w", encoding="utf-8") for topic, part in parts.items()}
    for topic, row in changes:
        files[topic].write(f"{json.dumps(row)}\n")
        count += 1
    for topic, file in files.items():
        file.close()
        parts[topic].replace(folder / "data" / topic / f"{number:04d}.jsonl")
    return count


def published(folder: Path) -> dict[int, Row]:
    """Return the documents that the sink holds."""
    with sqlite_file(folder / "out/documents.db") as database:
        rows = database.execute("SELECT id, document FROM profile").fetchall()
    return {key: json.loads(text) for key, text in rows}
