"""`joinery contract`: what readers of a project may rely on, exported and compared."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from joinery.cli.argument import DEFAULT, ProjectFile
from joinery.cli.ending import DONE, FOUND

if TYPE_CHECKING:
    from joinery.contract.compare import Difference
    from joinery.errors import Location
    from joinery.project.product import ProjectSpec

contract = typer.Typer(
    no_args_is_help=True, help="Export what readers may rely on, and find changes that break it."
)


@contract.command()
def export(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="P", help="Only these products or streams.")
    ] = None,
    file: ProjectFile = DEFAULT,
    format_: Annotated[
        Literal["jsonschema", "odcs"],
        typer.Option(
            "--format", help="JSON Schema (draft 2020-12), or Open Data Contract Standard 3.1."
        ),
    ] = "jsonschema",
    version: Annotated[
        str, typer.Option("--version", metavar="V", help="With odcs: the contract's version.")
    ] = "1.0.0",
) -> None:
    """Print what the documents of products and the events of streams look like."""
    from joinery.app.contract import contract_text
    from joinery.cli.project import plan_whole
    from joinery.project.load import load_spec

    spec, plan = plan_whole(load_spec(file))
    sys.stdout.write(contract_text(spec, plan, names or (), format=format_, version=version))


@contract.command()
def check(
    against: Annotated[
        str,
        typer.Option(
            "--against",
            metavar="FILE|git:REF",
            help="An exported JSON Schema (*.json), another project file, or this one at a commit.",
        ),
    ],
    file: ProjectFile = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find changes that break readers: exit code 3 if there are any, 0 if there are none."""
    from joinery.app.contract import contract_differences
    from joinery.cli.project import analyser, plan_whole
    from joinery.project.load import load_spec

    with analyser() as spark:
        spec, plan = plan_whole(load_spec(file), spark)
        found = contract_differences(spec, plan, against, file=file, analyser=spark)
    breaking = [each for each in found if each.code is not None]
    compatible = [each for each in found if each.code is None]
    if as_json:
        rows = {
            "breaking": [_row(each, _place(spec, each, file)) for each in breaking],
            "compatible": [_row(each, _place(spec, each, file)) for each in compatible],
        }
        sys.stdout.write(f"{json.dumps(rows, ensure_ascii=False, indent=2)}\n")
    else:
        for each in breaking:
            sys.stdout.write(f"{_place(spec, each, file)}: {each.code} {each.message}\n")
        sys.stdout.write(_summary(against, len(breaking), len(compatible)))
    raise typer.Exit(FOUND if breaking else DONE)


def _place(spec: ProjectSpec, difference: Difference, file: Path) -> Location:
    """Return where a difference is in the project as it is; of what is gone, where it was part."""
    from joinery.errors import Location

    return spec.locate(difference.path, key=True) or Location(str(file))


def _row(difference: Difference, place: Location) -> dict[str, object]:
    return {
        "code": difference.code,
        "product": difference.product,
        "field": difference.field or None,
        "message": difference.message,
        "file": place.file,
        "line": place.line,
        "column": place.column,
    }


def _summary(against: str, breaking: int, compatible: int) -> str:
    from joinery.text.figure import counted_text

    broken = counted_text(breaking, "breaking change")
    return f"{broken} against {against}, {counted_text(compatible, 'compatible change')}\n"
