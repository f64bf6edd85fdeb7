"""UserProfile in Pathway: Debezium's lines read by path in native code, newest row by position.

`static` reads everything as one batch and sends each document once; `streaming` commits
every few seconds and sends documents again as they change, as the others do.

Runs in the environment of `requirements-pathway.txt`, never in Joinery's.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pathway as pw

QUIET_S = 5.0
IDLE_CPU_SHARE = 0.1
KEYS = {
    "user": ["email"],
    "repo": ["owner", "name"],
    "pull_request": ["repo", "repo_owner", "index"],
    "star": ["username", "repo_name", "repo_owner"],
    "payment_info": ["id"],
}
COLUMNS: dict[str, dict[str, type]] = {
    "user": {"id": int, "email": str, "username": str},
    "repo": {"owner": str, "name": str, "description": str},
    "pull_request": {
        "repo": str,
        "repo_owner": str,
        "index": int,
        "title": str,
        "author": str,
        "status": str,
        "created_at": str,
    },
    "star": {"username": str, "repo_name": str, "repo_owner": str},
    "payment_info": {"id": int, "user_id": int, "verified": bool},
}
TOPICS = {name: name for name in KEYS} | {"pull_request": "github.public.pull_request"}


def optional(kind: type) -> Any:
    """Return a column that the line may lack."""
    return pw.column_definition(dtype=kind | None, default_value=None)


def changes_of(name: str, folder: Path, *, mode: str, commit_ms: int) -> pw.Table:
    """Read one topic: position, operation, the key from either image, the row after."""
    columns = COLUMNS[name]
    fields = {"lsn": pw.column_definition(dtype=int), "op": pw.column_definition(dtype=str)}
    paths = {"lsn": "/source/lsn"}
    for column, kind in columns.items():
        fields[f"new_{column}"] = optional(kind)
        paths[f"new_{column}"] = f"/after/{column}"
    for column in KEYS[name]:
        fields[f"old_{column}"] = optional(columns[column])
        paths[f"old_{column}"] = f"/before/{column}"
    changes = pw.io.jsonlines.read(
        folder / TOPICS[name],
        schema=pw.schema_builder(fields),
        mode=mode,
        json_field_paths=paths,
        autocommit_duration_ms=commit_ms,
    )
    key = {
        f"key_{column}": pw.coalesce(changes[f"new_{column}"], changes[f"old_{column}"])
        for column in KEYS[name]
    }
    rows = {f"row_{column}": changes[f"new_{column}"] for column in columns}
    return changes.select(lsn=changes.lsn, op=changes.op, **key, **rows)


def newest_of(name: str, keyed: pw.Table) -> pw.Table:
    """Keep the newest row of each key, unless it is deleted."""
    newest = keyed.groupby(*(keyed[f"key_{each}"] for each in KEYS[name])).reduce(
        at=pw.reducers.argmax(keyed.lsn)
    )
    found = keyed.ix(newest.at)
    present = found.filter(found.op != "d")
    return present.select(**{f"{column}_": present[f"row_{column}"] for column in COLUMNS[name]})


def documents(changes: dict[str, pw.Table]) -> pw.Table:
    """Join the relations into documents."""
    user, repo, pull_request, star, payment_info = (
        newest_of(name, table) for name, table in changes.items()
    )
    described = star.join_left(
        repo, star.repo_owner_ == repo.owner_, star.repo_name_ == repo.name_
    ).select(star.username_, entry=pw.make_tuple(star.repo_name_, repo.description_))
    stars = described.groupby(described.username_).reduce(
        described.username_, starred_repos=pw.reducers.tuple(described.entry)
    )
    opened = pull_request.select(
        pull_request.author_,
        entry=pw.make_tuple(
            pull_request.repo_,
            pull_request.index_,
            pull_request.title_,
            pull_request.created_at_,
            pull_request.status_,
        ),
    )
    pulls = opened.groupby(opened.author_).reduce(
        opened.author_, pull_requests=pw.reducers.tuple(opened.entry)
    )
    with_stars = user.join_left(stars, user.username_ == stars.username_).select(
        user.id_, user.email_, user.username_, stars.starred_repos
    )
    with_pulls = with_stars.join_left(pulls, with_stars.username_ == pulls.author_).select(
        *with_stars, pulls.pull_requests
    )
    return with_pulls.join_left(payment_info, with_pulls.id_ == payment_info.user_id_).select(
        email=with_pulls.email_,
        username=with_pulls.username_,
        starred_repos=with_pulls.starred_repos,
        pull_requests=with_pulls.pull_requests,
        payment_verified=payment_info.verified_,
    )


class Ending:
    """Ends a streaming run once the last change has passed and the process has come to rest.

    Counting runs ahead of the joins by more than any quiet of the output, so the processor
    tells. The time told is that of the last write, not that of noticing it.
    """

    def __init__(self, expected: int, output: Path, started: float) -> None:
        self.expected, self.output, self.started, self.read = expected, output, started, 0

    def count(self, changes: dict[str, pw.Table]) -> None:
        """Follow how many changes of each relation have passed."""
        for table in changes.values():
            counted = table.reduce(rows=pw.reducers.count())
            pw.io.subscribe(counted, on_change=self._changed)

    def _changed(self, key: object, row: dict[str, int], time: int, is_addition: bool) -> None:
        self.read += row["rows"] if is_addition else -row["rows"]

    def _resting(self) -> bool:
        spent = time.process_time()
        time.sleep(QUIET_S)
        return time.process_time() - spent < QUIET_S * IDLE_CPU_SHARE

    def watch(self) -> None:
        """Wait for the end, report, and leave."""
        while self.read < self.expected or not self._resting():
            time.sleep(0.1)
        report(self.output.stat().st_mtime - self.started)
        os._exit(0)


def report(seconds: float) -> None:
    """Print how long it took."""
    print(json.dumps({"seconds": round(seconds, 3)}), flush=True)


def main() -> None:
    """Read the change files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--mode", choices=("static", "streaming"), default="streaming")
    parser.add_argument("--commit-ms", type=int, default=2000)
    parser.add_argument("--changes", type=int, required=True, help="how many changes there are")
    chosen = parser.parse_args()
    started = float(os.environ.get("BENCH_STARTED", time.time()))
    changes = {
        name: changes_of(name, chosen.input, mode=chosen.mode, commit_ms=chosen.commit_ms)
        for name in KEYS
    }
    table = documents(changes)
    pw.io.jsonlines.write(table, chosen.output)
    if chosen.mode == "streaming":
        ending = Ending(chosen.changes, chosen.output, started)
        ending.count(changes)
        threading.Thread(target=ending.watch, daemon=True).start()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    report(time.time() - started)


if __name__ == "__main__":
    main()
