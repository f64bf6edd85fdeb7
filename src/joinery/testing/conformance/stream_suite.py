"""The suite of streams: cases on a runner, each on its own or many in one run.

Invariant: objects are compared with the order of their names, numbers by value, versions by
rising for each key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from joinery.model.change import Change, Row
from joinery.model.type import Struct
from joinery.plan.build import build_plan
from joinery.plan.relation import Relation
from joinery.plan.stream import Stream, key_of
from joinery.project.kind import SinkSpec
from joinery.project.part import renamed
from joinery.project.product import ProjectSpec
from joinery.project.quantity import duration_ms
from joinery.project.stream import StreamSpec
from joinery.semantics.render import document_json
from joinery.semantics.stream_reference import StreamReference
from joinery.solutions.protocol import Emissions, Sent
from joinery.testing.conformance.joined import GROUP, prefixed_relation
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.stream_case import StreamCase, StreamStep
from joinery.testing.conformance.stream_cases import stream_cases
from joinery.testing.conformance.suite import ConformanceError, parse, versions_problem


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """The changes and events of one batch, and how long after the last one it comes."""

    changes: tuple[Change, ...]
    after_ms: int = 1000


class StreamRunner(Protocol):
    """Runs all streams of a project."""

    def run(self, project: ProjectSpec, batches: Sequence[StreamBatch]) -> Sequence[Sent]:
        """Run `project` from nothing, one batch after the other.

        Args:
            project: Its streams share one group; their sink is `files`.
            batches: Each must be processed as one.

        Returns:
            What each batch sent, as many entries as there are batches.
        """


class ReferenceStreamRunner:
    """Runs streams on the reference semantics; a store holds what its table's changes say."""

    def run(self, project: ProjectSpec, batches: Sequence[StreamBatch]) -> list[Sent]:
        """Run `project` from nothing, one batch after the other."""
        streams = build_plan(project).streams
        solution, time_us, sent = StreamReference(streams), 0, list[Sent]()
        for each in batches:
            time_us += each.after_ms * 1000
            sent.append(sent_of(solution.apply(each.changes, time_us), streams))
        return sent


def sent_of(emitted: Emissions, streams: Iterable[Stream]) -> Sent:
    """Return emissions as the lines of the files sink."""
    named = {each.name: each for each in streams}
    lines: dict[str, list[str]] = {}
    dead: dict[str, list[str]] = {}
    for each in emitted.documents:
        stream = named[each.product]
        key, value = document_json(each.key, stream.key), document_json(each.value, stream.output)
        line = f'{{"key":{key},"value":{value},"version":{each.version}}}'
        lines.setdefault(each.product, []).append(line)
    for letter in emitted.dead_letters:
        key = document_json(letter.key, _letter_key(named[letter.product], letter.key))
        dead.setdefault(letter.product, []).append(key)
    return Sent(lines, dead)


def _letter_key(stream: Stream, key: Row) -> Struct:
    """Return the type of an event's key in a dead letter: of the stream's log, or a joined one."""
    kinds = (stream.event_key, *map(key_of, stream.joined))
    return next(each for each in kinds if [e.name for e in each.fields] == list(key))


def check_streams(runner: StreamRunner, cases: Iterable[StreamCase] | None = None) -> None:
    """Run all cases and raise if one of them does not hold.

    Cases that leave the clock alone run together, as one project; each other one alone.

    Raises:
        ConformanceError: With every case that does not hold, and why.
    """
    chosen = tuple(stream_cases() if cases is None else cases)
    together = [each for each in chosen if not each.timed]
    problems = examine_streams(runner, together) if together else []
    for each in chosen:
        problems += examine_streams(runner, [each]) if each.timed else []
    failed = [f"{case.sentence}: {problem}" for case, problem in problems if problem]
    if failed:
        raise ConformanceError(f"{len(failed)} cases do not hold", detail="\n".join(failed))


