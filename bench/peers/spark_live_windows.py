"""Counts by user and minute in Spark's own real-time mode, in the environment of this checkout.

It is what `latency_windows.yaml` declares, for `bench.kafka.latency --windows 1000 --mode spark`. A
count is sent with each view that it gains (`update`).
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from joinery.spark.jar import kafka_jars
from joinery.spark.real_time.run import real_time_settings

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
ROW = "id long, user long, at timestamp, note string"


def session() -> SparkSession:
    """Open a session with the settings that a run in real time has."""
    jars = ",".join(map(str, kafka_jars()))
    builder = SparkSession.builder.config("spark.jars", jars)
    for name, value in real_time_settings(master_given=False).items():
        builder = builder.config(name, value)
    return (
        builder.config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .getOrCreate()
    )


def main() -> None:
    """Run until a signal."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--interval", required=True)
    chosen = parser.parse_args()
    records = (
        session()
        .readStream.format("kafka")
        .option("kafka.bootstrap.servers", chosen.bootstrap)
        .option("subscribe", "view")
        .option("startingOffsets", "earliest")
        .load()
    )
    row = records.select(f.from_json(f.col("value").cast("string"), ROW).alias("r")).select("r.*")
    counted = row.groupBy("user", f.window("at", "1 minute").alias("w")).agg(
        f.count("*").alias("views"), f.max("note").alias("last")
    )
    key = f.to_json(f.struct("user", f.col("w.start").alias("window_start")))
    value = f.to_json(f.struct("user", "w.start", "w.end", "views", "last"))
    query = (
        counted.select(key.alias("key"), value.alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", chosen.bootstrap)
        .option("topic", "visits")
        .option("checkpointLocation", chosen.checkpoint)
        .outputMode("update")
        .trigger(realTime=chosen.interval)
        .start()
    )
    print('"live": true', flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main()
