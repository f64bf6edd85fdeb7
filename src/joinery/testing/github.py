"""A believable history of a code-hosting company as change files, for demos, tests and benchmarks.

`History` plays a seeded world of five tables and yields one log line a change: the tables
advance side by side in random order, children often arrive before their parents, rows are
updated, deleted and at times inserted again. An email change is a delete and an insert, as
a connector sends it.

Limits: the generator holds the world in memory, about 100 MB a million changes.

Invariant: the same seed and sizes give the same bytes, and no generated text needs JSON
escaping, so lines are built from templates.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

RELATIONS = ("user", "repo", "star", "pull_request", "payment_info")
TOPICS = ("user", "repo", "star", "github.public.pull_request", "payment_info")
USER, REPO, STAR, PULL_REQUEST, PAYMENT = range(5)

Line = tuple[int, str, str | None, str | None, int]
"""Relation index, op (`c`, `u`, `d`), JSON text of the row before and after, change number."""

_FIRST_SECOND = 1_767_225_600  # 2026-01-01T00:00:00Z
_FIRST_LSN = 24_000_000
_SECONDS_A_CHANGE = 1.7


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_TONES = _words("quiet brave tiny amber lucid rapid mellow solar frosty nimble sunny plain")
_BEASTS = _words("otter falcon lynx heron badger marten gecko raven bison ibex tapir wren")
_THINGS = _words(
    "parser router broker cache scheduler ledger compiler queue index shell editor proxy"
)
_PRAISE = _words("small fast lean typed tiny portable quiet sturdy careful modern plain naïve")
_TASKS = _words("Fix Profile Document Rename Remove Test Simplify Guard Port Cache")
_STATES = ("open", "review", "approved", "merged", "closed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """What a phase of the history is made of.

    Attributes:
        relations: The share of each relation, in the order of `RELATIONS`.
        updates: The share of each relation's changes that update an existing row.
        deletes: The share that deletes one.
        zipf: The exponent by which updates favour some rows; None picks evenly.
    """

    relations: tuple[float, ...] = (0.10, 0.05, 0.45, 0.30, 0.10)
    updates: tuple[float, ...] = (0.06, 0.20, 0.0, 0.42, 0.20)
    deletes: tuple[float, ...] = (0.02, 0.01, 0.07, 0.02, 0.02)
    zipf: float | None = None


GROWTH = Mix()
UPDATE_HEAVY = Mix(
    relations=(0.10, 0.15, 0.15, 0.45, 0.15),
    updates=(0.90,) * 5,
    deletes=(0.02,) * 5,
    zipf=1.1,
)


@dataclass(slots=True)
class _Table:
    """The living rows of one relation by identity, and the JSON text each stands at."""

    alive: list[int] = field(default_factory=list)
    place: dict[int, int] = field(default_factory=dict)
    text: dict[int, str] = field(default_factory=dict)

    def put(self, row: int, text: str) -> None:
        if row not in self.place:
            self.place[row] = len(self.alive)
            self.alive.append(row)
        self.text[row] = text

    def drop(self, row: int) -> str:
        last = self.alive.pop()
        at = self.place.pop(row)
        if last != row:
            self.alive[at] = last
            self.place[last] = at
        return self.text.pop(row)


class History:
    """The world and its changes.

    Args:
        changes: How many changes the history is meant to have; sets how many users and
            repositories there are (one user to eleven changes).
        seed: The same seed gives the same history.
        users: Overrides the number of users.
    """

    def __init__(self, changes: int, *, seed: int = 7, users: int | None = None) -> None:
        self._random = random.Random(seed)
        self.users = users or max(8, changes * 9 // 100)
        self.repos = max(4, self.users * 4 // 9)
        self.number = 0
        self._tables = tuple(_Table() for _ in RELATIONS)
        self._coming: tuple[list[int], ...] = (
            self._shuffled(self.users),
            self._shuffled(self.repos),
        )
        self._names: dict[int, str] = {}
        self._emails: dict[int, int] = {}
        self._pulls: dict[int, tuple[str, str]] = {}
        self._pull_count: dict[int, int] = {}
        self._payers = self._shuffled(self.users)
        self._payments = 0
        self._minutes: dict[int, str] = {}
        self._play = (self._user, self._repo, self._star, self._pull_request, self._payment)

    def lines(self, count: int, mix: Mix = GROWTH) -> Iterator[Line]:
        """Yield exactly `count` further changes of the given mix."""
        bounds = [sum(mix.relations[: at + 1]) for at in range(len(RELATIONS) - 1)]
        draw, end = self._random.random, self.number + count
        while self.number < end:
            share = draw()
            relation = sum(share >= bound for bound in bounds)
            for op, before, after in self._play[relation](self._act(relation, mix), mix):
                if self.number < end:
                    self.number += 1
                    yield relation, op, before, after, self.number

    def username(self, user: int) -> str:
        """Return the name under which `user` acts now."""
        return self._names.get(user) or _first_username(user)

    def email(self, user: int) -> str:
        """Return the key of `user` as it is now."""
        turn = self._emails.get(user, 0)
        return f"{_first_username(user)}{'+' + str(turn) if turn else ''}@example.com"

    def _shuffled(self, size: int) -> list[int]:
        rows = list(range(size))
        self._random.shuffle(rows)
        return rows

    def _act(self, relation: int, mix: Mix) -> str:
        share, updates = self._random.random(), mix.updates[relation]
        if not self._tables[relation].alive or share >= updates + mix.deletes[relation]:
            return "c"
        return "u" if share < updates else "d"

    def _pick(self, table: _Table, mix: Mix) -> int:
        size, share = len(table.alive), self._random.random()
        if mix.zipf is None:
            return table.alive[int(size * share)]
        power = 1 - mix.zipf
        rank = (1 - share * (1 - (size + 1) ** power)) ** (1 / power)
        return table.alive[min(int(rank) - 1, size - 1)]

    def _now(self) -> str:
        ticks = int(self.number * _SECONDS_A_CHANGE * 1_000_000)
        seconds, micros = divmod(ticks, 1_000_000)
        minute, second = divmod(_FIRST_SECOND + seconds, 60)
        prefix = self._minutes.get(minute)
        if prefix is None:
            prefix = time.strftime("%Y-%m-%dT%H:%M:", time.gmtime(minute * 60))
            self._minutes = {minute: prefix}
        return f"{prefix}{second:02d}.{micros:06d}Z"

    def _changes(
        self, relation: int, row: int, after: str | None
    ) -> Iterator[tuple[str, str | None, str | None]]:
        table = self._tables[relation]
        if after is None:
            yield "d", table.drop(row), None
        else:
            before = table.text.get(row)
            table.put(row, after)
            yield "u" if before else "c", before, after

    def _someone(self) -> int:
        return int(self.users * self._random.random() ** 1.5)

    def _some_repo(self) -> int:
        return int(self.repos * self._random.random() ** 2)

    def _user(self, act: str, mix: Mix) -> Iterator[tuple[str, str | None, str | None]]:
        table, coming = self._tables[USER], self._coming[USER]
        if act == "c" and coming:
            row = coming.pop()
            return self._changes(USER, row, self._user_text(row))
        row = self._pick(table, mix)
        if act == "d" and len(table.alive) > 1:
            if self._random.random() < 0.5:
                coming.insert(0, row)
            return self._changes(USER, row, None)
        if self._random.random() < 0.3:
            return self._new_email(row)
        self._names[row] = f"{_first_username(row)}-{self._random.randrange(2, 9)}"
        return self._changes(USER, row, self._user_text(row))

    def _new_email(self, row: int) -> Iterator[tuple[str, str | None, str | None]]:
        yield from self._changes(USER, row, None)
        self._emails[row] = self._emails.get(row, 0) + 1
        yield from self._changes(USER, row, self._user_text(row))

    def _user_text(self, row: int) -> str:
        return (
            f'{{"id":{row},"email":"{self.email(row)}","username":"{self.username(row)}",'
            f'"registered_at":"{self._now()}"}}'
        )

    def _repo(self, act: str, mix: Mix) -> Iterator[tuple[str, str | None, str | None]]:
        table, coming = self._tables[REPO], self._coming[REPO]
        if act == "c" and coming:
            row = coming.pop()
        else:
            row = self._pick(table, mix)
            if act == "d" and len(table.alive) > 1:
                coming.insert(0, row)
                return self._changes(REPO, row, None)
        return self._changes(REPO, row, self._repo_text(row))

    def _repo_text(self, row: int) -> str:
        name, owner = repo_name(row)
        draw = self._random.randrange
        praise, thing = _PRAISE[draw(len(_PRAISE))], _THINGS[row % len(_THINGS)]
        now = self._now()
        return (
            f'{{"name":"{name}","owner":"{owner}",'
            f'"description":"A {praise} {thing} for the {_BEASTS[draw(len(_BEASTS))]} stack",'
            f'"star_count":{draw(9000)},"fork_count":{draw(900)},'
            f'"created_at":"2025-12-01T00:00:00.000000Z","updated_at":"{now}"}}'
        )

    def _star(self, act: str, mix: Mix) -> Iterator[tuple[str, str | None, str | None]]:
        table = self._tables[STAR]
        if act == "d":
            return self._changes(STAR, self._pick(table, mix), None)
        if act == "u":
            row = self._pick(table, mix)
            head = table.text[row].rpartition('"created_at"')[0]
            return self._changes(STAR, row, f'{head}"created_at":"{self._now()}"}}')
        user, repo = self._someone(), self._some_repo()
        while user * self.repos + repo in table.place:
            user, repo = self._someone(), self._random.randrange(self.repos)
        name, owner = repo_name(repo)
        text = (
            f'{{"username":"{self.username(user)}","repo_name":"{name}",'
            f'"repo_owner":"{owner}","created_at":"{self._now()}"}}'
        )
        return self._changes(STAR, user * self.repos + repo, text)

    def _pull_request(self, act: str, mix: Mix) -> Iterator[tuple[str, str | None, str | None]]:
        table = self._tables[PULL_REQUEST]
        if act == "c":
            row = self._open_pull_request()
            state = "open"
        else:
            row = self._pick(table, mix)
            if act == "d":
                del self._pulls[row]
                return self._changes(PULL_REQUEST, row, None)
            state = _STATES[self._random.randrange(len(_STATES))]
        head, tail = self._pulls[row]
        return self._changes(PULL_REQUEST, row, f"{head}{state}{tail}")

    def _open_pull_request(self) -> int:
        repo, author = self._some_repo(), self.username(self._someone())
        index = self._pull_count[repo] = self._pull_count.get(repo, 0) + 1
        name, owner = repo_name(repo)
        draw = self._random.randrange
        tone, thing = _TONES[draw(len(_TONES))], _THINGS[draw(len(_THINGS))]
        title = f"{_TASKS[draw(len(_TASKS))]} the {tone} {thing}"
        head = (
            f'{{"title":"{title}","repo":"{name}","repo_owner":"{owner}","index":{index},'
            f'"author":"{author}","status":"'
        )
        row = index * self.repos + repo
        self._pulls[row] = (head, f'","created_at":"{self._now()}"}}')
        return row

    def _payment(self, act: str, mix: Mix) -> Iterator[tuple[str, str | None, str | None]]:
        table = self._tables[PAYMENT]
        if act == "c" and self._payments < self.users:
            row = self._payments
            self._payments += 1
        else:
            row = self._pick(table, mix)
            if act == "d" and len(table.alive) > 1:
                return self._changes(PAYMENT, row, None)
        verified = "true" if self._random.random() < 0.6 else "false"
        user = self._payers[row]
        return self._changes(PAYMENT, row, f'{{"id":{row},"user_id":{user},"verified":{verified}}}')


def _first_username(user: int) -> str:
    tone, beast = _TONES[user % len(_TONES)], _BEASTS[user // len(_TONES) % len(_BEASTS)]
    return f"{tone}{beast}{user}"


def repo_name(repo: int) -> tuple[str, str]:
    """Return the name and the owner of a repository."""
    thing, tone = _THINGS[repo % len(_THINGS)], _TONES[repo // len(_THINGS) % len(_TONES)]
    return f"{tone}-{thing}-{repo}", f"{_BEASTS[repo % 7]}-labs"


def debezium_line(line: Line) -> str:
    """Return a change as Debezium's JSON without schemas, as its PostgreSQL connector writes it."""
    relation, op, before, after, number = line
    lsn = _FIRST_LSN + number * 64
    millis = _FIRST_SECOND * 1000 + int(number * _SECONDS_A_CHANGE * 1000)
    return (
        f'{{"before":{before or "null"},"after":{after or "null"},'
        f'"source":{{"version":"3.7.0.Final","connector":"postgresql","name":"github","ts_ms":{millis},"snapshot":null,"db":"github",'
        f'"sequence":"[\\"{lsn}\\",\\"{lsn}\\"]","ts_us":{millis}000,"ts_ns":{millis}000000,'
        f'"schema":"public","table":"{RELATIONS[relation]}","txId":{700 + number},"lsn":{lsn},'
        f'"xmin":null,"origin":null,"origin_lsn":null}},"transaction":null,"op":"{op}",'
        f'"ts_ms":{millis + 40},"ts_us":{millis + 40}000,"ts_ns":{millis + 40}000000}}\n'
    )


