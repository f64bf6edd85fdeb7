"""`joinery test`: the cases of `tests/*.yaml`, on the reference, without Spark."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joinery.cli.ending import DONE, FOUND
from joinery.errors import SpecError
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.testing.case import Case
from joinery.testing.case_load import FOLDER, case_files, load_cases
from joinery.testing.case_run import CaseResult, run_case

_SHOWN = 20


class NoCasesError(SpecError):
    """There are no cases to run."""

    code = "TEST_NONE"


@dataclass(frozen=True, slots=True)
class CaseArguments:
    """What the command was given.

    Attributes:
        file: The project file, or a folder of them.
        name: Only cases that have this in their name, their product's or their file's.
        as_json: One JSON list instead of text.
    """

    file: Path
    name: str = ""
    as_json: bool = False


def run_tests(arguments: CaseArguments) -> int:
    """Run the cases of a project; return 3 where one fails.

    Raises:
        ProjectErrors: The project or a file of cases is wrong.
        NoCasesError: There are no cases.
    """
    started_at = time.monotonic()
    spec = load_spec(arguments.file)
    sys.path.insert(0, str(spec.folder))  # for the functions of streams
    outcomes = [run_case(each) for each in _chosen(spec, arguments.name)]
    if arguments.as_json:
        rows = [_row(each) for each in outcomes]
        sys.stdout.write(f"{json.dumps(rows, ensure_ascii=False, indent=2)}\n")
    else:
        _write(outcomes, time.monotonic() - started_at)
    return DONE if all(each.passed for each in outcomes) else FOUND


def _chosen(spec: ProjectSpec, name: str) -> list[Case]:
    files = case_files(spec.folder)
    if not files:
        raise NoCasesError(
            f"there are no tests: no {FOLDER}/*.yaml beside the project file",
            hint="docs/testing.md shows how to write one; joinery init writes an example.",
        )
    cases = load_cases(spec, files)
    chosen = [each for each in cases if name.lower() in _names(each).lower()]
    if not chosen:
        message = f'no case has "{name}" in its name' if cases else "the files have no cases"
        hint = f"There are {len(cases)} cases in {len(files)} files." if cases else ""
        raise NoCasesError(message, detail=hint)
    return chosen


def _names(case: Case) -> str:
    return f"{case.place.file} {case.target.plan.name} {case.name}"


def _write(outcomes: Sequence[CaseResult], seconds: float) -> None:
    for each in outcomes:
        if not each.passed:
            _write_failure(each)
    for file, passed, count in _by_file(outcomes):
        told = "passed" if passed == count else f"passed of {count}"
        sys.stdout.write(f"{file}: {passed} {told}\n")
    failed = sum(not each.passed for each in outcomes)
    told = f"{failed} failed, " if failed else ""
    sys.stdout.write(f"{told}{len(outcomes) - failed} passed in {seconds:.1f} s\n")


def _by_file(outcomes: Sequence[CaseResult]) -> list[tuple[str, int, int]]:
    """Return for each file how many cases passed, and of how many."""
    files = dict.fromkeys(each.case.place.file for each in outcomes)
    found = []
    for file in files:
        mine = [each.passed for each in outcomes if each.case.place.file == file]
        found.append((file, sum(mine), len(mine)))
    return found


def _write_failure(outcome: CaseResult) -> None:
    case = outcome.case
    step = f", step {outcome.step}" if len(case.steps) > 1 else ""
    put = sys.stdout.write
    put(f"{case.place}: FAILED {case.target}: {case.name}{step}\n")
    if outcome.error:
        put(f"  {outcome.error}\n")
    for each in outcome.differences[:_SHOWN]:
        line = f"  (line {each.place.line})" if each.place is not None else ""
        put(f"  {each.path}{line}\n    expected {each.expected}\n    got      {each.found}\n")
    if len(outcome.differences) > _SHOWN:
        put(f"  and {len(outcome.differences) - _SHOWN} more differences\n")
    put("\n")


def _row(outcome: CaseResult) -> dict[str, Any]:
    """Return what became of a case, for machines."""
    case = outcome.case
    differences = [
        {
            "path": each.path,
            "expected": each.expected,
            "found": each.found,
            "line": each.place.line if each.place else None,
        }
        for each in outcome.differences
    ]
    return {
        "file": case.place.file,
        "line": case.place.line,
        "column": case.place.column,
        "name": case.name,
        case.target.kind: case.target.plan.name,
        "passed": outcome.passed,
        "step": outcome.step,
        "error": outcome.error,
        "differences": differences,
    }
