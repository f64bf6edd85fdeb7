"""What a run of ten groups costs while nothing comes: `python -m bench.fleet.idle [--kafka]`.

Each group is one small product of its own, over the same two relations. Both are read and sent
first; then, once compilers are through, the processor time of the run's processes is told.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer

from bench.fleet.run import IDLE_AFTER_S, JOINERY, Live
from joinery.dev.kafka import kafka

ROWS = 100


def project(source: dict[str, Any], groups: int) -> dict[str, Any]:
    """Return the project file."""
    stars = {"many": "star", "on": {"user_id": "id"}, "fields": ["id"]}
    return {
        "name": "idle",
        "sources": {"changes": source},
        "defaults": {"source": "changes", "format": "json"},
        "relations": {
            "user": {"key": ["id"], "fields": {"id": "long", "name": "string"}},
            "star": {"key": ["id"], "fields": {"id": "long", "user_id": "long"}},
        },
        "products": {
            f"p{group}": {
                "root": "user",
                "fields": ["id", "name"],
                "group": f"g{group}",
                "embed": {"stars": stars},
                "sink": {"files": {"path": f"out{group}"}},
            }
            for group in range(groups)
        },
    }


def lines(relation: str) -> list[str]:
    """Return the rows of a relation."""
    other = '"name": "n' if relation == "user" else '"user_id": '
    end = '"}' if relation == "user" else "}"
    return [f'{{"id": {row}, {other}{row}{end}' for row in range(ROWS)]


def write_files(folder: Path) -> dict[str, Any]:
    """Write the rows as change files; return their source."""
    for relation in ("user", "star"):
        data = folder / "data" / relation
        data.mkdir(parents=True)
        (data / "1.jsonl").write_text("".join(f"{each}\n" for each in lines(relation)))
    return {"files": {"path": "data"}}


def write_topics(bootstrap: str) -> dict[str, Any]:
    """Write the rows into topics; return their source."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for relation in ("user", "star"):
        for row, line in enumerate(lines(relation)):
            producer.produce(relation, key=f'{{"id":{row}}}', value=line)
    producer.flush()
    return {"kafka": {"bootstrap": bootstrap}}


def main() -> None:
    """Measure, and tell it."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.idle", description=__doc__)
    parser.add_argument("--kafka", action="store_true", help="topics instead of change files")
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=120)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if chosen.kafka:
            broker = stack.enter_context(kafka(folder / "kafka").started())
            source = write_topics(broker.address)
        else:
            source = write_files(folder)
        file = folder / "joinery.yaml"
        file.write_text(yaml.safe_dump(project(source, chosen.groups), sort_keys=False))
        live = stack.enter_context(Live([str(JOINERY), "run", str(file)], folder))
        live.until("caught up")
        time.sleep(IDLE_AFTER_S)
        before, begun = live.cpu_s(), time.monotonic()
        time.sleep(chosen.seconds)
        cores = (live.cpu_s() - before) / (time.monotonic() - begun)
    print(
        f"{chosen.groups} groups, {'Kafka' if chosen.kafka else 'change files'}: {cores:.3f} cores"
        f" over {chosen.seconds:.0f} s, load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
