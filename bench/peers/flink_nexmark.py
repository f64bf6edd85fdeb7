"""A query of Nexmark in Flink SQL, with the settings of `flink_profile.py`.

Its source reads files side by side, and a window drops what comes late, so its watermarks wait for
a day. Runs in the environment of `requirements-flink.txt`. The sink swallows the rows when time is
taken, and prints them when the result is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from flink_profile import environment
from py4j.protocol import Py4JJavaError
from pyflink.util.exceptions import TableException

TABLES = {
    "person": "id BIGINT, name STRING, email STRING, card STRING, city STRING, state STRING,"
    " joined_at TIMESTAMP_LTZ(3), extra STRING,"
    " WATERMARK FOR joined_at AS joined_at - INTERVAL '1' DAY",
    "auction": "id BIGINT, item STRING, description STRING, initial_bid BIGINT, reserve BIGINT,"
    " opened_at TIMESTAMP_LTZ(3), expires_at TIMESTAMP_LTZ(3), seller BIGINT, category BIGINT,"
    " extra STRING, WATERMARK FOR opened_at AS opened_at - INTERVAL '1' DAY",
    "bid": "id BIGINT, auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,"
    " placed_at TIMESTAMP_LTZ(3), extra STRING,"
    " WATERMARK FOR placed_at AS placed_at - INTERVAL '1' DAY",
    "side": "id BIGINT, label STRING",
}


def main() -> None:
    """Read the files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sql", type=Path, required=True, help="the file with the query")
    parser.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    parser.add_argument("--print", action="store_true", help="print the rows as they change")
    chosen = parser.parse_args()
    settings = ["table.local-time-zone=UTC", "table.optimizer.distinct-agg.split.enabled=true"]
    tables = environment(chosen.backend, chosen.work / "checkpoints", settings)
    for name, columns in TABLES.items():
        path = (chosen.input / name).absolute().as_uri()
        tables.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}',"
            " 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601')"
        )
    connector = "print" if chosen.print else "blackhole"
    query = chosen.sql.read_text(encoding="utf-8")
    started = float(os.environ.get("BENCH_STARTED", time.time()))
    try:
        statement = f"CREATE TABLE answer WITH ('connector' = '{connector}') AS {query}"
        tables.execute_sql(statement).wait()
    except (TableException, Py4JJavaError) as error:
        sys.exit(f"refused: {error}")
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


if __name__ == "__main__":
    main()
