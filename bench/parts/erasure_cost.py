"""Measures what personal columns cost: `python -m bench.parts.erasure_cost`.

The same changes are read with and without two personal columns, in turns. What is told is processor
time of the run and all its processes, less that of a run that reads nothing, so that starting Spark
makes no cost look small.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.harness.builds import BENCH
from bench.harness.measure import measure

TIMEOUT_S = 600
PROJECT = """\
name: bench
sources: {{changes: {{files: {{path: "{data}"}}}}}}
defaults: {{source: changes, format: json}}
vault: {{sqlite: {{path: "{work}/vault.db"}}, master: "a master key of a measurement, no secret"}}
relations:
  user:
    key: [id]
    fields: {{id: long, email: string, phone: string, username: string}}
    {user}
  pull_request:
    key: [id]
    fields: {{id: long, user_id: long, title: string, repo: string, place: string, status: string}}
    {pull_request}
  star: {{key: [id], fields: {{id: long, user_id: long, repo: string}}}}
  payment_info: {{key: [id], fields: {{id: long, user_id: long, verified: boolean}}}}
products:
  user_profile:
    root: user
    fields: [email, phone, username]
    embed:
      stars: {{many: star, on: {{user_id: id}}, fields: [repo]}}
      pull_requests:
        many: pull_request
        on: {{user_id: id}}
        fields: [title, repo, place, status]
        order: [id]
      payment: {{one: payment_info, on: {{user_id: id}}, fields: [verified]}}
    sink: {sink}
run: {{checkpoint: "{work}/checkpoint", max_rows_per_batch: {batch}}}
"""
PERSONAL = {
    "none": ("", ""),
    "user": ("personal: {subject: id, fields: [email, phone]}", ""),
    "pull_request": ("", "personal: {subject: user_id, fields: [title, place]}"),
}
SINKS = {
    False: '{{files: {{path: "{work}/out"}}}}',
    True: '{{sqlite: {{path: "{work}/out.db"{reveal}}}}}',
}


def rows(subjects: int) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield ten changes a subject: its user, its payment, three stars, five pull requests."""
    for each in range(subjects):
        told = {"email": f"user{each}@example.org", "phone": f"+49 30 {each:07}"}
        yield "user", {"id": each, **told, "username": f"user{each}"}
        yield "payment_info", {"id": each, "user_id": each, "verified": each % 2 == 0}
    for number in range(8 * subjects):
        owner = number * 7919 % subjects
        repo = f"repo{number % 997}"
        if number % 8 < 3:
            yield "star", {"id": number, "user_id": owner, "repo": repo}
        else:
            row = {"id": number, "user_id": owner, "title": f"Mend part {number} of {repo}"}
            yield "pull_request", {**row, "repo": repo, "place": f"{number} Road", "status": "open"}


def write(folder: Path, subjects: int) -> None:
    """Write the changes, one file a relation and 20,000 rows of all."""
    shutil.rmtree(folder, ignore_errors=True)
    open_: dict[str, list[str]] = {}
    for number, (relation, row) in enumerate(rows(subjects), 1):
        open_.setdefault(relation, []).append(json.dumps(row, separators=(",", ":")) + "\n")
        if number % 20_000 == 0 or number == 10 * subjects:
            for name, lines in open_.items():
                file = folder / name / f"{number:09}.jsonl"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("".join(lines))
            open_ = {}


def run(data: Path, work: Path, kind: str, *, batch: int, reveal: bool) -> float:
    """Return the processor seconds of a run."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    user, pull_request = PERSONAL[kind]
    shows = "" if kind == "none" else ", reveal: true"
    sink = SINKS[reveal].format(work=work, reveal=shows)
    named = {"user": user, "pull_request": pull_request, "sink": sink, "batch": batch}
    told = PROJECT.format(data=data, work=work, **named)
    project = work / "joinery.yaml"
    project.write_text(told)
    command = [str(Path(sys.executable).with_name("joinery")), "run", str(project), "--once"]
    command += ["--master", "local[2]"]
    log = work / "log"
    measured = measure(command, output=log, cwd=work, env=dict(os.environ), timeout_s=TIMEOUT_S)
    if measured.returncode:
        raise SystemExit(log.with_suffix(".err").read_text()[-2000:] + log.read_text()[-2000:])
    return measured.cpu_seconds


def main() -> None:
    """Measure, and print one line a pair and their middle."""
    parser = argparse.ArgumentParser(prog="python -m bench.parts.erasure_cost", description=__doc__)
    parser.add_argument("--subjects", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--of", choices=["user", "pull_request"], default="user")
    parser.add_argument("--batch", type=int, default=25_000, help="changes a batch")
    parser.add_argument("--reveal", action="store_true", help="into SQLite, in clear")
    parser.add_argument("--work", type=Path, default=BENCH / ".runs" / "erasure")
    asked = parser.parse_args()
    data, empty, work = (asked.work / each for each in ("data", "empty", "run"))
    write(data, asked.subjects)
    write(empty, 1)
    how = {"batch": asked.batch, "reveal": asked.reveal}
    idle = run(empty, work, "none", **how)
    print(f"a run of 10 changes: {idle:.1f} s of processors", flush=True)
    costs = []
    for _ in range(asked.pairs):
        plain = run(data, work, "none", **how)
        sealed = run(data, work, asked.of, **how)
        costs.append((sealed - idle) / (plain - idle) - 1)
        print(f"{plain:.1f} s without, {sealed:.1f} s with: {costs[-1]:+.0%}", flush=True)
    print(f"{10 * asked.subjects:,} changes, {asked.subjects:,} subjects, middle of the pairs:")
    print(f"{statistics.median(costs):+.0%} of processor time beyond starting")


if __name__ == "__main__":
    main()
