"""The arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from joinery.cli.status_arguments import DEFAULT, names_a_project

__all__ = ["DEFAULT", "File", "Products", "ProjectFile", "names_a_project"]

File = Annotated[Path, typer.Argument(help="The project file, or a folder of such files.")]
ProjectFile = Annotated[
    Path,
    typer.Option("--file", metavar="FILE", help="The project file, or a folder of such files."),
]
Products = Annotated[
    list[str] | None,
    typer.Option("--product", metavar="P", help="Only this product or stream; repeatable."),
]
