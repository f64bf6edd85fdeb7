"""An interval join with none-answers in Spark's own Structured Streaming, by an outer join.

It answers "none" once its watermark has passed, and its last batch leaves some of them out, since
nothing ends its logs; so an event of much later is added to each. A `foreachBatch` writes the pairs
as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from spark_groups import session

LAST = '{"id":-1,"about":-1,"kind":"x","at":"2026-02-01T00:00:00.000Z"}\n'


def main() -> None:
    """Read the files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    chosen = parser.parse_args()
    spark = session()
    started = float(os.environ.get("BENCH_STARTED", time.time()))

    def read(name: str) -> DataFrame:
        folder = chosen.work / "input" / name
        shutil.copytree(chosen.input / name, folder, copy_function=os.link)
        (folder / "9999.jsonl").write_text(LAST, encoding="utf-8")
        return (
            spark.readStream.schema("id long, about long, kind string, at timestamp")
            .option("maxFilesPerTrigger", 1)
            .json(str(folder))
            .withWatermark("at", "1 minute")
        )

    searches, clicks = read("search").alias("s"), read("click").alias("c")
    near = f.expr("c.about = s.id and c.at between s.at and s.at + interval 30 minutes")
    pairs = searches.join(clicks, near, "left_outer").selectExpr("s.id", "c.id as click")

    def write(batch: DataFrame, number: int) -> None:
        batch.where("id >= 0").write.json(str(chosen.work / "pairs" / f"{number:06d}"))

    (
        pairs.writeStream.option("checkpointLocation", str(chosen.work / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
        .awaitTermination()
    )
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


if __name__ == "__main__":
    main()
