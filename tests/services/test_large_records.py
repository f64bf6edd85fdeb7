"""A topic whose records take many mebibytes each, read with a small heap."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from tests.services.command import joinery_run
from tests.services.log import Log

from joinery.dev.service import Service
from joinery.sinks.line import read_rows

pytestmark = [pytest.mark.services, pytest.mark.slow]

MIB = 1 << 20
PROJECT = """\
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
relations: {{page: {{topic: {topic}, key: [id], fields: {{id: long}}}}}}
products: {{page: {{root: page, sink: {{files: {{path: out}}}}}}}}
run: {{{run}}}
"""


def declare(folder: Path, kafka: Service, run: str) -> str:
    """Write a project, and return its topic."""
    topic = f"t{uuid.uuid4().hex[:8]}"
    text = PROJECT.format(bootstrap=kafka.address, topic=topic, run=run)
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return topic


def documents(folder: Path) -> set[int]:
    """Return the ids of all documents."""
    rows = read_rows(sorted((folder / "out/page").glob("*.jsonl")))
    return {json.loads(row.key)["id"] for row in rows}


def page(number: int, size: int) -> str:
    """Return a row that takes so many bytes."""
    row = json.dumps({"id": number, "text": ""})
    return row.replace('""', '"' + "x" * (size - len(row)) + '"')


def test_records_of_8_mib_come_in_batches_that_a_small_heap_holds(
    kafka: Service, tmp_path: Path
) -> None:
    topic = declare(tmp_path, kafka, "spark: {spark.driver.memory: 800m}")
    large = {"message.max.bytes": str(16 * MIB), "compression.type": "lz4"}
    log = Log(kafka.address, large)
    log.create(topic, settings={"max.message.bytes": str(16 * MIB)})
    for number in range(300):
        log.put(topic, page(number, 8 * MIB))
    log.put(topic, page(300, 8 * MIB + 1))

    with joinery_run(tmp_path, "--once") as run:
        code, errors = run.ended()

    batches = [each["rows"] for each in run.told("batch")]
    assert 0 == code
    assert errors.startswith("dead letters are in")
    assert 1 == errors.count("\n"), errors
    assert set(range(300)) == documents(tmp_path)
    assert 1 == sum(each["dead"] for each in run.told("batch"))
    # The sizes of the first ones are not known; then memory counts.
    assert 250 == batches[0]
    assert batches[1] < 51, batches
