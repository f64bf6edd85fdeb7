"""A query of Nexmark in Spark's own Structured Streaming, in the environment of this checkout.

Rows are sent once where the query lets them (`append`), else after each batch that changed them
(`update`). The small table of q13 is read whole. A `foreachBatch` writes what a batch sent as JSON
lines.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from spark_groups import session

TABLES = {
    "person": "id long, name string, email string, card string, city string, state string,"
    " joined_at timestamp, extra string",
    "auction": "id long, item string, description string, initial_bid long, reserve long,"
    " opened_at timestamp, expires_at timestamp, seller long, category long, extra string",
    "bid": "id long, auction long, bidder long, price long, channel string, url string,"
    " placed_at timestamp, extra string",
}


def main() -> None:
    """Read the files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sql", type=Path, required=True, help="the file with the query")
    parser.add_argument("--mode", choices=("append", "update"), required=True)
    chosen = parser.parse_args()
    spark = session()
    for name, columns in TABLES.items():
        rows = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        rows.json(str(chosen.input / name)).createOrReplaceTempView(name)
    side = spark.read.schema("id long, label string").json(str(chosen.input / "side"))
    side.createOrReplaceTempView("side")

    def write(batch: DataFrame, number: int) -> None:
        batch.write.option("ignoreNullFields", "false").json(
            str(chosen.work / "answer" / f"{number:06d}")
        )

    started = float(os.environ.get("BENCH_STARTED", time.time()))
    try:
        (
            spark.sql(chosen.sql.read_text(encoding="utf-8"))
            .writeStream.outputMode(chosen.mode)
            .option("checkpointLocation", str(chosen.work / "checkpoint"))
            .trigger(availableNow=True)
            .foreachBatch(write)
            .start()
            .awaitTermination()
        )
    except AnalysisException as error:
        sys.exit(f"refused: {error.getCondition()}: {error}")
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


if __name__ == "__main__":
    main()
