"""Documents from Kafka against their topics: what was put back, left out, and is gone."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.services.log import Log

import joinery as jn
from joinery.audit.error import DiffError
from joinery.dead_letters.replay_key import replay_key
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
name: shop
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}", starting: {{{topic}: {{0: 1}}}}}}}}}}
defaults: {{source: log, format: json}}
relations:
  customer: {{topic: {topic}, key: [id], fields: {{id: long, name: string}}}}
products:
  profile: {{root: customer, fields: [name], sink: {{files: {{path: out}}}}}}
"""


def test_documents_are_what_a_run_has_read_of_its_topics(
    kafka: Service, kafka_spark: SparkSession, tmp_path: Path
) -> None:
    topic, log = f"diff-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(topic)
    log.put(topic, {"id": 1, "name": "before"}, {"id": "x"}, {"id": 2, "name": "Bo"})
    (tmp_path / "joinery.yaml").write_text(
        PROJECT.format(bootstrap=log.bootstrap, topic=topic), encoding="utf-8"
    )
    project = jn.load(tmp_path)
    jn.run(kafka_spark, project, once=True).await_termination()
    begun = jn.diff(project)
    log.create(f"{topic}.joinery-replay")
    log.put(f"{topic}.joinery-replay", {"id": 3, "name": "Cy"}, key=replay_key(0, 1, None))
    log.put(f"{topic}.joinery-replay", {"id": 4, "name": "Di"}, key=replay_key(0, 0, None))
    jn.run(kafka_spark, project, once=True).await_termination()

    again, why = jn.diff(project), jn.why(project, "profile", 3)
    log.cut(topic, 2)

    assert [(1, ()), (3, ())] == [
        (part.compared, (*part.differences, *part.unsettled))
        for report in (begun, again)
        for part in report.parts
    ]
    assert ([f"{topic}/0/1"], {}) == ([each.place for each in why.parts], why.gone)
    with pytest.raises(DiffError) as refused:
        jn.diff(project)
    assert f"They lack offsets 1 to 1 of {topic}/0 of customer." == refused.value.detail
    assert {"customer": f"offsets 1 to 1 of {topic}/0"} == jn.why(project, "profile", 2).gone


def test_documents_in_a_topic_are_compared_and_repaired(
    kafka: Service, kafka_spark: SparkSession, tmp_path: Path
) -> None:
    topic, log = f"diff-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(topic)
    log.put(topic, *({"id": number, "name": f"n{number}"} for number in range(5)))
    text = PROJECT.format(bootstrap=log.bootstrap, topic=topic).replace(": {0: 1}", ": {0: 0}")
    text = text.replace("files: {path: out}", f"kafka: {{topic: {topic}-profile}}")
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    project = jn.load(tmp_path)
    jn.run(kafka_spark, project, once=True).await_termination()

    [well] = jn.diff(project).parts
    log.put(f"{topic}-profile", {"name": "Eve"}, key='{"id":1}')
    log.put(f"{topic}-profile", None, key='{"id":2}')
    log.put(f"{topic}-profile", {"name": "Eve"}, key='{"id":99}')
    [wrong] = jn.diff(project).parts
    [repaired] = jn.diff(project, repair=True).parts
    [settled] = jn.diff(project).parts

    assert (5, ()) == (well.compared, well.differences)
    assert {
        ('{"id":1}', "differs", "sink"),
        ('{"id":2}', "missing", "sink"),
        ('{"id":99}', "extra", "sink"),
    } == {(each.key.replace(" ", ""), each.kind, each.cause) for each in wrong.differences}
    assert (3, ()) == (repaired.repaired, repaired.differences)
    assert () == settled.differences
