"""Measures how soon a document follows a commit by Debezium: `python -m bench.databases.chain`.

PostgreSQL is written to at a steady rate; Debezium captures it into Kafka; UserProfile is kept in
OpenSearch by one run of Joinery; all stand on this machine. Beside that load some users' pull
requests get new titles, one commit each. Timed is from the return of the commit until the
document shows the title: read by its id, and found by a search (after the index's refresh).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.builds import BENCH
from bench.kafka.latency import percentiles, wait
from joinery.cli.real import real_project_text
from joinery.dev.connect import connect, create
from joinery.dev.debezium import capture
from joinery.dev.http import ask
from joinery.dev.kafka import kafka
from joinery.dev.opensearch import opensearch
from joinery.dev.postgres import postgres
from joinery.testing.github import History
from joinery.testing.github_database import CAPTURED, WORKDAY, Act, GithubDatabase

INDEX = "user_profile"
PROBES = 50
LOOK_S = 0.02
TIME = "2026-01-01T00:00:00Z"
PATIENCE_S = 60.0
ENDLESS = 1_000_000_000
Titles = Mapping[str, str]


def email(probe: int) -> str:
    """Return the key of a probe's document."""
    return f"probe{probe}@example.com"


def pull(probe: int, title: str) -> str:
    """Return the one pull request of a probe, as JSON."""
    who = f"probe{probe}"
    row = {"repo": who, "repo_owner": who, "index": 1, "author": who, "status": "open"}
    return json.dumps({"title": title, "created_at": TIME, **row})


def first_rows() -> list[Act]:
    """Return what inserts the probes."""
    users = [
        {"id": -1 - each, "email": email(each), "username": f"probe{each}", "registered_at": TIME}
        for each in range(PROBES)
    ]
    return [
        *(Act("user", "insert", (json.dumps(each),)) for each in users),
        *(Act("pull_request", "insert", (pull(each, "0"),)) for each in range(PROBES)),
    ]


class Index:
    """The documents as OpenSearch shows them."""

    def __init__(self, url: str) -> None:
        self._home = f"{url}/{INDEX}"

    def count(self) -> int:
        """Return how many documents a search finds; 0 before there is an index."""
        try:
            told: Any = ask(f"{self._home}/_count")
        except OSError:
            return 0
        return int(told["count"])

    def read(self, ids: list[str]) -> Titles:
        """Return the titles of some probes, read by id."""
        told: Any = ask(f"{self._home}/_mget", method="POST", body={"ids": ids})
        return _titles(told["docs"])

    def search(self, ids: list[str]) -> Titles:
        """Return the titles of some probes as a search finds them."""
        body = {"size": len(ids), "query": {"ids": {"values": ids}}}
        told: Any = ask(f"{self._home}/_search", method="POST", body=body)
        return _titles(told["hits"]["hits"])


def _titles(found: list[dict[str, Any]]) -> Titles:
    pulls = {each["_id"]: each.get("_source", {}).get("pull_requests") for each in found}
    return {id: told[0]["title"] for id, told in pulls.items() if told}


@dataclass(slots=True)
class Probes:
    """Commits titles, and notes when each is seen.

    Attributes:
        took: The seconds each took.
    """

    look: Callable[[list[str]], Titles]
    took: list[float] = field(default_factory=list)
    _due: dict[str, tuple[str, float]] = field(default_factory=dict)

    def expect(self, id: str, title: str) -> None:
        """Note that a title was committed just now."""
        self._due[id] = (title, time.monotonic())

    @property
    def waiting(self) -> int:
        """How many were not seen yet."""
        return len(self._due)

    def run(self, ended: threading.Event) -> None:
        """Look until the end is asked for and all is seen, or patience ends."""
        last = float("inf")
        while time.monotonic() < last and not (ended.is_set() and not self._due):
            if ended.is_set() and last == float("inf"):
                last = time.monotonic() + PATIENCE_S
            due = dict(self._due)
            now_titles = self.look(list(due)) if due else {}
            now = time.monotonic()
            for id, (title, since) in due.items():
                if now_titles.get(id) == title:
                    self.took.append(now - since)
                    if self._due.get(id) == (title, since):
                        del self._due[id]
            time.sleep(LOOK_S)


