"""The commands of who operates runs: how they stand, why, whether it is right, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from joinery.cli.argument import DEFAULT, ProjectFile

commands = typer.Typer()
PANEL = "Operate"


@commands.command(rich_help_panel=PANEL)
def status(
    product: Annotated[
        list[str] | None, typer.Argument(metavar="P", help="Only these products and streams.")
    ] = None,
    file: ProjectFile = DEFAULT,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 3 where something wants attention.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
    every: Annotated[bool, typer.Option("--all", help="More than the first twenty.")] = False,
) -> None:
    """Show how the products of a project stand: fresh, behind, waiting, failed, and why."""
    from joinery.cli.status import run_status

    names = product or ()
    raise typer.Exit(run_status(file, names, as_json=as_json, check=check, every=every))


@commands.command(rich_help_panel=PANEL)
def top(
    product: Annotated[
        list[str] | None, typer.Argument(metavar="P", help="Only these products and streams.")
    ] = None,
    file: ProjectFile = DEFAULT,
) -> None:
    """Show how products stand, refreshed every second; Ctrl-C ends it."""
    from joinery.cli.status import run_top

    raise typer.Exit(run_top(file, product or ()))


@commands.command(rich_help_panel=PANEL)
def ui(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Project files, or folders of them."),
    ] = None,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where the page is.")
    ] = "127.0.0.1:9465",
    actions: Annotated[
        bool, typer.Option("--actions", help="Let who has the token pause, resume, replay, drop.")
    ] = False,
    token: Annotated[
        str,
        typer.Option(
            "--token",
            metavar="TEXT",
            envvar="JOINERY_UI_TOKEN",
            help="With --actions: the token; made and shown once if left out.",
        ),
    ] = "",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="With --actions: also from other machines.")
    ] = False,
) -> None:
    """Serve a page of all products of one or more projects; read-only unless --actions."""
    from joinery.cli.ui import ActionAccess, run_ui

    acting = ActionAccess(token=token, remote=allow_remote) if actions else None
    raise typer.Exit(run_ui(files or [DEFAULT], listen, acting))


Paused = Annotated[list[str], typer.Argument(metavar="P", help="Products and streams.")]
HowLong = Annotated[str, typer.Option("--timeout", help="How long to wait for the run.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="Kept with who and when.")]


@commands.command(rich_help_panel=PANEL)
def why(
    key: Annotated[str, typer.Argument(help="The document's key; several columns by commas.")] = "",
    file: ProjectFile = DEFAULT,
    product: Annotated[
        str, typer.Option("--product", metavar="P", help="The product; the only one if left out.")
    ] = "",
    absent: Annotated[
        str, typer.Option("--not", metavar="REL:KEY", help="Why this row is not in it.")
    ] = "",
    row: Annotated[
        str, typer.Option("--row", metavar="REL:KEY", help="Which documents this row goes into.")
    ] = "",
    at: Annotated[
        str, typer.Option("--at", metavar="MOMENT", help="How it was then: a time, or a position.")
    ] = "",
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", min=0, help="How it was after batch N of its run."),
    ] = None,
    records: Annotated[
        int, typer.Option("--records", min=1, help="Records of a topic that are read.")
    ] = 1_000_000,
    every: Annotated[bool, typer.Option("--all", help="All rows, however many.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
) -> None:
    """Show why a document looks the way it does: its rows, its last change, what is missing."""
    from joinery.cli.why import run_why

    raise typer.Exit(
        run_why(
            file,
            key,
            product,
            absent=absent,
            row=row,
            at=at,
            batch=batch,
            records=records,
            as_json=as_json,
            every=every,
        )
    )


# What is not taken is refused here, with the option that takes it.
@commands.command(rich_help_panel=PANEL, context_settings={"allow_extra_args": True})
def diff(
    context: typer.Context,
    file: ProjectFile = DEFAULT,
    product: Annotated[
        list[str] | None,
        typer.Option("--product", metavar="P", help="Only this one; may be given again."),
    ] = None,
    database: Annotated[
        str,
        typer.Option("--database", metavar="URL", help="The database, or a standby of it."),
    ] = "",
    sample: Annotated[
        str, typer.Option("--sample", metavar="1%", help="A share of the documents.")
    ] = "",
    rate: Annotated[
        str, typer.Option("--rate", metavar="100/s", help="Documents a second at most.")
    ] = "",
    resume_it: Annotated[
        bool, typer.Option("--resume", help="Go on from a comparison that was broken off.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Have the right documents sent again.")
    ] = False,
    timeout: Annotated[
        str, typer.Option("--wait", help="How long the run may take to apply what is shown.")
    ] = "1m",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
) -> None:
    """Compare documents in sinks with the database, with proof; exit with 3 where they differ."""
    from joinery.cli.diff import refuse_arguments, run_diff

    refuse_arguments(context.args)
    raise typer.Exit(
        run_diff(
            file,
            product or (),
            database=database,
            sample=sample,
            rate=rate,
            resume=resume_it,
            repair=repair,
            wait=timeout,
            as_json=as_json,
        )
    )


@commands.command(rich_help_panel=PANEL)
def wait(
    product: Annotated[str, typer.Option("--product", metavar="P", help="The product or stream.")],
    position: Annotated[
        list[str],
        typer.Option(
            "--position",
            metavar="X",
            help="TOPIC/PARTITION/OFFSET; of files TOPIC/FILE/LINE, or TOPIC/FILE. Repeat.",
        ),
    ],
    file: ProjectFile = DEFAULT,
    timeout: Annotated[str, typer.Option("--timeout", help="How long at most.")] = "1m",
) -> None:
    """Wait until a product shows what was written to the logs, in all its sinks."""
    from joinery.cli.wait import run_wait

    raise typer.Exit(run_wait(file, product, position, timeout))


@commands.command(rich_help_panel=PANEL)
def pause(
    product: Paused, file: ProjectFile = DEFAULT, why: Why = "", timeout: HowLong = "1m"
) -> None:
    """Pause products after the current batch, also in runs that start later."""
    from joinery.cli.pause import run_pause

    raise typer.Exit(run_pause(file, product, "pause", why=why, timeout=timeout))


@commands.command(rich_help_panel=PANEL)
def resume(
    product: Paused, file: ProjectFile = DEFAULT, why: Why = "", timeout: HowLong = "1m"
) -> None:
    """Resume paused products where they stopped."""
    from joinery.cli.pause import run_pause

    raise typer.Exit(run_pause(file, product, "resume", why=why, timeout=timeout))


@commands.command(rich_help_panel=PANEL)
def erase(
    relation: Annotated[str, typer.Argument(metavar="RELATION", help="Whose key it is.")],
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the person's row.")],
    file: ProjectFile = DEFAULT,
    prove: Annotated[
        bool, typer.Option("--prove", help="Erase nothing; look for what is still readable.")
    ] = False,
    value: Annotated[
        str, typer.Option("--value", metavar="TEXT", help="With --prove: the value to look for.")
    ] = "",
) -> None:
    """Destroy the key to a person's values for good, and send their documents again."""
    from joinery.cli.erase import run_erase

    raise typer.Exit(run_erase(file, relation, key, prove=prove, value=value))
