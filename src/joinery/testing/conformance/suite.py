"""The suite: all cases on one runner, in one run, and what failed in words.

Invariant: objects are compared with the order of their names, numbers by value, versions by
rising for each key.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from joinery.errors import JoineryError
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.testing.conformance.case import Case, Step
from joinery.testing.conformance.cases import all_cases
from joinery.testing.conformance.joined import joined, prefixed
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.runner import Runner, Sent

KeyText = str
_FOUND = (
    *("expression_errors", "multiple_matches", "event_without_time", "late", "too_late"),
    "instance_limit",
)
Plain = Mapping[KeyText, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case; `problem` is empty where it holds."""

    case: Case
    problem: str


class ConformanceError(JoineryError):
    """A solution does not do what every solution must."""

    code = "TEST_CONFORMANCE"


def examine(runner: Runner, cases: Iterable[Case] | None = None) -> tuple[Outcome, ...]:
    """Run all cases as one project and return what became of each, in their order."""
    chosen = tuple(all_cases() if cases is None else cases)
    prefixes = [f"c{number:03d}_" for number in range(len(chosen))]
    specs = [
        prefixed(load_text(each.project), prefix)
        for each, prefix in zip(chosen, prefixes, strict=True)
    ]
    project = joined(specs)
    products = build_plan(project).products
    relations = {relation.name: relation for each in products for relation in each.relations}
    batches: list[list[Change]] = [[] for _ in range(max(len(each.steps) for each in chosen))]
    for each, prefix in zip(chosen, prefixes, strict=True):
        for batch, step in zip(batches, each.steps, strict=False):
            batch += [told.change(relations[prefix + told.relation]) for told in step.changes]
    sent = runner.run(project, batches)
    return tuple(
        Outcome(
            each,
            problem_of(each, sent, prefix + spec.products[0].name.removeprefix(prefix))
            or counts_problem(each, sent, prefix),
        )
        for each, spec, prefix in zip(chosen, specs, prefixes, strict=True)
    )


def check(runner: Runner, cases: Iterable[Case] | None = None) -> None:
    """Run all cases and raise if one of them does not hold.

    Raises:
        ConformanceError: With every case that does not hold, and why.
    """
    failed = [each for each in examine(runner, cases) if each.problem]
    if failed:
        told = "\n".join(f"{each.case.sentence}: {each.problem}" for each in failed)
        raise ConformanceError(f"{len(failed)} cases do not hold", detail=told)


def problem_of(case: Case, sent: Sequence[Sent], product: str) -> str:
    """Return what is wrong with what a case's product sent; empty where nothing is."""
    empty = Step((), (), ())
    steps = (*case.steps, *[empty] * (len(sent) - len(case.steps)))
    for number, (step, batch) in enumerate(zip(steps, sent, strict=True), 1):
        expected, received = _expected(step), _received(batch.lines.get(product, ()))
        if expected != received:
            return f"batch {number} sent {_told(received)}, expected {_told(expected)}"
        dead = sorted(_key_values(each) for each in batch.dead.get(product, ()))
        if dead != sorted(_told_key(each) for each in step.dead):
            return f"batch {number} has the dead letters {dead}, expected {list(step.dead)}"
    return versions_problem([line for batch in sent for line in batch.lines.get(product, ())])


def counts_problem(case: Case, sent: Sequence[Sent], prefix: str) -> str:
    """Return what a case counted wrongly; empty where nothing is, or nobody can tell.

    Args:
        case: The case.
        sent: What each batch sent.
        prefix: With which the names of its relations and products begin.
    """
    for number, (step, batch) in enumerate(zip(case.steps, sent, strict=False), 1):
        if step.counts is None or batch.found is None:
            continue
        mine = [Counter(each) for name, each in batch.found.items() if name.startswith(prefix)]
        found = {name: count for name in _FOUND if (count := sum(each[name] for each in mine))}
        if found != dict(step.counts):
            return f"batch {number} counts {found}, expected {dict(step.counts)}"
    return ""


def versions_problem(lines: Iterable[str]) -> str:
    """Return which key's versions do not rise; empty where all do."""
    last: dict[str, int] = {}
    for line in lines:
        parts = parse(line)
        key = json.dumps(parts["key"], default=str)
        if parts["version"] <= last.get(key, 0):
            return f"the versions of {key} do not rise"
        last[key] = parts["version"]
    return ""


def parse(text: str) -> Any:
    """Return JSON with exact numbers, whose objects know the order of their names."""
    return json.loads(text, parse_float=Decimal, object_pairs_hook=OrderedDict)


def _received(lines: Iterable[str]) -> Plain | str:
    received: dict[str, Any] = {}
    for line in lines:
        parts = parse(line)
        key = _key_values(json.dumps(parts["key"], default=str))
        if key in received:
            return f"the key {key} twice"
        received[key] = parts["value"]
    return received


def _expected(step: Step) -> Plain:
    return {
        _told_key(each.key): parse(json.dumps(each.value, default=str)) for each in step.emissions
    }


def _told_key(key: Any) -> KeyText:
    return json.dumps(list(key) if isinstance(key, tuple) else [key])


def _key_values(key: str) -> KeyText:
    return json.dumps(list(json.loads(key).values()))


def _told(value: Plain | str) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
