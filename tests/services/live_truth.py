"""What the products of a project must hold after changes, by the reference, and where they go."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.services.live_run import Topic, live_run
from tests.services.log import Log

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.relation import Relation
from joinery.project.kind import SinkSpec
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.semantics.read_change import change_line
from joinery.testing.changes import RowChange
from joinery.testing.conformance.runner import ReferenceRunner
from joinery.testing.conformance.suite import parse

Documents = dict[str, dict[str, Any]]
"""The values of the documents that stand, by product and by the text of their keys."""


class LiveTruth:
    """The topics of a project: what goes into them, and what must come out.

    Args:
        folder: Of the project file. Its relations have topics of one partition each.
    """

    def __init__(self, folder: Path, log: Log) -> None:
        self._spec = load_spec(folder / "joinery.yaml")
        self._log = log
        products = build_plan(self._spec).products
        self._relations = {each.name: each for one in products for each in one.relations}
        self._changes: list[Change] = []
        self._stands: tuple[int, Documents] = 0, {}
        self.topics = {
            each.name: Topic(log.bootstrap, sink_topic(each.sinks)) for each in self._spec.products
        }
        for relation in self._relations.values():
            log.create(relation.topic)

    @classmethod
    def of(cls, folder: Path, project: str, kafka: str) -> LiveTruth:
        """Write a project file whose topics are its own.

        Args:
            folder: Where it is written.
            project: Its text, with `{bootstrap}`, and `{at}` before the names of topics.
            kafka: The address of a broker.
        """
        log = Log(kafka, {})
        text = project.format(bootstrap=log.bootstrap, at=f"rt-{uuid.uuid4().hex[:8]}")
        (folder / "joinery.yaml").write_text(text, encoding="utf-8")
        return cls(folder, log)

    def put(self, *changes: RowChange) -> None:
        """Append changes to their topics."""
        told = [each.change(self._relations[each.relation]) for each in changes]
        self._changes += told
        self._log.put_all(record(each, self._relations[each.relation]) for each in told)

    def expected(self) -> Documents:
        """Return what stands after all changes, worked out once for so many."""
        if self._stands[0] != len(self._changes):
            self._stands = len(self._changes), ends(self._spec, [self._changes])
        return self._stands[1]

    def settled(self) -> bool:
        """Return whether the newest versions are what is expected."""
        return settled(self.topics, self.expected())

    def missing(self) -> str:
        """Return the documents that are not as they should be."""
        return missing(self.topics, self.expected())

    def count(self) -> int:
        """Return how many records were sent."""
        return sum(len(each.read()) for each in self.topics.values())

    def has_sent(self, count: int) -> bool:
        """Return whether at least as many records were sent."""
        return self.count() >= count

    def check_versions(self) -> None:
        """Require that the version of each key rises from record to record."""
        for each in self.topics.values():
            each.check_versions()


def ends(project: ProjectSpec, batches: Iterable[Sequence[Change]]) -> Documents:
    """Return the documents that stand after some batches."""
    standing: Documents = {each.name: {} for each in project.products}
    for sent in ReferenceRunner().run(project, list(batches)):
        for product, lines in sent.lines.items():
            for line in lines:
                parts = parse(line)
                key = json.dumps(parts["key"], ensure_ascii=False, separators=(",", ":"))
                standing[product].pop(key, None)
                if parts["value"] is not None:
                    standing[product][key] = json.loads(line)["value"]
    return standing


def settled(topics: dict[str, Topic], expected: Documents) -> bool:
    """Return whether the newest versions in topics are the documents expected."""
    return {name: each.newest() for name, each in topics.items()} == expected


def missing(topics: dict[str, Topic], expected: Documents) -> str:
    """Return the documents that are not as they should be, as they are and as expected."""
    wrong = [
        f"{name} {key}: {stands.get(key)} instead of {wanted.get(key)}"
        for name, wanted in expected.items()
        for stands in [topics[name].newest()]
        for key in {*wanted, *stands}
        if stands.get(key) != wanted.get(key)
    ]
    return "\n".join(wrong)


def sink_topic(sinks: Sequence[SinkSpec]) -> str:
    """Return where the one sink of a product writes."""
    return str(dict(sinks[0].options)["topic"])


def record(change: Change, relation: Relation) -> tuple[str, Any, Any]:
    """Return a change as the topic, key and value of a record."""
    line = json.loads(change_line(change, relation))
    if set(line) == {"key", "value"}:
        return relation.topic, line["key"], line["value"]
    return relation.topic, dict(change.key), line


def follow(
    truth: LiveTruth, folder: Path, some: Callable[[int], Iterable[RowChange]], *, backlog: int
) -> None:
    """Keep a project in real time while changes come, few and many at once.

    Args:
        truth: Its topics.
        folder: Of the project file.
        some: Makes as many changes as it is asked for.
        backlog: How many there are before the start.
    """
    truth.put(*some(backlog))
    with live_run(folder, "--real-time") as run:
        run.until(run.is_live, "real time")
        for _ in range(20):
            truth.put(*some(2))
        run.until(truth.settled, truth.missing)
        truth.put(*some(120))
        run.until(truth.settled, truth.missing)
        assert 0 == run.stop(), run.said()
    truth.check_versions()


def follow_through_kills(
    truth: LiveTruth,
    folder: Path,
    some: Callable[[int], Iterable[RowChange]],
    *,
    backlog: int,
    kills: int,
) -> None:
    """Keep a project in real time, killed in the midst of changes and started again.

    Args:
        truth: Its topics.
        folder: Of the project file.
        some: Makes as many changes as it is asked for.
        backlog: How many there are before the first start.
        kills: How often it is killed.
    """
    truth.put(*some(backlog))
    for _ in range(kills):
        with live_run(folder, "--real-time") as run:
            run.until(run.is_live, "real time")
            for _ in range(20):
                truth.put(*some(2))
            run.until(truth.settled, truth.missing)
            enough = truth.count() + 10
            truth.put(*some(60))
            run.until(partial(truth.has_sent, enough), "some documents")
            run.kill()
        truth.put(*some(5))
    with live_run(folder, "--real-time") as run:
        run.until(run.is_live, "real time")
        truth.put(*some(60))
        run.until(truth.settled, truth.missing)
        assert 0 == run.stop(), run.said()
    truth.check_versions()