def examine_streams(
    runner: StreamRunner, cases: Sequence[StreamCase]
) -> list[tuple[StreamCase, str]]:
    """Run `cases` as one project, and return what is wrong with each; empty where it holds."""
    prefixes = [f"c{number:03d}_" for number in range(len(cases))]
    specs = [prefixed(load_text(c.project), p) for c, p in zip(cases, prefixes, strict=True)]
    project = joined(specs)
    relations: dict[str, Relation] = {
        relation.name: relation
        for stream in build_plan(project).streams
        for relation in stream.named_relations
    }
    batches = [
        StreamBatch(
            tuple(
                told.change(relations[prefix + told.relation])
                for case, prefix in zip(cases, prefixes, strict=True)
                for told in (case.steps[number].changes if number < len(case.steps) else ())
            ),
            _after_ms(cases, number),
        )
        for number in range(max(len(each.steps) for each in cases))
    ]
    sent = runner.run(project, batches)
    return [
        (case, _problem(case, sent, spec.streams[-1].name, prefix))
        for case, spec, prefix in zip(cases, specs, prefixes, strict=True)
    ]


def _after_ms(cases: Sequence[StreamCase], number: int) -> int:
    waits = [each.steps[number].after for each in cases if number < len(each.steps)]
    return max(duration_ms(each) or 0 for each in waits)


def _problem(case: StreamCase, sent: Sequence[Sent], stream: str, prefix: str) -> str:
    """Return what is wrong with what a case's stream sent; empty where nothing is.

    A place begins with the name of its topic, which has the case's prefix.
    """
    empty = StreamStep(())
    steps = (*case.steps, *[empty] * (len(sent) - len(case.steps)))
    for number, (step, told) in enumerate(zip(steps, sent, strict=True), 1):
        named = told.lines.get(stream, ())
        lines = sorted(
            _comparable(each.replace(f'"place":"{prefix}', '"place":"')) for each in named
        )
        expected = sorted(
            json.dumps([_key(each.key), each.value], default=str) for each in step.emissions
        )
        if [parse(each) for each in expected] != [parse(each) for each in lines]:
            return f"batch {number} sent {lines}, expected {expected}"
        letters = (each.replace(prefix, "") for each in told.dead.get(stream, ()))
        dead = sorted(str(list(parse(each).values())) for each in letters)
        if dead != sorted(str(_key(each)) for each in step.dead):
            return f"batch {number} has the dead letters {dead}, expected {list(step.dead)}"
    return versions_problem([line for each in sent for line in each.lines.get(stream, ())])


def _comparable(line: str) -> str:
    parts = parse(line)
    key = [_plain(each) for each in parts["key"].values()]
    return json.dumps([key, parts["value"]], default=float)


def _plain(part: object) -> object:
    """Return a part of a key; of an object, as of a pair's other event, its only column's value."""
    return next(iter(part.values())) if isinstance(part, dict) and len(part) == 1 else part


def _key(key: object) -> list[object]:
    return list(key) if isinstance(key, tuple) else [key]


def prefixed(spec: ProjectSpec, prefix: str) -> ProjectSpec:
    """Return the project with `prefix` before the names of its relations and streams."""
    return replace(
        spec,
        relations=tuple(prefixed_relation(each, prefix) for each in spec.relations),
        streams=tuple(_stream(each, prefix) for each in spec.streams),
    )


def _stream(spec: StreamSpec, prefix: str) -> StreamSpec:
    steps = tuple(renamed(each, prefix) for each in spec.steps)
    return replace(renamed(spec, prefix), name=prefix + spec.name, steps=steps)


def joined(specs: Sequence[ProjectSpec]) -> ProjectSpec:
    """Return one project of all relations and streams, whose last streams have a sink."""
    sink = (SinkSpec("files", (("path", "out"),)),)
    return replace(
        load_text("relations: {}\nproducts: {}"),
        relations=tuple(relation for spec in specs for relation in spec.relations),
        streams=tuple(
            replace(each, group=GROUP, sinks=sink if each is spec.streams[-1] else ())
            for spec in specs
            for each in spec.streams
        ),
    )
