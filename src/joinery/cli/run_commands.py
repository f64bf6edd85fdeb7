"""The commands that move data: runs, captures, queues, and what they keep state in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from joinery.cli.argument import DEFAULT, File, Products, ProjectFile
from joinery.cli.plain_command import PlainCommand

commands = typer.Typer()
PANEL = "Run"


_BOOTSTRAP = "--bootstrap-from"
_EXPORT = "--export"


class RunCommand(PlainCommand):
    """`joinery run`, of whose options one has a second value in one case."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, with the folder of `--bootstrap-from parquet FOLDER`."""
        read: list[str] = super().parse_args(ctx, _with_export(args))
        return read


def _with_export(args: list[str]) -> list[str]:
    """Return arguments with the folder of an export behind an option of its own.

    Example:
        >>> _with_export(["--bootstrap-from", "parquet", "export", "--once"])
        ['--bootstrap-from', 'parquet', '--export', 'export', '--once']
    """
    for at in range(1, len(args) - 1):
        if args[at - 1 : at + 1] == [_BOOTSTRAP, "parquet"] and not args[at + 1].startswith("-"):
            return [*args[: at + 1], _EXPORT, *args[at + 1 :]]
    return args


@commands.command(rich_help_panel=PANEL, cls=RunCommand)
def run(
    file: File = DEFAULT,
    once: Annotated[
        bool, typer.Option("--once", help="Process what is available, then exit.")
    ] = False,
    until_closed: Annotated[
        bool,
        typer.Option(
            "--until-closed",
            help="With --once: at the end, also send windows that are still open.",
        ),
    ] = False,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait",
            metavar="TIME",
            help="With --once: fail if a target is unavailable for longer than TIME, such as 5m.",
        ),
    ] = None,
    product: Products = None,
    solution: Annotated[
        str | None,
        typer.Option("--solution", metavar="S", help="Keep join state with this solution."),
    ] = None,
    real_time: Annotated[
        bool,
        typer.Option("--real-time", help="Use Spark's real-time mode instead of micro-batches."),
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Replay all sources beside the running query, then switch over.",
        ),
    ] = False,
    restored: Annotated[
        bool,
        typer.Option(
            "--restored",
            help="Go on from a checkpoint that was put back from a backup; once, then without.",
        ),
    ] = False,
    bootstrap_from: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-from",
            metavar="WHERE",
            help="Where state comes from: `source` replays the sources, `database` reads its tables"
            " in bulk, `parquet FOLDER` loads them from an export, `checkpoint` copies the state"
            " of another solution.",
        ),
    ] = None,
    export: Annotated[Path | None, typer.Option(_EXPORT, hidden=True)] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override a setting of the file; repeatable."
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", metavar="M", help="Spark's master, such as local[4].")
    ] = None,
) -> None:
    """Run a project: keep its documents up to date."""
    from joinery.cli.run import run_project
    from joinery.cli.run_arguments import RunArguments

    arguments = RunArguments(
        file=file,
        once=once,
        until_closed=until_closed,
        wait=wait,
        products=tuple(product or ()),
        solution=solution,
        real_time=real_time,
        rebuild=rebuild or bootstrap_from in ("source", "database", "parquet"),
        restored=restored,
        bootstrap_from=bootstrap_from,
        export=export if bootstrap_from == "parquet" else None,
        settings=tuple(setting or ()),
        master=master,
    )
    raise typer.Exit(run_project(arguments))


@commands.command(rich_help_panel=PANEL)
def capture(
    file: File = DEFAULT,
    sources: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="S", help="Only this source; repeatable."),
    ] = None,
) -> None:
    """Capture the logs of databases into their spools, without Spark."""
    from joinery.cli.capture import run_capture

    raise typer.Exit(run_capture(file, tuple(sources or ())))


@commands.command(rich_help_panel=PANEL)
def listen(
    file: File = DEFAULT,
    once: Annotated[
        bool, typer.Option("--once", help="Publish what is queued, then exit.")
    ] = False,
    product: Products = None,
) -> None:
    """Publish the documents affected by a PostgreSQL queue of changed rows (rdbms-trigger)."""
    from joinery.cli.listen import run_listen

    raise typer.Exit(run_listen(file, products=product or (), once=once))


@commands.command(rich_help_panel=PANEL)
def solutions(
    file: File = DEFAULT,
    product: Products = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--solution", metavar="S", help="Measure only this one; repeatable."),
    ] = None,
    changes: Annotated[
        int, typer.Option("--changes", help="Approximate number of changes to read.")
    ] = 100_000,
    rows: Annotated[int, typer.Option("--rows", help="Rows per batch.")] = 20_000,
    prices: Annotated[
        Path | None, typer.Option("--prices", metavar="FILE", help="Use your own price list.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Measure the ways to keep join state on the project's own changes."""
    from joinery.cli.solutions import SolutionsArguments, compare_solutions

    arguments = SolutionsArguments(
        file=file,
        products=tuple(product or ()),
        only=tuple(only or ()),
        changes=changes,
        rows=rows,
        prices=prices,
        as_json=as_json,
    )
    raise typer.Exit(compare_solutions(arguments))


@commands.command(rich_help_panel=PANEL)
def plan(
    file: File = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what the project as it is means for its checkpoints; exit with 3 if they differ."""
    from joinery.cli.plan import run_plan

    raise typer.Exit(run_plan(file, as_json=as_json))


@commands.command(rich_help_panel=PANEL)
def apply(
    file: File = DEFAULT,
    product: Products = None,
) -> None:
    """Keep the state of checkpoints whose products were removed, added, changed or reordered."""
    from joinery.cli.plan import run_apply

    raise typer.Exit(run_apply(file, tuple(product or ())))


@commands.command(rich_help_panel=PANEL)
def rescale(
    file: ProjectFile = DEFAULT,
    partitions: Annotated[
        int | None, typer.Option("--partitions", metavar="N", help="The new number.")
    ] = None,
    product: Annotated[
        list[str] | None,
        typer.Option("--product", metavar="P", help="Only these products; repeatable."),
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", help="Spark's master; local by default.")
    ] = None,
) -> None:
    """Change the number of state partitions of a checkpoint while nothing runs on it."""
    from joinery.cli.rescale import run_rescale

    raise typer.Exit(run_rescale(file, tuple(product or ()), partitions, master))