def flat_line(line: Line) -> str:
    """Return a change as a flat row; a delete carries `__deleted`."""
    _, _, before, after, _ = line
    return f"{after}\n" if after else f'{(before or "{}")[:-1]},"__deleted":true}}\n'


FORMATS: dict[str, Callable[[Line], str]] = {"debezium-json": debezium_line, "json": flat_line}


def write_lines(
    lines: Iterator[Line], out: Path, *, name: str, render: Callable[[Line], str]
) -> int:
    """Write `lines` as one file per topic, `<out>/<topic>/<name>.jsonl`, and return how many.

    Each file is renamed into place when it is complete; a topic without changes gets none.
    """
    counts = [0] * len(TOPICS)
    with ExitStack() as stack:
        files = [_open_part(out / topic, name, stack) for topic in TOPICS]
        for line in lines:
            counts[line[0]] += 1
            files[line[0]].write(render(line))
    for topic, count in zip(TOPICS, counts, strict=True):
        part = out / topic / f".{name}.part"
        part.replace(out / topic / f"{name}.jsonl") if count else part.unlink()
    return sum(counts)


def _open_part(folder: Path, name: str, stack: ExitStack) -> IO[str]:
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{name}.part"
    return stack.enter_context(part.open("w", encoding="utf-8", newline="", buffering=1 << 20))


