"""Forms in Flink SQL: interval join, MATCH_RECOGNIZE, a join with Top-N, a temporal join.

Each log is one file, since its source reads several in no order and queries over time drop what
comes late; so its watermark can be as ours is. Runs in the environment of
`requirements-flink.txt`. The sink swallows the answers when time is taken, and prints them when the
result is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from flink_profile import environment

AT = "`at` TIMESTAMP_LTZ(3), WATERMARK FOR `at` AS `at` - INTERVAL '1' MINUTE"
EVENT = f"id BIGINT, about BIGINT, kind STRING, {AT}"
COLUMNS = {
    "search": EVENT,
    "click": EVENT,
    "event": EVENT,
    "user": "id BIGINT",
    "follow": "id BIGINT, follower_id BIGINT, followee_id BIGINT",
    "post": "id BIGINT, author_id BIGINT",
    "sale": f"id BIGINT, currency BIGINT, {AT}",
    "rate": f"currency BIGINT, `percent` BIGINT, PRIMARY KEY (currency) NOT ENFORCED, {AT}",
}
SOURCE = """
CREATE TABLE `{name}` ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}',
  'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601')
"""
MATCHED = """
SELECT began, ended FROM event MATCH_RECOGNIZE (
  PARTITION BY about ORDER BY `at` MEASURES A.id AS began, C.id AS ended ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}){within}
  DEFINE A AS A.kind = 'a', B AS B.kind = 'b', C AS C.kind = 'c')
"""
QUERIES = {
    "interval": "SELECT s.id, c.id FROM `search` s LEFT JOIN click c ON c.about = s.id"
    " AND c.`at` BETWEEN s.`at` AND s.`at` + INTERVAL '30' MINUTE",
    "strict": MATCHED.format(pattern="A B C", within=""),
    "relaxed": MATCHED.format(
        pattern="A X*? B Y*? C",
        # Its interval leaves out the end that ours has.
        within=" WITHIN INTERVAL '600.001' SECOND(3, 3)",
    ),
    "kleene": MATCHED.format(pattern="A B+ C", within=""),
    "timeline": "SELECT follower, post FROM (SELECT f.follower_id AS follower, p.id AS post,"
    " ROW_NUMBER() OVER (PARTITION BY f.follower_id ORDER BY p.id DESC) AS n"
    " FROM follow f JOIN post p ON p.author_id = f.followee_id) WHERE n <= 8",
    "temporal": "SELECT s.id, r.`percent` FROM sale s LEFT JOIN rate FOR SYSTEM_TIME AS OF s.`at`"
    " AS r ON r.currency = s.currency",
}


def main() -> None:
    """Read the files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--kind", choices=QUERIES, required=True)
    parser.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    parser.add_argument("--print", action="store_true", help="print the answers")
    chosen = parser.parse_args()
    settings = ["table.local-time-zone=UTC"]
    tables = environment(chosen.backend, chosen.work / "checkpoints", settings)
    for folder in sorted(each for each in chosen.input.iterdir() if each.is_dir()):
        path, columns = folder.absolute().as_uri(), COLUMNS[folder.name]
        tables.execute_sql(SOURCE.format(name=folder.name, columns=columns, path=path))
    connector = "print" if chosen.print else "blackhole"
    columns = "began BIGINT, ended BIGINT"
    tables.execute_sql(f"CREATE TABLE answers ({columns}) WITH ('connector' = '{connector}')")
    started = float(os.environ.get("BENCH_STARTED", time.time()))
    tables.execute_sql(f"INSERT INTO answers {QUERIES[chosen.kind]}").wait()
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


if __name__ == "__main__":
    main()
