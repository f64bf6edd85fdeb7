"""Many patterns as MATCH_RECOGNIZE over one table, in one job.

Runs in the environment of `requirements-flink.txt`. Each match is printed with the number of its
query. A query that Flink refuses is told with its reason, and left out of the job.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from flink_profile import environment

EVENTS = """
CREATE TABLE e (who BIGINT, id BIGINT, mask BIGINT, kind STRING, x BIGINT, `at` TIMESTAMP_LTZ(3),
  WATERMARK FOR `at` AS `at` - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json',
  'json.timestamp-format.standard' = 'ISO-8601')
"""
MATCHES = """
CREATE TABLE found (pattern_number BIGINT, who BIGINT, a BIGINT, b BIGINT, c BIGINT, d BIGINT)
WITH ('connector' = 'print')
"""


def main() -> None:
    """Read the rows to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    chosen = parser.parse_args()
    settings = ["table.local-time-zone=UTC", "parallelism.default=1"]
    tables = environment("hashmap", chosen.work / "checkpoints", settings)
    tables.execute_sql(EVENTS.format(path=chosen.input.absolute().as_uri()))
    tables.execute_sql(MATCHES)
    job = tables.create_statement_set()
    refused: dict[int, str] = {}
    queries = json.loads(chosen.queries.read_text(encoding="utf-8"))
    for number, query in enumerate(queries):
        insert = f"INSERT INTO found SELECT CAST({number} AS BIGINT), * FROM ({query})"
        try:
            tables.explain_sql(insert)
        except Exception as problem:  # Py4J tells all of Java's problems as one kind.
            reasons = [line for line in str(problem).splitlines() if "Exception: " in line]
            refused[number] = (reasons or [str(problem)])[-1]
        else:
            job.add_insert_sql(insert)
    job.execute().wait()
    print(json.dumps({"refused": refused}), flush=True)


if __name__ == "__main__":
    main()
