"""The commands of `joinery` put together, with their help."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

from joinery import __version__
from joinery.cli import operator_commands, project_commands, run_commands
from joinery.cli.contract import contract
from joinery.cli.dev import dev
from joinery.cli.dlq import dlq
from joinery.cli.help import plain
from joinery.cli.source import source

_HELP = "Keep nested documents up to date from the change streams of operational tables."

app = typer.Typer(
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for each in (project_commands, run_commands, operator_commands):
    app.add_typer(each.commands)
app.add_typer(project_commands.table, name="table", rich_help_panel=project_commands.PANEL)
app.add_typer(contract, name="contract", rich_help_panel=project_commands.PANEL)
app.add_typer(dev, name="dev", rich_help_panel=project_commands.PANEL)
app.add_typer(source, name="source", rich_help_panel=operator_commands.PANEL)
app.add_typer(dlq, name="dlq", rich_help_panel=operator_commands.PANEL)


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"joinery {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show stack traces.")] = False,
) -> None:
    """Keep nested documents up to date from the change streams of operational tables."""


def command() -> TyperGroup:
    """Return the command line as it is run."""
    found = typer.main.get_command(app)
    assert isinstance(found, TyperGroup)
    return plain(found)
