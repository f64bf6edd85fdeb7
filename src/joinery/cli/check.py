"""`joinery check`: every problem of a project at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from joinery.cli.ending import DONE, WRONG, write_problems
from joinery.cli.project import analyser
from joinery.errors import Location
from joinery.plan.build import build_plan
from joinery.plan.check import Problem, check, problems_of
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.project.source_warning import spec_warnings

_SHOWN = ("file", "line", "column", "code", "message", "detail", "hint", "severity")


def run_check(file: Path, *, as_json: bool) -> int:
    """Print the problems of a project; return 2 if there is an error among them."""
    with analyser() as spark:
        problems = check(file, spark)
    if not any(each.severity == "error" for each in problems):
        problems += _against_real_time(file)
    broken = any(each.severity == "error" for each in problems)
    spec = None if broken else load_spec(file)
    if spec is not None:
        problems += _warnings(file, spec)
    if as_json:
        rows = [{name: getattr(each, name) for name in _SHOWN} for each in problems]
        sys.stdout.write(f"{json.dumps(rows, ensure_ascii=False, indent=2)}\n")
    else:
        write_problems(problems)
        sys.stdout.write("" if spec is None else _summary(file, spec, problems))
    return WRONG if broken else DONE


def _against_real_time(file: Path) -> list[Problem]:
    """Return why queries cannot run in real time, where the file asks for it."""
    spec = load_spec(file)
    if not spec.run.real_time:
        return []
    from joinery.spark.real_time.rules import refused_queries

    return problems_of(refused_queries(spec, build_plan(spec)), str(file))


def _warnings(file: Path, spec: ProjectSpec) -> list[Problem]:
    """Return what a run would warn of before it reads anything, at its places."""
    return [
        Problem(
            file=place.file,
            line=place.line,
            column=place.column,
            code=each.code,
            message=each.message,
            detail=each.detail,
            hint=each.hint,
            severity="warning",
        )
        for each in spec_warnings(spec)
        for place in [each.location or Location(str(file))]
    ]


def _summary(file: Path, spec: ProjectSpec, problems: list[Problem]) -> str:
    warnings = f", {_counted(len(problems), 'warning')}" if problems else ""
    counted = [
        _counted(len(each), noun)
        for noun, each in (("product", spec.products), ("stream", spec.streams))
        if each or noun == "product"
    ]
    relations = _counted(len(spec.relations), "relation")
    return f"{file}: no errors{warnings}; {', '.join([relations, *counted])}\n"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
