"""Events enriched from PostgreSQL by Flink SQL's lookup join, with its cache on.

Runs in the environment of `requirements-flink.txt`, never in Joinery's. The sink swallows
the events.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

SETTINGS = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "execution.checkpointing.interval": "30 s",
}
ORDERS = """
CREATE TABLE orders (order_id BIGINT, customer_id BIGINT, passed AS PROCTIME())
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')
"""
CUSTOMERS = """
CREATE TABLE customers (id BIGINT, name STRING, tier STRING, PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'jdbc', 'url' = '{url}', 'table-name' = 'customers',
  'username' = '{user}', 'password' = 'trust',
  'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '200000',
  'lookup.partial-cache.expire-after-write' = '10 min')
"""
ENRICHED = """
CREATE TABLE enriched (order_id BIGINT, customer_id BIGINT, name STRING, tier STRING)
WITH ('connector' = 'blackhole')
"""
JOIN = """
INSERT INTO enriched SELECT o.order_id, o.customer_id, c.name, c.tier
FROM orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF o.passed AS c ON c.id = o.customer_id
"""


def main() -> None:
    """Read the events to their end, once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--url", required=True, help="jdbc:postgresql://host:port/database")
    parser.add_argument("--user", required=True)
    parser.add_argument("--jars", nargs="+", type=Path, required=True)
    chosen = parser.parse_args()
    configuration = Configuration()
    for name, value in SETTINGS.items():
        configuration.set_string(name, value)
    jars = ";".join(each.absolute().as_uri() for each in chosen.jars)
    configuration.set_string("pipeline.jars", jars)
    tables = TableEnvironment.create(
        EnvironmentSettings.new_instance()
        .in_streaming_mode()
        .with_configuration(configuration)
        .build()
    )
    tables.execute_sql(ORDERS.format(path=chosen.input.absolute().as_uri()))
    tables.execute_sql(CUSTOMERS.format(url=chosen.url, user=chosen.user))
    tables.execute_sql(ENRICHED)
    started = float(os.environ.get("BENCH_STARTED", time.time()))
    tables.execute_sql(JOIN).wait()
    print(json.dumps({"seconds": round(time.time() - started, 3)}), flush=True)


if __name__ == "__main__":
    main()
