"""Groups and windows in Spark's own Structured Streaming, in the environment of this checkout.

Windows are sent after each batch that changed them (`update`); sessions once they are over, since
Spark sends them in no other mode. A `foreachBatch` writes what a batch sent as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
WINDOWS = {
    "tumbling": ("1 hour", "1 hour"),
    "hopping": ("1 hour", "1 minute"),
}


def session() -> SparkSession:
    """Open a session on two cores."""
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .getOrCreate()
    )


def grouped(rows: DataFrame, kind: str) -> DataFrame:
    """Return the groups: card (but for distinct), start, and two numbers."""
    totals: tuple[Column, ...] = (f.count("*").alias("n"), f.sum("amount").alias("total"))
    if kind == "session":
        late = rows.withWatermark("at", "2 minutes")
        made = late.groupBy("card", f.session_window("at", "30 minutes").alias("w")).agg(*totals)
    else:
        made = rows.groupBy("card", f.window("at", *WINDOWS[kind]).alias("w")).agg(*totals)
    return made.select("card", f.col("w.start").alias("start"), "n", "total")


def main() -> None:
    """Read the files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--kind", choices=[*WINDOWS, "session"], required=True)
    chosen = parser.parse_args()
    rows = (
        session()
        .readStream.schema("card long, at timestamp, amount long")
        .option("maxFilesPerTrigger", 1)
        .json(str(chosen.input / "payment"))
    )

    def write(batch: DataFrame, number: int) -> None:
        batch.write.json(str(chosen.work / "totals" / f"{number:06d}"))

    started = float(os.environ.get("BENCH_STARTED", time.time()))
    (
        grouped(rows, chosen.kind)
        .writeStream.outputMode("append" if chosen.kind == "session" else "update")
        .option("checkpointLocation", str(chosen.work / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
        .awaitTermination()
    )
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


if __name__ == "__main__":
    main()
