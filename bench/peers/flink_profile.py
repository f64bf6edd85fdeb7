"""UserProfile in Flink SQL: its own format, mini-batches, its best SQL for the document.

Runs in the environment of `requirements-flink.txt`, never in Joinery's. The sink swallows
the documents when time is taken, and prints them when the result is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

TABLES = {
    "user": (
        "user",
        "id BIGINT, email STRING, username STRING, PRIMARY KEY (email) NOT ENFORCED",
    ),
    "repo": (
        "repo",
        "owner STRING, name STRING, description STRING, PRIMARY KEY (owner, name) NOT ENFORCED",
    ),
    "pull_request": (
        "github.public.pull_request",
        "repo STRING, repo_owner STRING, `index` BIGINT, title STRING, author STRING,"
        " status STRING, created_at STRING, PRIMARY KEY (repo, repo_owner, `index`) NOT ENFORCED",
    ),
    "star": (
        "star",
        "username STRING, repo_name STRING, repo_owner STRING,"
        " PRIMARY KEY (username, repo_name, repo_owner) NOT ENFORCED",
    ),
    "payment_info": (
        "payment_info",
        "id BIGINT, user_id BIGINT, verified BOOLEAN, PRIMARY KEY (id) NOT ENFORCED",
    ),
}
SINK_COLUMNS = """
    email STRING, username STRING,
    starred_repos ARRAY<ROW<repo STRING, description STRING>>,
    pull_requests ARRAY<
      ROW<repo STRING, `index` BIGINT, title STRING, created_at STRING, status STRING>>,
    payment_verified BOOLEAN
"""
PRINTED_COLUMNS = "email STRING, document STRING"
PROFILE = """
SELECT u.email, u.username, s.starred_repos, p.pull_requests, i.verified AS payment_verified
FROM `user` u
LEFT JOIN (
  SELECT st.username, ARRAY_AGG(ROW(st.repo_name, r.description)) AS starred_repos
  FROM star st LEFT JOIN repo r ON r.owner = st.repo_owner AND r.name = st.repo_name
  GROUP BY st.username
) s ON s.username = u.username
LEFT JOIN (
  SELECT author, ARRAY_AGG(ROW(repo, `index`, title, created_at, status)) AS pull_requests
  FROM pull_request GROUP BY author
) p ON p.author = u.username
LEFT JOIN payment_info i ON i.user_id = u.id
"""
PRINTED = f"""
SELECT email, JSON_OBJECT(
  'email' VALUE email, 'username' VALUE username,
  'starred_repos' VALUE CAST(starred_repos AS STRING),
  'pull_requests' VALUE CAST(pull_requests AS STRING), 'payment_verified' VALUE payment_verified)
FROM ({PROFILE})
"""


def settings(backend: str, checkpoints: Path) -> dict[str, str]:
    """Return Flink's settings: two slots, mini-batches, incremental checkpoints."""
    return {
        "parallelism.default": "2",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "2 s",
        "table.exec.mini-batch.size": "20000",
        "table.optimizer.agg-phase-strategy": "TWO_PHASE",
        "table.exec.source.idle-timeout": "1 s",
        "state.backend.type": backend,
        "execution.checkpointing.interval": "30 s",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": checkpoints.absolute().as_uri(),
        "taskmanager.memory.managed.size": "2g",
        "taskmanager.numberOfTaskSlots": "2",
    }


def environment(backend: str, checkpoints: Path, extra: list[str]) -> TableEnvironment:
    """Open a local Flink."""
    configuration = Configuration()
    for name, value in settings(backend, checkpoints).items():
        configuration.set_string(name, value)
    for each in extra:
        configuration.set_string(*each.split("=", 1))
    return TableEnvironment.create(
        EnvironmentSettings.new_instance()
        .in_streaming_mode()
        .with_configuration(configuration)
        .build()
    )


def main() -> None:
    """Read the change files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    parser.add_argument("--print", action="store_true", help="print the changelog of documents")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--explain", action="store_true")
    chosen = parser.parse_args()
    tables = environment(chosen.backend, chosen.work / "checkpoints", chosen.set)
    for name, (topic, columns) in TABLES.items():
        folder = (chosen.input / topic).absolute().as_uri()
        tables.execute_sql(
            f"CREATE TABLE `{name}` ({columns}) WITH ('connector' = 'filesystem',"
            f" 'path' = '{folder}', 'format' = 'debezium-json')"
        )
    columns, connector = (PRINTED_COLUMNS, "print") if chosen.print else (SINK_COLUMNS, "blackhole")
    tables.execute_sql(f"CREATE TABLE documents ({columns}) WITH ('connector' = '{connector}')")
    statement = f"INSERT INTO documents {PRINTED if chosen.print else PROFILE}"
    if chosen.explain:
        print(tables.explain_sql(statement))
        return
    started = float(os.environ.get("BENCH_STARTED", time.time()))
    tables.execute_sql(statement).wait()
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


if __name__ == "__main__":
    main()
