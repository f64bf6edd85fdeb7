"""The right answer, computed plainly: UserProfile of a history, and of each contender's output.

All answers come to one form, `email -> Profile`, with lists as sorted tuples: a contender
may order its lists as it likes.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Profile = tuple[Any, ...]
KEYS = {
    "user": ("email",),
    "repo": ("owner", "name"),
    "star": ("username", "repo_name", "repo_owner"),
    "github.public.pull_request": ("repo", "repo_owner", "index"),
    "payment_info": ("id",),
}
Tables = dict[str, dict[tuple[Any, ...], dict[str, Any]]]


def final_rows(folder: Path) -> Tables:
    """Return the rows that stand when every change of `folder` is applied in log order."""
    tables: Tables = {topic: {} for topic in KEYS}
    for topic, key in KEYS.items():
        for path in sorted((folder / topic).glob("*.jsonl")):
            with path.open(encoding="utf-8") as lines:
                for row, present in map(image, lines):
                    at = tuple(row[column] for column in key)
                    if present:
                        tables[topic][at] = row
                    else:
                        tables[topic].pop(at, None)
    return tables


def image(line: str) -> tuple[dict[str, Any], bool]:
    """Return the row of a line, Debezium's or flat, and whether it stands after it."""
    value = json.loads(line)
    if "op" in value and "source" in value:
        return (value["before"], False) if value["op"] == "d" else (value["after"], True)
    return value, not value.pop("__deleted", False)


def expected_profiles(folder: Path) -> dict[str, Profile]:
    """Join the final rows of a history into documents, one loop a relation."""
    tables = final_rows(folder)
    stars, pulls = defaultdict(list), defaultdict(list)
    for star in tables["star"].values():
        repo = tables["repo"].get((star["repo_owner"], star["repo_name"]), {})
        stars[star["username"]].append((star["repo_name"], repo.get("description")))
    for pull in tables["github.public.pull_request"].values():
        pulls[pull["author"]].append(pull)
    verified = {row["user_id"]: row["verified"] for row in tables["payment_info"].values()}
    return {
        user["email"]: profile(
            user["username"],
            stars[user["username"]],
            [
                (each["repo"], each["index"], each["title"], each["created_at"], each["status"])
                for each in pulls[user["username"]]
            ],
            verified.get(user["id"]),
        )
        for user in tables["user"].values()
    }


def profile(
    username: str, stars: Iterable[Any], pulls: Iterable[Any], verified: bool | None
) -> Profile:
    """Return the common form of one document."""
    return (
        username,
        tuple(sorted((tuple(each) for each in stars), key=repr)),
        tuple(sorted((plain(each) for each in pulls), key=repr)),
        verified,
    )


def plain(pull: Iterable[Any]) -> tuple[Any, ...]:
    """Write times without an empty fraction."""
    repo, index, title, created_at, status = pull
    return (repo, int(index), title, created_at.replace(".000000Z", "Z"), status)


def joinery_profiles(folder: Path) -> dict[str, Profile]:
    """Read Joinery's files sink: the last line of a key counts."""
    found: dict[str, Profile] = {}
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                email, value = line["key"]["email"], line["value"]
                if value is None:
                    found.pop(email, None)
                else:
                    found[email] = from_objects(value)
    return found


def from_objects(value: dict[str, Any]) -> Profile:
    """Return the common form of Joinery's document."""
    return profile(
        value["username"],
        [(each["repo"], each["description"]) for each in value["starred_repos"]],
        [
            tuple(each[name] for name in ("repo", "index", "title", "created_at", "status"))
            for each in value["pull_requests"]
        ],
        value["payment_verified"],
    )


def pathway_profiles(path: Path) -> dict[str, Profile]:
    """Read Pathway's changelog: what was added more often than taken back stands."""
    standing: Counter[tuple[str, Profile]] = Counter()
    with path.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            found = profile(
                line["username"],
                line["starred_repos"] or (),
                line["pull_requests"] or (),
                line["payment_verified"],
            )
            standing[line["email"], found] += line["diff"]
    return dict(each for each, count in standing.items() if count > 0)


FLINK_ROW = re.compile(r"^(?:\d+> )?([+-])[IUD]\[([^,]+), (\{.*\})\]$")
FLINK_ENTRY = re.compile(r"\(([^()]*)\)")


def flink_profiles(lines: Iterable[str]) -> dict[str, Profile]:
    """Read the changelog that Flink's print sink wrote."""
    standing: Counter[tuple[str, Profile]] = Counter()
    for line in lines:
        if row := FLINK_ROW.match(line.rstrip("\n")):
            value = json.loads(row[3])
            found = profile(
                value["username"],
                flink_entries(value["starred_repos"]),
                flink_entries(value["pull_requests"]),
                value["payment_verified"],
            )
            standing[row[2], found] += 1 if row[1] == "+" else -1
    return dict(each for each, count in standing.items() if count > 0)


def flink_entries(text: str | None) -> Iterator[tuple[str | None, ...]]:
    """Yield the rows of an array that Flink cast to text; no generated text holds a comma."""
    for entry in FLINK_ENTRY.findall(text or ""):
        yield tuple(None if part == "NULL" else part for part in entry.split(", "))


def difference(expected: dict[str, Profile], found: dict[str, Profile]) -> str:
    """Return "" when equal, else the first documents that differ."""
    wrong = sorted(
        email for email in expected.keys() | found.keys() if expected.get(email) != found.get(email)
    )
    if not wrong:
        return ""
    first = wrong[0]
    return (
        f"{len(wrong)} of {len(expected)} documents differ, the first is {first}:"
        f" expected {expected.get(first)}, found {found.get(first)}"
    )