def commit_titles(database: GithubDatabase, seen: list[Probes], chosen: argparse.Namespace) -> int:
    """Give the probes new titles in turn, as often as is asked for; return how many."""
    started, count = time.monotonic(), 0
    while time.monotonic() - started < chosen.seconds:
        probe, title = count % PROBES, str(count // PROBES + 1)
        before = str(count // PROBES)
        database.commit([Act("pull_request", "update", (pull(probe, title), pull(probe, before)))])
        for each in seen:
            each.expect(email(probe), title)
        count += 1
        time.sleep(max(0.0, started + count / chosen.probes - time.monotonic()))
    return count


def measure(work: Path, env: dict[str, str], chosen: argparse.Namespace) -> dict[str, Any]:
    """Run the project over the captured database, load it, and return what was measured."""
    index, log = Index(env["OPENSEARCH"]), work / "run.log"
    command = [str(Path(sys.executable).with_name("joinery")), "run", "joinery.yaml", *chosen.set]
    with log.open("wb") as out:
        run = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env, cwd=work)
    ended, seen = threading.Event(), [Probes(index.read), Probes(index.search)]
    looking = [threading.Thread(target=each.run, args=(ended,)) for each in seen]
    with GithubDatabase(env["POSTGRES"]) as database, GithubDatabase(env["POSTGRES"]) as other:
        history: History = chosen.history
        try:
            wait(lambda: index.count() >= len(database.profiles()), run, log)
            writer = threading.Thread(
                target=other.play,
                args=(history.lines(ENDLESS, WORKDAY),),
                kwargs={"per_s": chosen.rate, "stop": ended},
            )
            for each in (*looking, writer):
                each.start()
            time.sleep(chosen.warm)
            sent = commit_titles(database, seen, chosen)
        finally:
            ended.set()
            for each in looking:
                each.join()
            run.send_signal(signal.SIGTERM)
            run.wait(120)
        writer.join()
    return {
        "rate": chosen.rate,
        "probes": sent,
        "lost": max(each.waiting for each in seen),
        "ms_read_by_id": percentiles(seen[0].took),
        "ms_found_by_search": percentiles(seen[1].took),
        "load_average": os.getloadavg()[0],
    }


def main() -> int:
    """Measure the chain and print a JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.databases.chain", description=__doc__)
    parser.add_argument("--changes", type=int, default=20_000, help="in the tables beforehand")
    parser.add_argument("--rate", type=float, default=50.0, help="commits a second as load")
    parser.add_argument("--probes", type=float, default=5.0, help="timed commits a second")
    parser.add_argument("--warm", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--set", action="append", default=[], type=lambda each: f"--set={each}")
    chosen = parser.parse_args()
    work = BENCH / ".runs" / "chain"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "joinery.yaml").write_text(
        real_project_text(kafka=True).replace(
            '      - postgres: {url: "${POSTGRES}", table: user_profile}', ""
        )
    )
    chosen.history = History(chosen.changes, seed=7)
    with (
        kafka(work / "kafka").started() as broker,
        postgres(work / "postgres").started() as database,
        opensearch(work / "opensearch").started() as search,
        connect(work / "connect", kafka=broker.address).started() as worker,
    ):
        with GithubDatabase(database.address) as link:
            link.create()
            link.fill(chosen.history.lines(chosen.changes))
            link.commit(first_rows())
        create(worker, "github", capture("github", database=database.address, tables=CAPTURED))
        addresses = {"KAFKA": broker.address, "OPENSEARCH": search.address}
        env = {**os.environ, **addresses, "POSTGRES": database.address}
        print(json.dumps(measure(work, env, chosen), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
