"""Groups and windows in Flink SQL: mini-batches, its best SQL for each.

Tumbling windows and distinct counts are unbounded aggregates over the hour, which send a group as
it changes; hopping windows and sessions are window functions, which send each once, when it is
over. Its source reads files side by side, and a window drops what comes late, so its watermark
waits for a day. Runs in the environment of `requirements-flink.txt`. The sink swallows the groups
when time is taken, and prints them when the result is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from flink_profile import environment

SOURCE = """
CREATE TABLE payment (card BIGINT, `at` TIMESTAMP_LTZ(3), amount BIGINT,
  WATERMARK FOR `at` AS `at` - INTERVAL '1' DAY)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json',
  'json.timestamp-format.standard' = 'ISO-8601')
"""
TOTALS = "COUNT(*) AS n, SUM(amount) AS total"
HOUR = "FLOOR(`at` TO HOUR)"
QUERIES = {
    "tumbling": f"SELECT card, CAST({HOUR} AS STRING), {TOTALS} FROM payment GROUP BY card, {HOUR}",
    "hopping": f"SELECT card, CAST(window_start AS STRING), {TOTALS} FROM TABLE(HOP(TABLE payment,"
    " DESCRIPTOR(`at`), INTERVAL '1' MINUTE, INTERVAL '1' HOUR))"
    " GROUP BY card, window_start, window_end",
    "session": f"SELECT card, CAST(window_start AS STRING), {TOTALS} FROM TABLE(SESSION("
    "TABLE payment PARTITION BY card, DESCRIPTOR(`at`), INTERVAL '30' MINUTE))"
    " GROUP BY card, window_start, window_end",
    "distinct": f"SELECT CAST(0 AS BIGINT), CAST({HOUR} AS STRING), COUNT(*) AS n,"
    f" COUNT(DISTINCT card) AS total FROM payment GROUP BY {HOUR}",
}


def main() -> None:
    """Read the files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--kind", choices=QUERIES, required=True)
    parser.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    parser.add_argument("--print", action="store_true", help="print the groups as they change")
    chosen = parser.parse_args()
    settings = ["table.local-time-zone=UTC", "table.optimizer.distinct-agg.split.enabled=true"]
    tables = environment(chosen.backend, chosen.work / "checkpoints", settings)
    path = (chosen.input / "payment").absolute().as_uri()
    tables.execute_sql(SOURCE.format(path=path))
    connector = "print" if chosen.print else "blackhole"
    columns = "card BIGINT, began STRING, n BIGINT, total BIGINT"
    tables.execute_sql(f"CREATE TABLE totals ({columns}) WITH ('connector' = '{connector}')")
    started = float(os.environ.get("BENCH_STARTED", time.time()))
    tables.execute_sql(f"INSERT INTO totals {QUERIES[chosen.kind]}").wait()
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


if __name__ == "__main__":
    main()