def generate(
    out: Path,
    *,
    changes: int,
    format: str = "debezium-json",
    seed: int = 7,
    files: int = 1,
    update_heavy: int = 0,
) -> int:
    """Write a whole history and return the number of its changes.

    Args:
        out: The folder of the topics.
        changes: Changes of the growing phase, in `files` files a topic (`part-00000` …).
        format: `debezium-json` or `json`.
        seed: Same seed, same bytes.
        files: Files a topic; file k of every topic covers the same stretch of the history.
        update_heavy: Further changes, nine in ten updates of existing rows by Zipf 1.1, in
            as many files again (`update-00000` …).
    """
    history, written = History(changes, seed=seed), 0
    for phase, size, mix in (("part", changes, GROWTH), ("update", update_heavy, UPDATE_HEAVY)):
        lines = history.lines(size, mix)
        for at in range(files if size else 0):
            share = size * (at + 1) // files - size * at // files
            name = f"{phase}-{at:05d}"
            written += write_lines(islice(lines, share), out, name=name, render=FORMATS[format])
    return written


def main() -> None:
    """Generate a history from the command line."""
    parser = argparse.ArgumentParser(prog="python -m joinery.testing.github", description=__doc__)
    parser.add_argument("--changes", type=int, default=100_000)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--format", choices=sorted(FORMATS), default="debezium-json")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--files", type=int, default=1, help="files a topic")
    parser.add_argument(
        "--update-heavy", type=int, default=0, metavar="M", help="further changes, mostly updates"
    )
    chosen = parser.parse_args()
    started = time.monotonic()
    written = generate(**vars(chosen))
    taken = time.monotonic() - started
    print(json.dumps({"changes": written, "seconds": round(taken, 1), "out": str(chosen.out)}))


if __name__ == "__main__":
    main()
