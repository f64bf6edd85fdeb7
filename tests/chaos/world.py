"""A small world of users, stars, repositories and pull requests, and what must come of it.

Every row carries `rev`, which rises with each change of its key; so a document that went back
in time shows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.sqlite_file import sqlite_file

PROJECT = """\
name: chaos
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  user: {key: [id], fields: {id: long, name: string, rev: long}}
  repo: {key: [name], fields: {name: string, description: string, rev: long}}
  star: {key: [user, repo], fields: {user: string, repo: string, rev: long}}
  pull: {key: [number], fields: {number: long, author: string, rev: long}}
products:
  profile:
    root: user
    fields: [id, name, rev]
    embed:
      stars:
        many: star
        on: {user: name}
        fields: [repo, {description: r.description}]
        embed: {r: {one: repo, on: {name: repo}, fields: [description], hidden: true}}
      pulls: {many: pull, on: {author: name}, fields: [number, rev]}
    values: {pull_revs: sum(pulls.rev)}
    sink:
      - files: {path: out}
      - sqlite: {path: out/documents.db}
run: {max_rows_per_batch: 120}
"""
TOPICS = ("user", "repo", "star", "pull")
USERS, REPOS, CHANGES = 30, 12, 480
Documents = dict[int, dict[str, Any]]


@dataclass
class World:
    """The rows as they stand, and every change that led there."""

    rows: dict[str, dict[Any, dict[str, Any]]] = field(
        default_factory=lambda: {topic: {} for topic in TOPICS}
    )
    changes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def put(self, topic: str, key: Any, row: dict[str, Any]) -> None:
        """Insert or update a row."""
        rev = self.rows[topic].get(key, {"rev": 0})["rev"] + 1
        self.rows[topic][key] = row | {"rev": rev}
        self.changes.append((topic, row | {"rev": rev}))

    def documents(self) -> Documents:
        """Join the rows plainly."""
        return {user["id"]: self._document(user) for user in self.rows["user"].values()}

    def _document(self, user: dict[str, Any]) -> dict[str, Any]:
        stars = [each for each in self.rows["star"].values() if each["user"] == user["name"]]
        pulls = [each for each in self.rows["pull"].values() if each["author"] == user["name"]]
        shown = [{"number": each["number"], "rev": each["rev"]} for each in pulls]
        return {
            "id": user["id"],
            "name": user["name"],
            "rev": user["rev"],
            "stars": [
                {
                    "repo": each["repo"],
                    "description": self.rows["repo"].get(each["repo"], {}).get("description"),
                }
                for each in sorted(stars, key=lambda star: star["repo"])
            ],
            "pulls": sorted(shown, key=lambda pull: pull["number"]),
            "pull_revs": sum(each["rev"] for each in pulls) if pulls else None,
        }


def make_world(seed: int) -> World:
    """Return a world after `CHANGES` changes."""
    chance, world = random.Random(seed), World()
    for _ in range(CHANGES):
        user, repo = chance.randrange(USERS), f"r{chance.randrange(REPOS)}"
        match chance.choice(("user", "repo", "star", "star", "pull", "pull")):
            case "user":
                world.put("user", user, {"id": user, "name": f"u{user}"})
            case "repo":
                text = f"{repo} {chance.randrange(1000)}"
                world.put("repo", repo, {"name": repo, "description": text})
            case "star":
                world.put("star", (user, repo), {"user": f"u{user}", "repo": repo})
            case _:
                number = chance.randrange(60)
                author = world.rows["pull"].get(number, {"author": f"u{user}"})["author"]
                world.put("pull", number, {"number": number, "author": author})
    return world


def write_project(folder: Path, world: World, files: int = 4) -> None:
    """Write the project file and the changes, in `files` parts a topic."""
    (folder / "joinery.yaml").write_text(PROJECT)
    part = len(world.changes) // files + 1
    for index in range(files):
        for topic, row in world.changes[index * part : (index + 1) * part]:
            file = folder / "data" / topic / f"{index:03d}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as lines:
                lines.write(f"{json.dumps(row)}\n")


def emissions(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield all lines of the files sink in emission order."""
    for file in sorted((folder / "out/profile").glob("*.jsonl")):
        yield from map(json.loads, file.read_text().splitlines())


def assert_documents(folder: Path, expected: Documents) -> None:
    """Compare both sinks with what must be there, and look for steps back in time."""
    newest: Documents = {}
    versions: dict[int, int] = {}
    for line in emissions(folder):
        key, value = line["key"]["id"], line["value"]
        assert line["version"] > versions.get(key, 0), f"the version of {key} fell"
        if key in newest:
            before = newest[key]
            assert value["rev"] >= before["rev"], f"the document of {key} went back"
            assert (value["pull_revs"] or 0) >= (before["pull_revs"] or 0)
        newest[key], versions[key] = value, line["version"]
    assert expected == newest
    with sqlite_file(folder / "out/documents.db") as database:
        rows = database.execute("SELECT id, document, version FROM profile").fetchall()
    assert expected == {key: json.loads(text) for key, text, _ in rows}
    assert versions == {key: version for key, _, version in rows}
