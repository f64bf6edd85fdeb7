"""Products of the fleet in Flink SQL, as one job or as a job each.

Tables and queries come in a file, made by `bench/fleet/flink_sql.py`. Runs in the environment of
`requirements-flink.txt`. The sinks swallow the documents when time is taken, and print them when
they are compared or waited for.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from flink_profile import environment
from pyflink.table import Table

SETTINGS = [
    # Records that come twice are dropped by the key.
    "table.exec.source.cdc-events-duplicate=true",
    "execution.checkpointing.externalized-checkpoint-retention=RETAIN_ON_CANCELLATION",
    # Hundreds of exchanges need more buffers than the default has.
    "taskmanager.memory.network.min=1g",
    "taskmanager.memory.network.max=1g",
]


def main() -> None:
    """Read the files to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True, help="a file of tables and queries")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    parser.add_argument("--print", action="store_true", help="print the documents as they change")
    parser.add_argument("--jobs", choices=("one", "each"), default="one")
    parser.add_argument("--restore", help="a checkpoint to begin from")
    parser.add_argument("--set", action="append", default=[])
    chosen = parser.parse_args()
    told = json.loads(chosen.input.read_text(encoding="utf-8"))
    settings = [*SETTINGS, *chosen.set]
    if chosen.jobs == "each":
        settings.append(f"taskmanager.numberOfTaskSlots={2 * len(told['queries'])}")
    if chosen.restore:
        settings.append(f"execution.state-recovery.path={chosen.restore}")
    tables = environment(chosen.backend, chosen.work / "checkpoints", settings)
    for each in told["tables"]:
        tables.execute_sql(each)
    started = float(os.environ.get("BENCH_STARTED", time.time()))
    inserts = []
    for name, query in told["queries"].items():
        view = tables.sql_query(query)
        tables.create_temporary_view(f"documents_of_{name}", view)
        kind = "k STRING, document STRING" if chosen.print else f"k STRING, {_object(view)}"
        connector = f"'print', 'print-identifier' = '{name}'" if chosen.print else "'blackhole'"
        tables.execute_sql(f"CREATE TABLE sink_{name} ({kind}) WITH ('connector' = {connector})")
        shown = "CAST(obj AS STRING)" if chosen.print else "obj"
        inserts.append(f"INSERT INTO sink_{name} SELECT k, {shown} FROM documents_of_{name}")
    if chosen.jobs == "one":
        statements = tables.create_statement_set()
        for each in inserts:
            statements.add_insert_sql(each)
        statements.execute().wait()
    else:
        for job in [tables.execute_sql(each) for each in inserts]:
            job.wait()
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


def _object(view: Table) -> str:
    """Return the declaration of a view's column `obj`."""
    of_java = view._j_table.getResolvedSchema().getColumn("obj").get().getDataType()
    return f"obj {of_java.getLogicalType().asSerializableString()}"


if __name__ == "__main__":
    main()
